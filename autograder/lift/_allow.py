"""The allow-list: all that a lifted kernel may name, call, or be given."""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


DTYPES = _words(
    """int1 int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64
    float8e5 float8e4nv float8e4b8 float8e4b15 float8e5b16"""
)

MATHS = _words("exp exp2 log log2 sin cos sqrt sqrt_rn rsqrt abs erf floor ceil fma fdiv div_rn umulhi")
"""Pure element-wise functions: both ``tl.NAME`` and ``tl.math.NAME``."""

SCANS = frozenset({"reduce", "associative_scan"})
"""Take a function; only the name of a jit function of the file will do."""

LOOPS = frozenset({"range", "static_range"})
"""Only as what a ``for`` loop runs over."""

TL_CALLS = (
    MATHS
    | SCANS
    | _words(
        """program_id num_programs load store arange zeros zeros_like full where cast to_tensor constexpr
        dot sum max min argmax argmin xor_sum reduce_or cumsum cumprod sort topk flip histogram
        maximum minimum clamp add sub mul cdiv sigmoid softmax
        trans permute reshape view ravel broadcast broadcast_to expand_dims squeeze unsqueeze
        cat join split interleave swizzle2d
        multiple_of max_contiguous max_constancy assume debug_barrier rand randn randint"""
    )
)
"""Functions of ``triton.language``: arithmetic, shapes, hints, and of memory only load and store."""

TL_VALUES = frozenset((name,) for name in DTYPES) | {("PropagateNan", "ALL"), ("PropagateNan", "NONE")}

TRITON_CALLS = frozenset({"cdiv", "next_power_of_2"})

BUILTIN_CALLS = frozenset({"min", "max", "float", "int", "len"})
"""Python's functions that Triton's compiler knows too, and that do no harm in the interpreter."""

RESERVED = BUILTIN_CALLS | {
    "tl",
    "triton",
    "range",
    "print",
    # Triton's interpreter writes these names into the kernels it runs.
    "interpreter_semantic",
    "interpreter_builder",
    "_InterpreterComparison",
    # And so does the worker, see `autograder.worker.truths`.
    "interpreter_not",
    "interpreter_truth",
    "interpreter_max",
    "interpreter_min",
}
"""Names a kernel may not give to anything else."""

METHODS = (MATHS - {"fma", "fdiv", "div_rn", "umulhi"}) | _words(
    """to cast sum max min argmax argmin xor_sum reduce_or cumsum cumprod sort flip sigmoid softmax cdiv
    trans permute reshape view ravel broadcast_to expand_dims split logical_and logical_or"""
)
"""Methods of a tile; none that reaches memory, and none of Triton's inner ones."""

ATTRIBUTES = frozenset({"T", "shape", "dtype", "element_ty", "numel"})
"""Attributes of a tile, a pointer or a type; ``.type`` is known only in ``.type.element_ty``."""

KEYWORDS = _words(
    """mask other volatile pointer value cache_modifier eviction_policy
    axis keep_dims return_indices return_indices_tie_break_left tie_break_left reverse dim descending k
    dtype bitcast fp_downcast_rounding can_reorder shape start end step arg1 arg2
    acc input_precision allow_tf32 max_num_imprecise_acc out_dtype
    num_stages loop_unroll_factor disallow_acc_multi_buffer flatten warp_specialize disable_licm
    propagate_nan ieee_rounding approx sanitize_overflow input combine_fn condition cond
    x y z i j a b div size_i size_j size_g min max values num_bins seed offset n_rounds"""
)
"""Keyword arguments of the functions above; Triton's inner ones (``_semantic`` ...) are not among them."""

BLOCK_POINTER_KEYWORDS = frozenset({"boundary_check", "padding_option"})

EXTRA_KEYWORDS = {
    "make_block_ptr": BLOCK_POINTER_KEYWORDS | {"base", "strides", "offsets", "block_shape", "order"},
    "advance": frozenset({"base", "offsets"}),
    "make_tensor_descriptor": BLOCK_POINTER_KEYWORDS | {"base", "strides", "block_shape"},
    "atomic_": frozenset({"sem", "scope", "val", "cmp"}),
}
"""More keyword arguments, by the beginning of the extra function that an exercise asks for."""

STRINGS = {
    "input_precision": frozenset({"ieee", "tf32", "tf32x3"}),  # those that every GPU and the interpreter know
    "cache_modifier": frozenset({"", ".ca", ".cg", ".cv", ".wb", ".cs", ".wt"}),
    "eviction_policy": frozenset({"", "evict_first", "evict_last", "evict_normal"}),
    "fp_downcast_rounding": frozenset({"rtne", "rtz"}),
    "padding_option": frozenset({"", "zero", "nan"}),
    "sem": frozenset({"relaxed", "acquire", "release", "acq_rel"}),
    "scope": frozenset({"gpu", "cta", "sys"}),
}
"""The only strings a kernel may hold, by the keyword argument they are the value of."""

TEXTS = frozenset().union(*STRINGS.values())
"""What a constant, or a parameter of a helper, may hold for such an argument."""

TEXTS_BY_PLACE = {"dot": {3: "input_precision"}}
"""Functions of ``tl`` that are given such an argument by its place as well."""

AXIS_CALLS = SCANS | _words("sum max min argmax argmin xor_sum reduce_or cumsum cumprod")
"""Functions and methods whose ``axis`` is called ``dim`` in other libraries."""

ELSEWHERE = frozenset({"torch", "F", "nn", "math", "np", "numpy", "scipy", "cupy", "jax", "jnp"})
"""Names by which other libraries are usually at hand, imported or not."""

CALLED_ELSEWHERE = {
    "matmul": "dot",
    "mm": "dot",
    "bmm": "dot",
    "amax": "max",
    "amin": "min",
    "fmax": "maximum",
    "fmin": "minimum",
    "transpose": "trans",
    "clip": "clamp",
    "astype": "cast",
}
"""What functions of ``tl`` are called in other libraries."""

FLOAT_WORDS = frozenset({"inf", "+inf", "-inf", "infinity", "+infinity", "-infinity", "nan"})
"""What ``float("...")`` may be given, in any case."""

DROPPED = frozenset({"device_print", "static_print", "device_assert", "static_assert"})
"""Calls that only help while debugging: left out, with a remark."""
