"""Triton as this machine can run it, for experiments that start kernels: compiled on a GPU, else interpreted."""

import os

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
if DEVICE == "cpu":
    os.environ["TRITON_INTERPRET"] = "1"  # Triton reads this when it is imported

import triton  # noqa: E402
import triton.language as tl  # noqa: E402

__all__ = ["DEVICE", "tl", "torch", "triton"]
