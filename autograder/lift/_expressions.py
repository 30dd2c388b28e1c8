"""The judgement of expressions: every name, attribute, call and piece of arithmetic must be on the list."""

from __future__ import annotations

import ast
import builtins
import difflib
import itertools
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TypeGuard

from autograder.lift import _allow, _numbers, _reasons
from autograder.lift._numbers import Number
from autograder.lift._reasons import brief, shown
from autograder.lift._scope import Constant, Other, Path, Scope
from autograder.lift._types import NoPython, Refusal, Remark, UnknownName


@dataclass(slots=True)
class Expressions:
    """Judges the expressions of one function, and notes which functions and constants it uses.

    ``functions`` maps what may be called by name to its parameters (None if unknown); ``local`` are the
    parameters and variables of the function itself.  ``extra_tl`` are names of ``tl`` that the exercise allows beyond
    the usual ones, ``forbidden_tl`` those of the usual ones that would do its work.
    """

    scope: Scope
    functions: Mapping[str, frozenset[str] | None]
    extra_tl: frozenset[str]
    local: frozenset[str]
    forbidden_tl: frozenset[str] = frozenset()
    calls: dict[str, None] = field(default_factory=dict)
    constants: dict[str, None] = field(default_factory=dict)
    remarks: list[Remark] = field(default_factory=list)

    def expression(self, node: ast.expr) -> Number | None:
        """Vet an expression; its value if it is arithmetic on literals alone, else None."""
        match node:
            case ast.Constant():
                return self._literal(node)
            case ast.Name():
                self._name(node)
            case ast.Attribute():
                self._attribute(node)
            case ast.Call():
                self.call(node)
            case ast.BinOp():
                return self._binary(node)
            case ast.UnaryOp():
                value = self.expression(node.operand)
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
                self.expression(node.value)
                self._index(node.slice)
            case _:
                raise Refusal(node.lineno, _reasons.construct(node))
        return None

    def spelling(self, name: str, line: int) -> None:
        """Refuse names that look like others, and those that belong to Python."""
        if (odd := _reasons.odd_name(name)) is not None:
            raise Refusal(line, odd)

    def rebound(self, name: str) -> bool:
        """Whether a name of Python's means something else here."""
        return name in self.local or name in self.scope.names or name in self.functions

    def _all(self, nodes: Iterable[ast.expr]) -> None:
        for node in nodes:
            self.expression(node)

    # Literals and operators ------------------------------------------------------------------------------

    def _literal(self, node: ast.Constant) -> Number | None:
        value = node.value
        if value is None or isinstance(value, float | bool):
            return value
        if isinstance(value, int):
            if value >= _numbers.LARGEST:
                raise Refusal(node.lineno, _numbers.TOO_LARGE)
            return value
        if isinstance(value, str):
            raise Refusal(
                node.lineno,
                'A text in quotes is not allowed here; only options such as `input_precision="ieee"` take one, '
                "and what is marked `tl.constexpr` to hold it for them.",
            )
        if value is Ellipsis:
            raise Refusal(node.lineno, "`...` is not allowed in an expression of a kernel.")
        raise Refusal(node.lineno, f"A kernel cannot hold a value of Python's type `{type(value).__name__}`.")

    def _binary(self, node: ast.BinOp) -> Number | None:
        if isinstance(node.op, ast.MatMult):
            raise Refusal(node.lineno, _reasons.construct(node.op))
        left, right = self.expression(node.left), self.expression(node.right)
        if any(isinstance(side, ast.Tuple | ast.List) for side in (node.left, node.right)):
            raise Refusal(node.lineno, "Arithmetic on a tuple is not allowed in a kernel.")
        if isinstance(node.op, ast.Pow):
            self._power(node, right)
        return None if left is None or right is None else _numbers.binary(node, left, right)

    def _power(self, node: ast.BinOp, exponent: Number | None) -> None:
        """Python computes powers of whole numbers exactly, however long that takes: so only small ones."""
        plain = isinstance(node.right, ast.Constant | ast.UnaryOp)
        if exponent is None or not plain or not abs(exponent) <= _numbers.MAX_EXPONENT:
            raise Refusal(
                node.lineno,
                f"The exponent of `**` must be a plain number of at most {_numbers.MAX_EXPONENT}.",
            )
        if any(isinstance(inner, ast.Pow) for inner in ast.walk(node.left)):
            raise Refusal(node.lineno, "`**` inside the base of another `**` is not allowed.")

    def _compare(self, node: ast.Compare) -> None:
        operands = [node.left, *node.comparators]
        self._all(operands)
        for operator, (left, right) in zip(node.ops, itertools.pairwise(operands), strict=True):
            if isinstance(operator, ast.In | ast.NotIn):
                raise Refusal(node.lineno, _reasons.construct(operator))
            if isinstance(operator, ast.Is | ast.IsNot) and not self._can_be_identical(left, right):
                raise Refusal(
                    node.lineno, "`is` is only for a variable and `None`, `True` or `False`; compare with `==`."
                )
        for number, operand in enumerate(operands):
            if _joined(operand) and (0 < number < len(node.ops) or _orders_truth(node, operand)):
                self.remarks.append(Remark(operand.lineno, _reasons.compares_joined(ast.unparse(operand))))
                break

    def _can_be_identical(self, left: ast.expr, right: ast.expr) -> bool:
        """Whether ``left is right`` means the same to the compiler and to the interpreter.

        A constant of the file is an object of its own in the interpreter, and is never identical to anything.
        """
        constant = isinstance(left, ast.Name) and left.id in self.constants and left.id not in self.local
        return not constant and isinstance(right, ast.Constant) and (right.value is None or type(right.value) is bool)

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
                raise Refusal(node.lineno, "`...` is not known as an index; write one `:` for each dimension.")
            case ast.Constant() | ast.Name() | ast.UnaryOp():
                self.expression(node)
            case _:
                raise Refusal(node.lineno, "An index in a kernel is `:`, `None` or a whole number, as in `x[:, None]`.")

    # Names and attributes --------------------------------------------------------------------------------

    def _name(self, node: ast.Name) -> None:
        name = node.id
        self.spelling(name, node.lineno)
        if name in self.local:
            return
        meaning = self.scope.names.get(name)
        if isinstance(meaning, Constant) and name not in _allow.RESERVED:
            if isinstance(meaning.value, str):
                raise Refusal(
                    node.lineno,
                    f"{shown(name)} is a text, and only options take one, as in `input_precision={brief(name)}`.",
                )
            self.constants[name] = None
            return
        raise self._unknown_name(name, node.lineno)

    def _unknown_name(self, name: str, line: int) -> Refusal:
        """The error for a name that cannot be used: a slip if it means nothing anywhere, else not allowed."""
        meaningless = name not in self.scope.names and name not in self.functions and name not in {"tl", "triton"}
        if not meaningless or _reasons.python_name(name):
            return Refusal(line, self._unknown(name))
        if (infinite := _reasons.infinity(name, name)) is not None:
            return UnknownName(line, infinite)
        near = difflib.get_close_matches(name, sorted(self.local | set(self.functions)), n=1)
        guess = f" Did you mean {shown(near[0])}?" if near else ""
        if name in _allow.ELSEWHERE:
            guess = " A kernel has only `tl` and `triton`."
        return UnknownName(line, f"{shown(name)} has no value here.{guess}")

    def _unknown(self, name: str) -> str:
        """Why a name cannot be used as a value, or called."""
        meaning = self.scope.names.get(name)
        if name in self.functions:
            return f"The function {shown(name)} can only be called, as in `{brief(name)}(...)`."
        if name in {"tl", "triton"}:
            return f"`{name}` cannot stand alone in a kernel; write what you need of it, as in `tl.load`."
        if isinstance(meaning, Constant):
            return f"{shown(name)} is a {'text' if isinstance(meaning.value, str) else 'number'} and cannot be called."
        if isinstance(meaning, Other):
            return f"{shown(name)} cannot be used in a kernel: {meaning.advice}."
        if isinstance(meaning, tuple):
            return (
                f"{shown(name)} comes from `{brief(meaning[0] or '.')}`, which a kernel cannot use; "
                f"only `tl` and `triton` are there.{_reasons.in_tl(meaning[-1])}"
            )
        if (instead := _reasons.in_tl(name)) and not hasattr(builtins, name):
            return f"{shown(name)} is not known in this kernel by that name.{instead}"
        return _reasons.python_name(name) or (
            f"{shown(name)} is not known in this kernel: "
            "it is no parameter, no variable, no jit function and no constant of the file."
        )

    def _attribute(self, node: ast.Attribute) -> None:
        path = module_path(node)
        if path is not None:
            if path[0] != "tl" or path[1:] not in _allow.TL_VALUES:
                raise Refusal(node.lineno, _reasons.library_name(path, called=False))
            return
        match node:
            case ast.Attribute(attr="element_ty", value=ast.Attribute(attr="type", value=inner)):
                self.expression(inner)
            case _:
                self._infinity_of_a_module(node)
                self.expression(node.value)
                if node.attr not in _allow.ATTRIBUTES:
                    raise Refusal(node.lineno, _reasons.attribute(node.attr))

    def _infinity_of_a_module(self, node: ast.Attribute) -> None:
        """Refuse ``math.inf`` and its like, with what to write instead."""
        if isinstance(node.value, ast.Name) and node.value.id not in self.local:
            infinite = _reasons.infinity(node.attr, f"{node.value.id}.{node.attr}")
            if infinite is not None:
                raise Refusal(node.lineno, infinite)

    # Calls -----------------------------------------------------------------------------------------------

    def call(self, node: ast.Call) -> None:
        """Vet a call of a function of ``tl``, of the file, of Python, or of a method of a tile."""
        self._require_each_once(node)
        function = node.func
        path = module_path(function)
        if path is not None:
            self._library_call(node, path)
        elif isinstance(function, ast.Name):
            self._named_call(node, function.id)
        elif not isinstance(function, ast.Attribute):
            raise Refusal(node.lineno, "Only a function that has a name can be called in a kernel.")
        else:
            self._function_of_elsewhere(function)
            self.expression(function.value)
            if function.attr in self.forbidden_tl:
                raise Refusal(node.lineno, _reasons.whole_work("." + function.attr))
            if function.attr not in _allow.METHODS and f".{function.attr}" not in self.extra_tl:
                raise Refusal(node.lineno, _reasons.attribute(function.attr))
            self._axis(node, function.attr)
            self.arguments(node, _allow.KEYWORDS)

    def _function_of_elsewhere(self, function: ast.Attribute) -> None:
        """Refuse ``torch.softmax`` and its like, with what it is called in ``tl``."""
        root: ast.expr = function
        while isinstance(root, ast.Attribute):
            root = root.value
        if not isinstance(root, ast.Name) or root.id in self.local or root.id in self.functions:
            return
        imported = isinstance(self.scope.names.get(root.id), tuple)
        if not imported and (root.id not in _allow.ELSEWHERE or root.id in self.scope.names):
            return
        if function.attr in self.forbidden_tl:
            raise Refusal(function.lineno, _reasons.whole_work(ast.unparse(function)))
        if instead := _reasons.in_tl(function.attr):
            kind = Refusal if imported else UnknownName
            raise kind(function.lineno, f"{shown(ast.unparse(function))} cannot be used in a kernel.{instead}")

    def _axis(self, node: ast.Call, name: str) -> None:
        for keyword in node.keywords:
            if keyword.arg == "dim" and name in _allow.AXIS_CALLS:
                raise Refusal(keyword.value.lineno, f"`{name}` has no argument `dim`: in Triton it is called `axis`.")

    def _library_call(self, node: ast.Call, path: Path) -> None:
        match path:
            case ("tl", name) if name in _allow.SCANS:
                self._scan(node, name)
                return
            case ("tl", name):
                allowed = name in _allow.TL_CALLS or name in self.extra_tl
            case ("tl", "math", name):
                allowed = name in _allow.MATHS
            case ("triton", name):
                allowed = name in _allow.TRITON_CALLS
            case _:
                allowed = False
        if not allowed:
            raise Refusal(node.lineno, _reasons.library_name(path, called=True))
        if path[-1] in self.forbidden_tl:
            raise Refusal(node.lineno, _reasons.whole_work(".".join(path)))
        self._axis(node, path[-1])
        places = _allow.TEXTS_BY_PLACE.get(path[-1], {}) if path[:-1] == ("tl",) else {}
        self.arguments(node, self._keywords(), places)

    def _keywords(self) -> frozenset[str]:
        """The keyword arguments of ``tl``, with those of the extras of this exercise."""
        more = [
            keywords
            for beginning, keywords in _allow.EXTRA_KEYWORDS.items()
            if any(extra.startswith(beginning) for extra in self.extra_tl)
        ]
        return _allow.KEYWORDS.union(*more)

    def _scan(self, node: ast.Call, name: str) -> None:
        """``tl.reduce(x, axis, f)``: ``f`` must be a jit function of the file."""
        combine = node.args[2:3]
        combine += [keyword.value for keyword in node.keywords if keyword.arg == "combine_fn"]
        function = combine[0] if len(combine) == 1 else None
        if not isinstance(function, ast.Name) or function.id in self.local or function.id not in self.functions:
            raise Refusal(
                node.lineno,
                f"`tl.{name}` needs as its third argument the name of a `@triton.jit` function of this file.",
            )
        self._axis(node, name)
        self.spelling(function.id, node.lineno)
        self.calls[function.id] = None
        rest = ast.Call(
            func=node.func,
            args=[argument for argument in node.args if argument is not function],
            keywords=[keyword for keyword in node.keywords if keyword.value is not function],
        )
        self.arguments(rest, _allow.KEYWORDS)

    def _named_call(self, node: ast.Call, name: str) -> None:
        self.spelling(name, node.lineno)
        if name in self.local:
            raise Refusal(node.lineno, f"{shown(name)} is a variable and cannot be called.")
        if name in self.functions:
            self.calls[name] = None
            self.arguments(node, self.functions[name], own=True)
        elif self.rebound(name) or name not in _allow.BUILTIN_CALLS:
            raise Refusal(node.lineno, self._unknown(name))
        elif not (name == "float" and _is_float_of_word(node)):
            self.arguments(node, frozenset())

    def _require_each_once(self, node: ast.Call) -> None:
        given: set[str | None] = set()
        for keyword in node.keywords:
            if keyword.arg is not None and keyword.arg in given:
                raise NoPython(keyword.lineno, f"{shown(keyword.arg)} is given twice in one call.")
            given.add(keyword.arg)

    def arguments(
        self,
        node: ast.Call,
        keywords: frozenset[str] | None,
        places: Mapping[int, str] = MappingProxyType({}),
        *,
        own: bool = False,
    ) -> None:
        """Vet what a call is given; ``keywords`` are the names it may be given by, None if any will do.

        ``places`` are the options among the arguments without a name; a function of the file's ``own`` may be given
        texts for those that it calls in turn.
        """
        for place, argument in enumerate(node.args):
            self._argument(places.get(place), argument, own)
        for keyword in node.keywords:
            name, value = keyword.arg, keyword.value
            if name is None:
                raise Refusal(value.lineno, _reasons.STAR)
            self.spelling(name, value.lineno)
            if keywords is not None and name not in keywords:
                raise Refusal(value.lineno, _reasons.keyword(name, keywords))
            self._argument(name, value, own)

    def _argument(self, name: str | None, value: ast.expr, own: bool) -> None:
        """Vet one argument, which may be a text if it is an option that takes this one, or a function's of the file."""
        allowed = _allow.TEXTS if own else _allow.STRINGS.get(name or "", frozenset())
        if not self.is_text(value, allowed):
            if name is not None and _text_of(value) is not None:
                raise Refusal(value.lineno, _reasons.option(name, own=own))
            self.expression(value)

    def is_text(self, node: ast.expr, allowed: Set[str]) -> bool:
        """Whether ``node`` is a text, of those ``allowed``: in quotes, a constant of the file, or one of two such."""
        match node:
            case ast.Constant(value=str() as text):
                return text in allowed
            case ast.Name(id=name) if name not in self.local and name not in _allow.RESERVED:
                meaning = self.scope.names.get(name)
                if not isinstance(meaning, Constant) or not isinstance(meaning.value, str):
                    return False
                self.spelling(name, node.lineno)
                self.constants[name] = None
                return meaning.value in allowed
            case ast.IfExp() if self.is_text(node.body, allowed) and self.is_text(node.orelse, allowed):
                self.expression(node.test)
                return True
        return False


def module_path(node: ast.expr) -> Path | None:
    """The names of ``tl.a.b`` or ``triton.a``: after normalising, the only spelling of these modules."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    if names and isinstance(node, ast.Name) and node.id in {"tl", "triton"}:
        return (node.id, *reversed(names))
    return None


def _text_of(node: ast.expr) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def is_literal(node: ast.expr) -> bool:
    """Whether evaluating ``node`` when a function is defined can do nothing at all; ``float`` is taken for Python's."""
    match node:
        case ast.Call(func=ast.Name(id="float")):
            return _is_float_of_word(node)
        case ast.Call(func=ast.Attribute() as function, args=[ast.Constant(value=str() as text)], keywords=[]):
            return module_path(function) == ("tl", "constexpr") and text in _allow.TEXTS
        case ast.UnaryOp(op=ast.USub(), operand=ast.Call(func=ast.Name()) as operand):
            return is_literal(operand)
        case ast.Constant(value=bool() | float() | None):
            return True
        case ast.Constant(value=int() as value):
            return value < _numbers.LARGEST
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant() as operand):
            return type(operand.value) in {int, float} and is_literal(operand)
        case ast.Attribute():
            path = module_path(node)
            return path is not None and path[0] == "tl" and path[1:] in _allow.TL_VALUES
    return False


def _is_float_of_word(node: ast.Call) -> bool:
    return len(node.args) == 1 and not node.keywords and _numbers.is_float_word(node.args[0])


def _joined(node: ast.expr) -> TypeGuard[ast.BinOp]:
    """Whether `&`, `|` or `^` joins two values.

    ``a < m & b < n`` is ``a < (m & b) < n`` to Python, which nobody means; ``x & 1 == 0`` alone may be meant.
    """
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd | ast.BitOr | ast.BitXor)


def _orders_truth(node: ast.Compare, operand: ast.BinOp) -> bool:
    """Whether a larger and a smaller truth value are looked for, as in ``(a < m) & b < n``."""
    ordered = all(isinstance(operator, ast.Lt | ast.LtE | ast.Gt | ast.GtE) for operator in node.ops)
    return ordered and any(isinstance(side, ast.Compare) for side in (operand.left, operand.right))
