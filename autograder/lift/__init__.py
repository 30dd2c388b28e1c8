"""Student source text -> vetted ``@triton.jit`` functions in a clean module; never imported or run."""

from autograder.lift._lift import lift
from autograder.lift._settings import LaunchSettings, launch_settings
from autograder.lift._types import CompactModule, LiftedFile, LiftedFunction, Problem, Remark, Wanted

__all__ = [
    "CompactModule",
    "LaunchSettings",
    "LiftedFile",
    "LiftedFunction",
    "Problem",
    "Remark",
    "Wanted",
    "launch_settings",
    "lift",
]
