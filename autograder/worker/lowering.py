"""Lower vetted kernels for GPU targets, with the triton wheel alone: no GPU, no torch.

The exercise's own launch file is run with a recorder in place of ``run``, so that what is lowered is what would be
launched: the same kernels, argument types and constants.  A launch that differs from an earlier one in its run-time
numbers only is the same variant and is lowered once.
"""

from __future__ import annotations

import contextlib
import re
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import triton
from triton._C.libtriton import ir, nvidia, passes
from triton.backends.compiler import GPUTarget
from triton.backends.nvidia.compiler import get_ptx_version_from_options, get_ptxas
from triton.compiler import ASTSource, make_backend

# How far a variant is lowered, and the backend's stages to there (none: all of them): the front end's checks, the
# layouts of a target and with them its shared memory, LLVM IR, machine code.
_STAGES = {"ttir": ("ttir",), "shared": ("ttir", "ttgir"), "llir": ("ttir", "ttgir", "llir"), "cubin": ()}

_TENSOR = re.compile(r"tensor<((?:\d+x)+)")
_DOT = re.compile(r"tt\.dot\b(?!_).*?inputPrecision\s*=\s*(\w+).*?:\s*tensor<[\dx]*f32")
_LOCATION = re.compile(r"loc\((#loc\d+)\)\s*$")
_TYPES = {
    "float64": "fp64",
    "float32": "fp32",
    "float16": "fp16",
    "bfloat16": "bf16",
    "int64": "i64",
    "int32": "i32",
    "int16": "i16",
    "int8": "i8",
    "uint8": "u8",
    "bool": "i1",
}


@dataclass(frozen=True, slots=True)
class Described:
    """A tensor as a launch sees it: shape and dtype, no data.  Contiguous, where no ``strides`` are said."""

    shape: tuple[int, ...]
    dtype: str
    strides: tuple[int, ...] | None = None

    def numel(self) -> int:
        size = 1
        for length in self.shape:
            size *= length
        return size

    def stride(self, dimension: int) -> int:
        if self.strides is not None:
            return self.strides[dimension]
        size = 1
        for length in self.shape[dimension % len(self.shape) + 1 :]:
            size *= length
        return size


@dataclass(frozen=True, slots=True)
class Variant:
    """A kernel with its argument types, compile-time constants and options; ``key`` tells variants apart."""

    kernel: Any
    signature: Mapping[str, str]
    constants: Mapping[str, Any]
    options: Mapping[str, Any]

    @property
    def key(self) -> str:
        constants = {name: getattr(value, "__name__", value) for name, value in self.constants.items()}
        return (
            f"{self.kernel.__name__}{sorted(self.signature.items())}{sorted(constants.items(), key=str)}{self.options}"
        )


@dataclass(frozen=True, slots=True)
class Lowered:
    """What is known of one variant on one target; ``shared`` is in bytes a block, None before the stage that knows.

    ``largest`` is the number of elements of the largest tile, ``tf32_lines`` the lines in the student's file of float32
    dots that the compiled code rounds to TF32 (0 where the line is unknown), ``dots`` says whether there is any tl.dot.
    """

    largest: int
    tf32_lines: tuple[int, ...]
    dots: bool
    shared: int | None = None
    registers: int | None = None
    spills: int | None = None


def record(launch: Any, student: Any, cases: Sequence[Mapping[str, Any]]) -> list[Variant]:
    """The distinct variants that the launches of ``cases`` need.

    Each case is ``{"case": {...}, "inputs": {name: [dtype, shape]}}``.
    """
    variants: dict[str, Variant] = {}

    def run(kernel: Any, grid: Any, *args: Any, **meta: Any) -> None:
        variant = _variant(kernel, args, meta)
        variants.setdefault(variant.key, variant)

    for entry in cases:
        strides = launch.strides(entry["case"])
        inputs = {
            name: Described(tuple(shape), dtype, strides.get(name)) for name, (dtype, shape) in entry["inputs"].items()
        }
        outputs = {
            name: Described(tuple(shape), dtype, strides.get(name))
            for name, (shape, dtype) in launch.outputs(entry["case"]).items()
        }
        launch.launch(run, student, entry["case"], inputs, outputs)
    return list(variants.values())


class Lowering:
    """One variant on its way down for a target such as ``sm_75``: past the front end's checks, in TTIR.

    Raises what Triton raises, as `to` and `again` do.
    """

    def __init__(self, variant: Variant, target: str, file_name: str, text: str | None = None) -> None:
        self.variant = variant
        self._file_name = file_name
        gpu = GPUTarget("cuda", int(target.removeprefix("sm_")), 32)
        backend = make_backend(gpu)
        source = _source(variant)
        self._options = backend.parse_options({**variant.options, **source.parse_options()})
        context = ir.context()
        ir.load_dialects(context)
        backend.load_dialects(context)
        self._metadata: dict[str, Any] = {"target": gpu, **self._options.__dict__}
        self._stages: dict[str, Any] = {}
        backend.add_stages(self._stages, self._options, source.language)
        if text is None:
            functions = backend.get_codegen_implementation(self._options), backend.get_module_map()
            module = source.make_ir(gpu, self._options, *functions, context)
            self._module = self._stages["ttir"](module, self._metadata)
            text = str(self._module)
        else:
            self._module = _parsed(text, context)
        self._text = text
        self.largest = _largest(text)
        self.tf32_lines = tuple(_tf32_lines(text, file_name))
        self.dots = "tt.dot" in text

    def family(self, target: str) -> str:
        """A name of the targets that give this variant the same tiles and shared memory as ``target`` does.

        They differ in their matrix units, which a float32 dot in IEEE precision does not use, and in the copies to
        shared memory that run beside a dot from sm_80 on.
        """
        if "f8" in self._text or any(_on_matrix_units(self._text)):
            return target
        if not self.dots:
            return "all"
        return "sm_80 and later" if int(target.removeprefix("sm_")) >= 80 else target

    def again(self, target: str) -> Lowering:
        """The same variant for another target.

        The front end looks at a target for its 8-bit floating-point types alone; without them its work is not done
        a second time.
        """
        text = None if "f8" in self._text else self._text
        return Lowering(self.variant, target, self._file_name, text)

    def to(self, depth: str) -> Lowered:
        """Go on to ``ttir``, ``shared``, ``llir`` or ``cubin``; this can be done once."""
        module = self._module
        for stage in _STAGES[depth] or self._stages:
            if stage != "ttir":
                module = self._stages[stage](module, self._metadata)
        shared = self._metadata.get("shared")  # known after LLVM IR
        if depth == "shared":
            shared = _allocate_shared(module, self._stages, self._metadata, self._options)
        registers, spills = _resources(module) if depth == "cubin" else (None, None)
        return Lowered(self.largest, self.tf32_lines, self.dots, shared, registers, spills)


def find_tools() -> None:
    """Have Triton ask its assemblers for their versions: it keeps the answers, and a child may start no program."""
    for capability in (80, 100):  # each has an assembler of its own
        with contextlib.suppress(RuntimeError):
            get_ptxas(capability)


def _source(variant: Variant) -> ASTSource:
    names = variant.kernel.arg_names
    attributes = {
        (place,): [["tt.divisibility", 16]] for place, name in enumerate(names) if variant.signature[name][:1] == "*"
    }
    constants = {(names.index(name),): value for name, value in variant.constants.items()}
    return ASTSource(fn=variant.kernel, signature=dict(variant.signature), constexprs=constants, attrs=attributes)


def _parsed(text: str, context: Any) -> Any:
    """The module of a text; Triton reads it from a file."""
    with tempfile.NamedTemporaryFile("w", suffix=".ttir", dir=".", encoding="utf-8") as stream:
        stream.write(text)
        stream.flush()
        module = ir.parse_mlir_module(stream.name, context)
    module.context = context
    return module


def _allocate_shared(module: Any, stages: Mapping[str, Any], metadata: dict[str, Any], options: Any) -> int | None:
    """Bytes of shared memory a block of a kernel in TTGIR needs; changes ``module``.

    The CUDA backend begins its way to LLVM IR with these passes.  The rest of that way takes up to a hundred times as
    long and leaves the figure as it is; it is gone only where this Triton names its passes otherwise.
    """
    try:
        manager = _allocation(module.context, metadata["target"].arch, options)
    except (AttributeError, TypeError):
        stages["llir"](module, metadata)
        shared: int | None = metadata.get("shared")
    else:
        manager.run(module, "allocate_shared_memory")
        shared = module.get_int_attr("ttg.shared")
    return shared


def _allocation(context: Any, capability: int, options: Any) -> Any:
    manager = ir.pass_manager(context)
    passes.ttgpuir.add_combine_tensor_select_and_if(manager)
    try:
        passes.ttgpuir.add_allocate_warp_groups(manager, False)
    except TypeError:  # Triton 3.6
        passes.ttgpuir.add_allocate_warp_groups(manager)
    passes.convert.add_scf_to_cf(manager)
    passes.gluon.add_inliner(manager)
    version = get_ptx_version_from_options(options, capability)
    nvidia.passes.ttgpuir.add_allocate_shared_memory_nv(manager, capability, version)
    return manager


def _variant(kernel: Any, args: tuple[Any, ...], meta: Mapping[str, Any]) -> Variant:
    options = {name: value for name, value in meta.items() if name not in kernel.arg_names}
    values = dict(zip(kernel.arg_names, args, strict=False)) | {
        name: value for name, value in meta.items() if name in kernel.arg_names
    }
    signature: dict[str, str] = {}
    constants: dict[str, Any] = {}
    for parameter in kernel.params:
        value = values.get(parameter.name, parameter.default)
        if parameter.is_constexpr:
            signature[parameter.name] = "constexpr"
            constants[parameter.name] = value
        elif isinstance(value, Described):
            signature[parameter.name] = "*" + _TYPES[value.dtype]
        elif isinstance(value, bool):
            signature[parameter.name] = "i1"
        elif isinstance(value, int):
            signature[parameter.name] = "i32" if -(2**31) <= value < 2**31 else "i64"
        else:
            signature[parameter.name] = "fp32"
    return Variant(kernel, signature, constants, options)


def _largest(ttir: str) -> int:
    largest = 1
    for match in _TENSOR.finditer(ttir):
        size = 1
        for length in match[1].rstrip("x").split("x"):
            size *= int(length)
        largest = max(largest, size)
    return largest


def _tf32_lines(ttir: str, file_name: str) -> Iterator[int]:
    """Lines of the student's file whose float32 dot the compiler is told to round."""
    locations = dict(re.findall(r"^(#loc\d+) = loc\((.*)\)$", ttir, re.MULTILINE))
    for row in ttir.splitlines():
        match = _DOT.search(row)
        if match is None or match[1].lower() in ("ieee", "tf32x3"):  # three products of parts are as good as float32
            continue
        place = _LOCATION.search(row)
        yield _line(place[1] if place else "", locations, file_name)


def _on_matrix_units(ttir: str) -> Iterator[bool]:
    """For each dot, whether it is anything else than a float32 one in IEEE precision, which is the one left unsaid."""
    for row in ttir.splitlines():
        if "tt.dot" in row:
            precision = re.search(r"inputPrecision\s*=\s*(\w+)", row)
            said = precision is not None and precision[1].lower() != "ieee"
            yield said or re.search(r":\s*tensor<[\dx]*xf32>\s*\*\s*tensor<[\dx]*xf32>", row) is None


def _line(location: str, locations: Mapping[str, str], file_name: str, depth: int = 0) -> int:
    """The line of the student's file behind a location, through call sites and names; 0 if it is in another file."""
    text = locations.get(location, location)
    if match := re.search(rf'/{re.escape(file_name)}":(\d+)', text):
        return int(match[1])
    if depth < 10:
        for inner in re.findall(r"#loc\d+", text):
            if line := _line(inner, locations, file_name, depth + 1):
                return line
    return 0


def _resources(cubin: bytes) -> tuple[int | None, int | None]:
    """Registers a thread and bytes of stack (spills) a thread, as cuobjdump reads them from machine code."""
    tool = Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / "cuobjdump"
    if not tool.exists():
        return None, None
    with tempfile.NamedTemporaryFile(suffix=".cubin", dir=".") as stream:
        stream.write(cubin)
        stream.flush()
        printed = subprocess.run([tool, "-res-usage", stream.name], capture_output=True, text=True, check=False).stdout
    registers, stack = re.search(r"REG:(\d+)", printed), re.search(r"STACK:(\d+)", printed)
    return (int(registers[1]) if registers else None, int(stack[1]) if stack else None)
