"""The allow-list: all that a lifted kernel may name, and the words for what it may not."""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


DTYPES = _words("""int1 int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64
    float8e5 float8e4nv float8e4b8 float8e4b15 float8e5b16""")

MATHS = _words("""exp exp2 log log2 sin cos sqrt sqrt_rn rsqrt abs erf floor ceil fma fdiv div_rn umulhi""")
"""Pure element-wise functions: both ``tl.NAME`` and ``tl.math.NAME``."""

SCANS = frozenset({"reduce", "associative_scan"})
"""Take a function; only the name of a jit function of the file will do."""

LOOPS = frozenset({"range", "static_range"})
"""Only as what a ``for`` loop runs over."""

TL_CALLS = (
    MATHS
    | SCANS
    | _words("""program_id num_programs load store arange zeros zeros_like full where cast to_tensor constexpr
        dot sum max min argmax argmin xor_sum reduce_or cumsum cumprod sort topk flip histogram
        maximum minimum clamp add sub mul cdiv sigmoid softmax
        trans permute reshape view ravel broadcast broadcast_to expand_dims squeeze unsqueeze
        cat join split interleave swizzle2d
        multiple_of max_contiguous max_constancy assume debug_barrier rand randn randint""")
)

TL_VALUES = frozenset((name,) for name in DTYPES) | {("PropagateNan", "ALL"), ("PropagateNan", "NONE")}

TRITON_CALLS = frozenset({"cdiv", "next_power_of_2"})

BUILTIN_CALLS = frozenset({"min", "max", "float", "int", "len"})
"""Python's own functions that Triton's compiler knows and that are harmless when the interpreter runs them."""

RESERVED = BUILTIN_CALLS | {
    "tl",
    "triton",
    "range",
    "print",
    # Triton's interpreter writes these names into the kernels it runs.
    "interpreter_semantic",
    "interpreter_builder",
    "_InterpreterComparison",
}
"""Names a kernel may not give to anything else."""

METHODS = (MATHS - {"fma", "fdiv", "div_rn", "umulhi"}) | _words("""to cast sum max min argmax argmin xor_sum reduce_or cumsum cumprod sort flip sigmoid softmax cdiv
        trans permute reshape view ravel broadcast_to expand_dims split logical_and logical_or""")

ATTRIBUTES = frozenset({"T", "shape", "dtype", "element_ty", "numel"})

KEYWORDS = _words("""mask other volatile pointer value cache_modifier eviction_policy
    axis keep_dims return_indices return_indices_tie_break_left tie_break_left reverse dim descending k
    dtype bitcast fp_downcast_rounding can_reorder shape start end step arg1 arg2
    acc input_precision allow_tf32 max_num_imprecise_acc out_dtype
    num_stages loop_unroll_factor disallow_acc_multi_buffer flatten warp_specialize disable_licm
    propagate_nan ieee_rounding approx sanitize_overflow input combine_fn condition cond
    x y z i j a b div size_i size_j size_g min max values num_bins seed offset n_rounds""")
"""Keyword arguments of the functions above; Triton's inner ones (``_semantic`` ...) are not among them."""

ON_REQUEST_KEYWORDS = {
    "make_block_ptr": frozenset({"base", "strides", "offsets", "block_shape", "order"}),
    "boundary_check": frozenset({"boundary_check", "padding_option"}),
    "atomic": frozenset({"sem", "scope", "val", "cmp"}),
}

STRINGS = {
    "input_precision": frozenset({"ieee", "tf32", "tf32x3", "bf16x3", "bf16x6"}),
    "cache_modifier": frozenset({"", ".ca", ".cg", ".cv", ".wb", ".cs", ".wt"}),
    "eviction_policy": frozenset({"", "evict_first", "evict_last", "evict_normal"}),
    "fp_downcast_rounding": frozenset({"rtne", "rtz"}),
    "padding_option": frozenset({"", "zero", "nan"}),
    "sem": frozenset({"relaxed", "acquire", "release", "acq_rel"}),
    "scope": frozenset({"gpu", "cta", "sys"}),
}
"""The only strings a kernel may hold, by the keyword argument they are the value of."""

FLOAT_WORDS = frozenset({"inf", "+inf", "-inf", "infinity", "+infinity", "-infinity", "nan"})
"""What ``float("...")`` may be given, in any case."""

DROPPED = frozenset({"device_print", "static_print", "device_assert", "static_assert"})
"""Calls that only help while debugging: left out, with a remark."""

MEMORY = {
    "atomic_": "Atomic operations such as `tl.{}` are not used in this exercise; read with `tl.load` and write "
    "with `tl.store`.",
    "inline_asm": "Inline assembly (`tl.{}`) is not allowed here; write the step with Triton's own functions.",
    "make_block_ptr": "Block pointers (`tl.{}`) are not used in this exercise; compute offsets with `tl.arange` "
    "and use `tl.load` and `tl.store` with a mask.",
    "advance": "Block pointers (`tl.{}`) are not used in this exercise; compute offsets with `tl.arange` and add "
    "to them.",
    "make_tensor_descriptor": "Tensor descriptors (`tl.{}`) are not used in this exercise; use `tl.load` and "
    "`tl.store` with offsets and a mask.",
    "load_tensor_descriptor": "Tensor descriptors (`tl.{}`) are not used in this exercise; use `tl.load`.",
    "store_tensor_descriptor": "Tensor descriptors (`tl.{}`) are not used in this exercise; use `tl.store`.",
    "tensor_descriptor": "Tensor descriptors (`tl.{}`) are not used in this exercise; use `tl.load` and "
    "`tl.store`.",
    "extra": "`tl.{}` depends on the make of the GPU and is not allowed; use the functions of `tl` itself.",
}
"""By the beginning of the name in ``tl``: what reaches memory, or the machine, other than by load and store."""

CONSTRUCTS = {
    "AsyncFunctionDef": "`async def` cannot run on a GPU; write a plain `def`.",
    "FunctionDef": "A function inside a kernel is not allowed; move it to the left margin with `@triton.jit` above "
    "it.",
    "Lambda": "`lambda` is not allowed in a kernel; write a function with `@triton.jit` above it.",
    "ClassDef": "A class inside a kernel is not allowed; use plain variables.",
    "Import": "An import inside a kernel is not allowed; a kernel has `tl` and `triton` already.",
    "ImportFrom": "An import inside a kernel is not allowed; a kernel has `tl` and `triton` already.",
    "Global": "`global` is not allowed in a kernel; pass values as parameters and return them.",
    "Nonlocal": "`nonlocal` is not allowed in a kernel; pass values as parameters and return them.",
    "Try": "`try` is not allowed in a kernel: a GPU has no exceptions.",
    "TryStar": "`try` is not allowed in a kernel: a GPU has no exceptions.",
    "Raise": "`raise` is not allowed in a kernel: a GPU has no exceptions.",
    "With": "`with` is not allowed in a kernel.",
    "AsyncWith": "`async with` is not allowed in a kernel.",
    "AsyncFor": "`async for` is not allowed in a kernel; write a plain `for`.",
    "Yield": "`yield` is not allowed in a kernel; use `return`.",
    "YieldFrom": "`yield` is not allowed in a kernel; use `return`.",
    "Await": "`await` is not allowed in a kernel.",
    "Delete": "`del` is not allowed in a kernel; variables need no deleting.",
    "Match": "`match` is not allowed in a kernel; use `if` and `elif`.",
    "TypeAlias": "A type alias is not allowed in a kernel.",
    "ListComp": "A comprehension is not allowed in a kernel; write a loop or work on whole tiles.",
    "SetComp": "A comprehension is not allowed in a kernel; write a loop or work on whole tiles.",
    "DictComp": "A comprehension is not allowed in a kernel; write a loop or work on whole tiles.",
    "GeneratorExp": "A comprehension is not allowed in a kernel; write a loop or work on whole tiles.",
    "NamedExpr": "`:=` is not allowed in a kernel; assign on a line of its own.",
    "JoinedStr": "An f-string is not allowed in a kernel.",
    "TemplateStr": "A t-string is not allowed in a kernel.",
    "Starred": "A star before an argument or name is not allowed in a kernel; write each one out.",
    "Dict": "A dictionary is not allowed in a kernel; use plain variables.",
    "Set": "A set is not allowed in a kernel; use plain variables.",
    "Break": "No GPU accepts `break`; put the condition into a `while`, or into a mask.",
    "Continue": "No GPU accepts `continue`; put the rest of the loop under an `if`, or use a mask.",
    "MatMult": "`@` is not known in a kernel; use `tl.dot(a, b)`.",
    "In": "`in` is not known in a kernel; compare with `==`.",
    "NotIn": "`not in` is not known in a kernel; compare with `!=`.",
}
"""Why a piece of Python's syntax is refused, by the name of its node; anything else that is unlisted gets a general
sentence."""

HINTS = {
    "abs": "use `tl.abs`",
    "sum": "use `tl.sum`",
    "pow": "multiply, or use `tl.exp2` and `tl.log2`",
    "round": "use `tl.floor(x + 0.5)`",
    "bool": "compare with `!= 0`",
    "isinstance": "a kernel knows its types beforehand",
    "getattr": "write the name after a dot",
    "print": "put it on a line of its own, where it is left out",
    "range": "use it only in `for ... in range(...)`",
}
"""What to write instead of a name of Python's that is not on the list."""
