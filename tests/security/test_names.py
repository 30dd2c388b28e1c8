"""Names that reach beyond a kernel: Python's inner ones, Triton's modules, what it injects, look-alikes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable

import pytest

from autograder.lift import Wanted, lift
from autograder.result import RunResult

from .making import RIGHT_PIN, assert_costs_only, function

REACHING = {
    "subclasses": "x = ().__class__.__bases__[0].__subclasses__()",
    "class_of_a_tile": "x = s.__class__.__init__.__globals__",
    "format": "x = '{0.__class__.__init__.__globals__}'.format(s)",
    "format_map": "x = ''.format_map(s)",
    "percent": "x = '%s' % s",
    "globals_of_a_function": "x = tl.load.__globals__['__builtins__']",
    "code": "x = pin_ghost_rows.fn.__code__",
    "wrapped": "x = tl.load.__wrapped__",
    "dict": "x = tl.__dict__",
    "dict_of_math": "x = tl.math.__builtins__",
    "core": "x = tl.core.builtins.open(TRAP, 'w')",
    "core_load": "x = tl.core._load_legacy(s)",
    "semantic": "x = tl.semantic.open(TRAP, 'w')",
    "standard": "x = tl.standard.core",
    "extra": "x = tl.extra.libdevice.exp(s)",
    "extra_cuda": "x = tl.extra.cuda.globaltimer()",
    "inspect": "x = tl.inspect.os.mkdir(TRAP)",
    "dispatch": "x = tl.core.dispatch(s, '', '', [s], {}, True)",
    "extern_elementwise": "x = tl.core.extern_elementwise('', TRAP, [s], {}, True)",
    "extern_library": "x = tl.extern_elementwise('', TRAP, [s], {}, True)",
    "runtime": "x = triton.runtime.interpreter.os",
    "driver": "x = triton.runtime.driver.active",
    "testing": "x = triton.testing.do_bench(s)",
    "knobs": "x = triton.knobs.cache.dir",
    "compiler": "x = triton.compile(s)",
    "tools": "x = triton.tools.disasm",
    "language": "x = triton.language.core.builtins",
    "backends": "x = triton.backends.os",
    "handle": "x = s.handle.data",
    "set_attr": "x = s.handle.set_attr('a', s)",
    "type": "x = s.type.scalar.to_ir(s)",
    "constexpr_value": "x = tl.constexpr(s).value",
    "builder": "x = tl.max(s, 1, _builder=s)",
    "semantic_keyword": "x = tl.max(s, 1, _semantic=s)",
    "generator_keyword": "x = tl.max(s, 1, _generator=s)",
    "numpy": "x = np.load(TRAP)",
    "interpreter_builder": "x = interpreter_builder.options",
    "interpreted_function": "x = InterpretedFunction(open)",
    "tensor_handle": "x = TensorHandle(s, s)",
    "inspect_injected": "x = inspect.builtins",
    "grid_executor": "x = GridExecutor(open, (), ())",
    "textwrap": "x = textwrap.re",
    "interpreter_semantic": "x = interpreter_semantic.builder",
    "hidden_interpreter": "x = _interpreter.load(s, s, s, s)",
    "file": "x = __file__",
    "name": "x = __name__",
    "import_function": "x = __import__('os').mkdir(TRAP)",
    "builtins": "x = __builtins__",
    "getattr": "x = getattr(s, 'handle')",
    "vars": "x = vars(tl)",
    "globals": "x = globals()",
    "type_call": "x = type('A', (), {})",
    "breakpoint": "breakpoint()",
    "exit": "exit()",
    "debug": "x = __debug__",
}

REBINDING = {
    "tl": "tl = s",
    "triton": "triton = s",
    "range": "range = s",
    "max": "max = s",
    "itself": "pin_ghost_rows = s",
    "another_function": "mask_scores = s",
    "constant": "K = s",
    "loop_variable": "for tl in range(3):\n    s = s",
    "unpacked": "(tl, x) = (s, s)",
    "injected": "interpreter_semantic = s",
    "injected_class": "_InterpreterComparison = s",
    "global": "global tl\ntl = s",
    "nonlocal": "nonlocal tl\ntl = s",
    "attribute": "tl.load = s",
    "attribute_of_attribute": "tl.math.exp = s",
    "item": "s.shape[0] = 1",
    "augmented": "tl += s",
    "annotated": "tl: tl.constexpr = 3",
    "deleted": "del tl",
    "imported": "import os as tl",
    "class": "class tl: pass",
    "walrus": "x = (tl := s)",
    "with": "with s as tl: pass",
    "match": "match s:\n    case tl: pass",
}

LOOK_ALIKES = {
    "fullwidth": "x = ｏｐｅｎ(TRAP, 'w')",
    "fullwidth_module": "x = ｔl.max(s, 1)",
    "mathematical": "x = 𝐨𝐩𝐞𝐧(TRAP, 'w')",
    "ligature": "ﬁ = s",
    "cyrillic": "ѕ = s",
    "attribute": "x = s.ｈandle",
    "dunder": "x = s.__ｃlass__",
    "keyword": "x = tl.max(s, ａxis=1)",
    "import": "x = __ｉmport__('os')",
}


@pytest.mark.parametrize("name", list(REACHING))
def test_a_name_that_reaches_beyond_a_kernel_is_refused(name: str, attack: Callable[..., RunResult], trap: str) -> None:
    body = REACHING[name].replace("TRAP", trap) + "\n" + RIGHT_PIN
    # A name that only the interpreter would find has no meaning in the file: that is a compile error, as on a GPU.
    assert_costs_only(attack(function("pin_ghost_rows", body)), "ghost_row_pin", {"refused", "compile-error"})


@pytest.mark.parametrize("name", list(REBINDING))
def test_rebinding_what_a_kernel_relies_on_is_refused(name: str, attack: Callable[..., RunResult]) -> None:
    text = "K = tl.constexpr(3)\n\n\n" + function("pin_ghost_rows", REBINDING[name] + "\n" + RIGHT_PIN)
    outcomes = {"refused", "compile-error"} if name == "nonlocal" else {"refused"}
    assert_costs_only(attack(text), "ghost_row_pin", outcomes)


@pytest.mark.parametrize("name", list(LOOK_ALIKES))
def test_letters_that_python_takes_for_others_are_refused(
    name: str, attack: Callable[..., RunResult], trap: str
) -> None:
    body = LOOK_ALIKES[name].replace("TRAP", trap) + "\n" + RIGHT_PIN
    assert_costs_only(attack(function("pin_ghost_rows", body)), "ghost_row_pin", {"refused"})


@pytest.mark.parametrize(
    "text",
    [
        "import os as tl",
        "from os import system as triton",
        "tl = 3",
        "class tl: pass",
        "def triton(): pass",
        "import tl",
    ],
)
def test_a_module_that_only_calls_itself_triton_costs_its_own_file(text: str, attack: Callable[..., RunResult]) -> None:
    scores = {one.id: (one.outcome, one.score) for one in attack(text + "\n").exercises}
    assert {scores[name] for name in ("kernel_loads", "score_mask", "ghost_row_pin")} == {("refused", 0.0)}
    assert scores["flash_attention"] == ("pass", 3.0)


INJECTED = """
import json, inspect
import triton, triton.language as tl
from triton.runtime import interpreter
print(json.dumps({
    "globals": sorted(vars(interpreter)),
    "tl": sorted(name for name in dir(tl)),
    "triton": sorted(name for name in dir(triton)),
    "tensor": sorted(name for name in dir(tl.tensor)),
    "dtype": sorted(name for name in dir(tl.dtype)),
    "constexpr": sorted(name for name in dir(tl.constexpr)),
}))
"""
# Written down here a second time, on purpose: what a Triton release adds is refused until somebody has looked at it.
TILE_METHODS = """
T abs argmax argmin broadcast_to cast cdiv ceil cos cumprod cumsum dtype element_ty erf exp exp2 expand_dims
flip floor log log2 logical_and logical_or max min numel permute ravel reduce_or reshape rsqrt shape sigmoid
sin softmax sort split sqrt sqrt_rn sum to trans view xor_sum
"""
MODULE_NAMES = """
abs add arange argmax argmin associative_scan assume bfloat16 broadcast broadcast_to cast cat cdiv ceil clamp
constexpr cos cumprod cumsum debug_barrier div_rn dot erf exp exp2 expand_dims fdiv flip float16 float32
float64 float8e4b15 float8e4b8 float8e4nv float8e5 float8e5b16 floor fma full histogram int1 int16 int32 int64
int8 interleave join load log log2 max max_constancy max_contiguous maximum min minimum mul multiple_of
next_power_of_2 num_programs permute program_id rand randint randn ravel reduce reduce_or reshape rsqrt
sigmoid sin softmax sort split sqrt sqrt_rn squeeze store sub sum swizzle2d to_tensor topk trans uint16 uint32
uint64 uint8 umulhi unsqueeze view where xor_sum zeros zeros_like
"""


def lifts(statement: str) -> bool:
    source = "import triton\nimport triton.language as tl\n" + function("pin_ghost_rows", f"{statement}\nreturn s")
    return not lift(source, [Wanted("pin_ghost_rows", ("s", "offs_m", "NSEQ"), frozenset())]).problems


def test_of_all_names_that_triton_has_or_injects_only_known_ones_are_let_through() -> None:
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    names = json.loads(subprocess.check_output([sys.executable, "-c", INJECTED], text=True, env=environment))
    python = {"min", "max", "float", "int", "len"}
    known = {name for name in names["globals"] if lifts(f"x = {name}") or lifts(f"x = {name}(s)")}
    assert known <= python
    for module in ("tl", "triton"):
        calls = {name for name in names[module] if lifts(f"x = {module}.{name}") or lifts(f"x = {module}.{name}(s)")}
        assert calls <= set(MODULE_NAMES.split())
        # `triton.language` is `tl`; a dtype such as tl.int8 is a value, and has no method of that name.
        deeper = {name for name in names[module] if lifts(f"x = {module}.{name}.exp(s)")} - {"math", "language"}
        assert deeper <= set(MODULE_NAMES.split())
    for kind in ("tensor", "dtype", "constexpr"):
        methods = {name for name in names[kind] if lifts(f"x = s.{name}") or lifts(f"x = s.{name}(s)")}
        assert methods <= set(TILE_METHODS.split())
