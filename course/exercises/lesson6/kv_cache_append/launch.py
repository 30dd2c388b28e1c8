"""Launch of the student's kernel on caches in use: the harness fills them first with what they hold."""

import triton
import triton.language as tl

_BLOCK = 1024


@triton.jit
def fill(held_ptr, cache_ptr, SIZE, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    held = tl.load(held_ptr + offsets, mask=offsets < SIZE)
    tl.store(cache_ptr + offsets, held, mask=offsets < SIZE)


def outputs(case):
    cache = ((case["pool"], case["width"]), "float32")
    names = ("k_cache", "v_cache", "k_cache_again", "v_cache_again") if case.get("again") else ("k_cache", "v_cache")
    return dict.fromkeys(names, cache)


def launch(run, student, case, inputs, outputs):
    for suffix in ("", "_again") if case.get("again") else ("",):
        size = case["pool"] * case["width"]
        for name in ("k", "v"):
            held, cache = inputs[f"{name}_held"], outputs[f"{name}_cache{suffix}"]
            run(fill, (triton.cdiv(size, _BLOCK),), held, cache, size, BLOCK=_BLOCK)
        run(
            student.kv_cache_append_kernel,
            (triton.cdiv(case["tokens"], case["block_t"]),),
            inputs[f"k{suffix}"],
            inputs[f"v{suffix}"],
            inputs[f"slots{suffix}"],
            outputs[f"k_cache{suffix}"],
            outputs[f"v_cache{suffix}"],
            case["tokens"],
            case["stride"],
            case["width"],
            BLOCK_T=case["block_t"],
            BLOCK_W=case["block_w"],
        )
