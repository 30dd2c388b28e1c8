"""The judgement: walks a normalised function and refuses every construct, name, attribute and call not on the list."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from autograder.lift import _allow, _numbers
from autograder.lift._numbers import Number
from autograder.lift._scope import Constant, Other, Path, Scope
from autograder.lift._types import Refusal, shown


@dataclass(slots=True)
class Vet:
    """Judges one function. ``functions`` maps what may be called by name to its parameters, None if unknown."""

    scope: Scope
    functions: Mapping[str, tuple[str, ...] | None]
    extra_tl: frozenset[str]
    local: frozenset[str]
    calls: dict[str, None] = field(default_factory=dict)
    constants: dict[str, None] = field(default_factory=dict)
    loops: int = 0

    def function(self, node: ast.FunctionDef) -> None:
        """Vet a whole canonical function; raises Refusal with the student's line."""
        self._parameters(node)
        for name in sorted(self.local):
            self._bindable(name, node)
        self._block(node.body)

    # Names that a kernel gives ---------------------------------------------------------------------------

    def _parameters(self, node: ast.FunctionDef) -> None:
        arguments = node.args
        if arguments.vararg or arguments.kwarg or arguments.kwonlyargs or arguments.posonlyargs:
            raise Refusal(node.lineno, "The parameters must be plain names, without `*`, `**` or `/`.")
        if getattr(node, "type_params", None):
            raise Refusal(
                node.lineno, "A generic function is not allowed; remove the square brackets after its name."
            )
        self._spelling(node.name, node.lineno)
        for default in arguments.defaults:
            if not _is_literal(default):
                raise Refusal(
                    default.lineno,
                    "A parameter's default must be a plain number, `True`, `False`, `None` or a type of `tl`.",
                )

    def _bindable(self, name: str, function: ast.FunctionDef) -> None:
        """Whether a parameter or variable may have this name."""
        parameters = {argument.arg: argument for argument in function.args.args}
        line = parameters[name].lineno if name in parameters else _first_store(function, name)
        self._spelling(name, line)
        if name in _allow.RESERVED:
            raise Refusal(
                line,
                f"{shown(name)} already has a meaning in every kernel; choose another name for the variable.",
            )
        if name in self.functions:
            raise Refusal(line, f"{shown(name)} is a function; choose another name for the variable.")
        if isinstance(self.scope.names.get(name), Constant) and name not in parameters:
            raise Refusal(
                line, f"{shown(name)} is a constant of the file; choose another name for the variable."
            )

    def _spelling(self, name: str, line: int) -> None:
        if not name.isascii():
            raise Refusal(
                line,
                f"The name {shown(name)} holds a letter that is not plain ASCII; retype it on an English keyboard.",
            )
        if name.startswith("__"):
            raise Refusal(line, f"The name {shown(name)} begins with two underscores, which is not allowed.")

    # Statements ------------------------------------------------------------------------------------------

    def _block(self, statements: Iterable[ast.stmt]) -> None:
        for statement in statements:
            self._statement(statement)

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Pass():
                pass
            case ast.Expr(value=ast.Call() as call):
                self._call(call)
            case ast.Assign():
                self._assign(node)
            case ast.AugAssign():
                self._target(node.target)
                self._operator(node.op, node)
                if isinstance(node.op, ast.Pow | ast.LShift):
                    raise Refusal(
                        node.lineno, "`**=` and `<<=` are not allowed; write the whole assignment out."
                    )
                self._expression(node.value)
            case ast.AnnAssign():
                self._annotated(node)
            case ast.Return():
                if self.loops:
                    raise Refusal(node.lineno, "No GPU accepts `return` inside a loop; return after it.")
                if node.value is not None:
                    self._expression(node.value)
            case ast.If():
                self._expression(node.test)
                self._block(node.body)
                self._block(node.orelse)
            case ast.For() | ast.While():
                self._loop(node)
            case ast.Expr():
                raise Refusal(
                    node.lineno, "This line computes something and does nothing with it; assign it to a name."
                )
            case _:
                raise Refusal(node.lineno, _construct(node))

    def _assign(self, node: ast.Assign) -> None:
        if len(node.targets) != 1:
            raise Refusal(node.lineno, "Triton does not accept `a = b = ...`; write one assignment a line.")
        self._target(node.targets[0])
        self._expression(node.value)

    def _annotated(self, node: ast.AnnAssign) -> None:
        if node.value is None:
            raise Refusal(
                node.lineno, "This line gives a type but no value; write `name: tl.constexpr = value`."
            )
        if not node.simple or not isinstance(node.target, ast.Name):
            raise Refusal(node.lineno, "A type hint may only follow a plain name; remove it.")
        self._expression(node.value)

    def _target(self, node: ast.expr) -> None:
        match node:
            case ast.Name():
                pass
            case ast.Tuple(elts=elements) if elements:
                for element in elements:
                    self._target(element)
            case ast.Subscript():
                raise Refusal(
                    node.lineno,
                    "A tile's elements cannot be assigned one by one; build a new tile with `tl.where`.",
                )
            case ast.Attribute():
                raise Refusal(node.lineno, "An attribute cannot be assigned in a kernel; use a variable.")
            case _:
                raise Refusal(
                    node.lineno,
                    "Only names, or several names with commas, can stand left of `=` in a kernel.",
                )

    def _loop(self, node: ast.For | ast.While) -> None:
        if node.orelse:
            raise Refusal(
                node.orelse[0].lineno,
                "`else` after a loop is not known in a kernel; write it after the loop.",
            )
        if isinstance(node, ast.While):
            self._expression(node.test)
        else:
            if not isinstance(node.target, ast.Name):
                raise Refusal(node.lineno, "A `for` loop in a kernel counts with one name.")
            call = node.iter
            if not (isinstance(call, ast.Call) and self._is_range(call.func)):
                raise Refusal(
                    call.lineno,
                    "A `for` loop in a kernel runs over `range(...)`, `tl.range(...)` or `tl.static_range(...)`.",
                )
            self._arguments(call, _allow.KEYWORDS)
        self.loops += 1
        self._block(node.body)
        self.loops -= 1

    def _is_range(self, node: ast.expr) -> bool:
        path = module_path(node)
        if path is not None and path[0] == "tl":
            return len(path) == 2 and path[1] in _allow.LOOPS
        return isinstance(node, ast.Name) and node.id == "range" and not self._rebound("range")

    # Expressions -----------------------------------------------------------------------------------------

    def _expression(self, node: ast.expr) -> Number | None:
        """Vet an expression; its value if it is arithmetic on literals alone."""
        match node:
            case ast.Constant():
                return self._constant(node)
            case ast.Name():
                self._name(node)
            case ast.Attribute():
                self._attribute(node)
            case ast.Call():
                self._call(node)
            case ast.BinOp():
                return self._binary(node)
            case ast.UnaryOp():
                value = self._expression(node.operand)
                return None if value is None else _numbers.unary(node, value)
            case ast.BoolOp():
                self._all(node.values)
            case ast.Compare():
                self._compare(node)
            case ast.IfExp():
                self._all([node.test, node.body, node.orelse])
            case ast.Tuple() | ast.List():
                self._all(node.elts)
            case ast.Subscript():
                self._expression(node.value)
                self._index(node.slice)
            case _:
                raise Refusal(node.lineno, _construct(node))
        return None

    def _all(self, nodes: Iterable[ast.expr]) -> None:
        for node in nodes:
            self._expression(node)

    def _constant(self, node: ast.Constant) -> Number | None:
        value = node.value
        if value is None or isinstance(value, float | bool):
            return value
        if isinstance(value, int):
            if value >= _numbers.LARGEST:
                raise Refusal(node.lineno, "A whole number must fit in 64 bits.")
            return value
        if isinstance(value, str):
            raise Refusal(
                node.lineno,
                'A text in quotes is not allowed here; only options such as `input_precision="ieee"` take one.',
            )
        if value is Ellipsis:
            raise Refusal(node.lineno, "`...` is not allowed in an expression of a kernel.")
        raise Refusal(node.lineno, f"A kernel cannot hold a value of Python's type `{type(value).__name__}`.")

    def _binary(self, node: ast.BinOp) -> Number | None:
        self._operator(node.op, node)
        left, right = self._expression(node.left), self._expression(node.right)
        if any(isinstance(side, ast.Tuple | ast.List) for side in (node.left, node.right)):
            raise Refusal(node.lineno, "Arithmetic on a tuple is not allowed in a kernel.")
        if isinstance(node.op, ast.Pow):
            if (
                right is None
                or abs(right) > _numbers.MAX_EXPONENT
                or not isinstance(node.right, ast.Constant | ast.UnaryOp)
            ):
                raise Refusal(
                    node.lineno,
                    f"The exponent of `**` must be a plain number of at most {_numbers.MAX_EXPONENT}.",
                )
            if any(isinstance(inner, ast.Pow) for inner in ast.walk(node.left)):
                raise Refusal(
                    node.lineno,
                    "`**` inside the base of another `**` is not allowed; multiply the exponents.",
                )
        return None if left is None or right is None else _numbers.binary(node, left, right)

    def _operator(self, operator: ast.operator, node: ast.stmt | ast.expr) -> None:
        if isinstance(operator, ast.MatMult):
            raise Refusal(node.lineno, _construct(operator))

    def _compare(self, node: ast.Compare) -> None:
        self._all([node.left, *node.comparators])
        for operator, right in zip(node.ops, node.comparators, strict=True):
            if isinstance(operator, ast.In | ast.NotIn):
                raise Refusal(node.lineno, _construct(operator))
            literal = isinstance(right, ast.Constant) and (
                right.value is None or isinstance(right.value, bool)
            )
            if isinstance(operator, ast.Is | ast.IsNot) and not literal:
                raise Refusal(node.lineno, "`is` is only for `None`, `True` and `False`; compare with `==`.")

    def _index(self, node: ast.expr) -> None:
        match node:
            case ast.Tuple(elts=elements):
                for element in elements:
                    self._index(element)
            case ast.Slice(lower=None, upper=None, step=None):
                pass
            case ast.Slice():
                raise Refusal(
                    node.lineno,
                    "A tile cannot be sliced with bounds; choose elements with `tl.arange` and a mask.",
                )
            case ast.Constant(value=value) if value is Ellipsis:
                raise Refusal(
                    node.lineno,
                    "`...` is not known as an index in a kernel; write one `:` for each dimension.",
                )
            case ast.Constant() | ast.Name() | ast.UnaryOp():
                self._expression(node)
            case _:
                raise Refusal(
                    node.lineno, "An index in a kernel is `:`, `None` or a whole number, as in `x[:, None]`."
                )

    # Names and attributes that a kernel uses -------------------------------------------------------------

    def _rebound(self, name: str) -> bool:
        return name in self.local or name in self.scope.names or name in self.functions

    def _name(self, node: ast.Name) -> None:
        name, meaning = node.id, self.scope.names.get(node.id)
        self._spelling(name, node.lineno)
        if name in self.local:
            return
        if isinstance(meaning, Constant) and name not in _allow.RESERVED:
            self.constants[name] = None
            return
        raise Refusal(node.lineno, self._unknown(name))

    def _unknown(self, name: str) -> str:
        """Why a name cannot be used as a value."""
        meaning = self.scope.names.get(name)
        if name in self.functions:
            return f"The function {shown(name)} can only be called, as in `{shown(name)[1:-1]}(...)`."
        if name in {"tl", "triton"}:
            return f"`{name}` cannot stand alone in a kernel; write what you need of it, as in `tl.load`."
        if isinstance(meaning, Other):
            return f"{shown(name)} cannot be used in a kernel: {meaning.advice}."
        if isinstance(meaning, tuple):
            return f"{shown(name)} is imported from `{meaning[0] or '.'}`, which a kernel cannot use; only `tl` and `triton` are there."
        if name in _allow.HINTS:
            return f"Python's `{name}` cannot be used like this in a kernel; {_allow.HINTS[name]}."
        if hasattr(builtins, name):
            return f"Python's {shown(name)} cannot be used like this in a kernel; use the functions of `tl`."
        return f"{shown(name)} is not known in this kernel: it is no parameter, no variable, no jit function and no constant of the file."

    def _attribute(self, node: ast.Attribute) -> None:
        path = module_path(node)
        if path is not None:
            if path[0] != "tl" or path[1:] not in _allow.TL_VALUES:
                raise Refusal(node.lineno, self._no_such(path, called=False))
            return
        inner = node.value
        if (
            node.attr in {"element_ty", "scalar"}
            and isinstance(inner, ast.Attribute)
            and inner.attr == "type"
            and module_path(inner) is None
        ):
            self._expression(inner.value)
            return
        if node.attr not in _allow.ATTRIBUTES:
            raise Refusal(node.lineno, self._no_attribute(node.attr))
        self._expression(inner)

    def _no_attribute(self, name: str) -> str:
        if name in _allow.METHODS:
            return f"`.{name}` must be called, as in `x.{name}(...)`."
        return f"`.{shown(name)[1:-1]}` is not allowed in a kernel; use the functions of `tl`."

    def _no_such(self, path: Path, *, called: bool) -> str:
        """Why a dotted name of ``tl`` or ``triton`` is refused."""
        name, dotted = ".".join(path[1:]), shown(".".join(path))
        if path[0] == "tl":
            for beginning, sentence in _allow.MEMORY.items():
                if name.startswith(beginning):
                    return sentence.format(shown(name)[1:-1])
            if name in _allow.LOOPS:
                return f"`tl.{name}` belongs behind `for ... in`."
            if name in _allow.DROPPED:
                return f"`tl.{name}` must stand on a line of its own, where it is left out."
            if not called and name in _allow.TL_CALLS:
                return f"`tl.{name}` must be called, as in `tl.{name}(...)`."
        return f"{dotted} is not among the functions that may be used in this exercise."

    # Calls -----------------------------------------------------------------------------------------------

    def _call(self, node: ast.Call) -> None:
        function = node.func
        path = module_path(function)
        if path is not None:
            self._library_call(node, path)
        elif isinstance(function, ast.Name):
            self._named_call(node, function)
        elif isinstance(function, ast.Attribute):
            self._method_call(node, function)
        else:
            raise Refusal(node.lineno, "Only a function that has a name can be called in a kernel.")

    def _library_call(self, node: ast.Call, path: Path) -> None:
        name = path[-1]
        if path[0] == "tl":
            allowed = (len(path) == 2 and (name in _allow.TL_CALLS or name in self.extra_tl)) or (
                len(path) == 3 and path[1] == "math" and name in _allow.MATHS
            )
        else:
            allowed = len(path) == 2 and name in _allow.TRITON_CALLS
        if not allowed:
            raise Refusal(node.lineno, self._no_such(path, called=True))
        if path[0] == "tl" and name in _allow.SCANS:
            self._scan(node, name)
        else:
            self._arguments(node, self._keywords())

    def _keywords(self) -> frozenset[str]:
        """The keyword arguments that ``tl`` may be given, with those of the extras of this exercise."""
        keywords = _allow.KEYWORDS
        for extra in self.extra_tl:
            for beginning, more in _allow.ON_REQUEST_KEYWORDS.items():
                if extra.startswith(beginning):
                    keywords = keywords | more
        return keywords

    def _scan(self, node: ast.Call, name: str) -> None:
        """``tl.reduce(x, axis, f)``: ``f`` must be a jit function of the file."""
        combine = [node.args[2]] if len(node.args) > 2 else []
        combine += [keyword.value for keyword in node.keywords if keyword.arg == "combine_fn"]
        if len(combine) != 1 or not isinstance(combine[0], ast.Name) or combine[0].id not in self.functions:
            raise Refusal(
                node.lineno,
                f"`tl.{name}` needs the name of a `@triton.jit` function of this file as its third argument.",
            )
        self.calls[combine[0].id] = None
        rest = ast.Call(
            func=node.func,
            args=[argument for argument in node.args if argument is not combine[0]],
            keywords=[keyword for keyword in node.keywords if keyword.value is not combine[0]],
        )
        self._arguments(ast.copy_location(rest, node), _allow.KEYWORDS)

    def _named_call(self, node: ast.Call, function: ast.Name) -> None:
        name = function.id
        self._spelling(name, node.lineno)
        if name in self.local:
            raise Refusal(node.lineno, f"{shown(name)} is a variable and cannot be called.")
        if name in self.functions:
            self.calls[name] = None
            parameters = self.functions[name]
            self._arguments(node, None if parameters is None else frozenset(parameters))
        elif (
            name == "float"
            and len(node.args) == 1
            and _numbers.is_float_word(node.args[0])
            and not node.keywords
            and not self._rebound(name)
        ):
            pass
        elif name in _allow.BUILTIN_CALLS and not self._rebound(name):
            self._arguments(node, frozenset())
        else:
            raise Refusal(node.lineno, self._unknown(name))

    def _method_call(self, node: ast.Call, function: ast.Attribute) -> None:
        if function.attr not in _allow.METHODS:
            if function.attr.startswith("atomic_"):
                raise Refusal(node.lineno, _allow.MEMORY["atomic_"].format(shown(function.attr)[1:-1]))
            raise Refusal(node.lineno, self._no_attribute(function.attr))
        self._expression(function.value)
        self._arguments(node, _allow.KEYWORDS)

    def _arguments(self, node: ast.Call, keywords: frozenset[str] | None) -> None:
        """Vet what a call is given; ``keywords`` are the names it may be given by, None if any will do."""
        self._all(node.args)
        for keyword in node.keywords:
            name = keyword.arg
            if name is None:
                raise Refusal(keyword.value.lineno, _allow.CONSTRUCTS["Starred"])
            self._spelling(name, keyword.value.lineno)
            if keywords is not None and name not in keywords:
                raise Refusal(keyword.value.lineno, self._no_keyword(name))
            value = keyword.value
            if not (isinstance(value, ast.Constant) and isinstance(value.value, str)):
                self._expression(value)
            elif value.value not in _allow.STRINGS.get(name, ()):
                raise Refusal(value.lineno, f"`{shown(name)[1:-1]}=` cannot be given this text here.")

    def _no_keyword(self, name: str) -> str:
        if name in _allow.ON_REQUEST_KEYWORDS["boundary_check"]:
            return f"`{name}` belongs to block pointers, which are not used in this exercise; use `mask` and `other`."
        return f"{shown(name)} is not an argument that can be given by name here."


def module_path(node: ast.expr) -> Path | None:
    """The names of ``tl.a.b`` or ``triton.a``, which after normalising are the only spelling of these modules."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    if names and isinstance(node, ast.Name) and node.id in {"tl", "triton"}:
        return (node.id, *reversed(names))
    return None


def _is_literal(node: ast.expr) -> bool:
    """Whether evaluating a default when the function is defined can do nothing at all."""
    match node:
        case ast.Constant(value=bool() | float() | None):
            return True
        case ast.Constant(value=int() as value):
            return value < _numbers.LARGEST
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant() as operand):
            return type(operand.value) in {int, float} and _is_literal(operand)
        case ast.Attribute():
            path = module_path(node)
            return path is not None and path[0] == "tl" and path[1:] in _allow.TL_VALUES
    return False


def _first_store(function: ast.FunctionDef, name: str) -> int:
    lines: Iterable[int] = (
        node.lineno
        for node in ast.walk(function)
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)
    )
    return min(lines, default=function.lineno)


def _construct(node: ast.AST) -> str:
    """The reason for a piece of syntax that is not on the list."""
    kind = type(node).__name__
    return _allow.CONSTRUCTS.get(kind, f"This piece of Python (`{kind}`) is not allowed in a kernel.")
