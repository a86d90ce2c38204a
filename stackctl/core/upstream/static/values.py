"""What an expression of somebody else's source can mean without running it.

Plain Python values stand for themselves. Everything that lies outside of the tree is a name (`External`), and all that
cannot be known is `Unknown` with its reason, also as one element of a list: it spreads and is never left out.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from stackctl.core.upstream.static.limits import BITS, LARGEST, LETTERS


@dataclass(frozen=True)
class Unknown:
    """`begins`: the text that a string begins with for certain, when only its end is not known."""

    why: str
    begins: str = ""


@dataclass(frozen=True)
class External:
    """Something outside of the tree, by its dotted name: `argparse.SUPPRESS`, `typing.List`, `int`."""

    name: str


@dataclass(frozen=True)
class Generic:
    """A type with arguments: `typing.Optional[int]` is ("typing.Optional", (External("int"),)). `|` is a Union."""

    base: str
    args: tuple[Any, ...]


class Distinct(list[Any]):
    """A set that remembers the order in which it was written, so that a table reads the same every time."""

    @classmethod
    def of(cls, items: Iterable[Any]) -> Distinct:
        try:
            return cls(dict.fromkeys(items))
        except TypeError:
            return cls([Unknown("a set of what no set can hold")])

    def add(self, item: Any) -> None:
        if item not in self:
            self.append(item)

    def without(self, others: Iterable[Any], keeps: bool = False) -> Distinct:
        """What is not in `others`; with `keeps`, what is."""
        try:
            held = set(others)
        except TypeError:
            return Distinct.of([Unknown("a set of what no set can hold")])
        return Distinct(one for one in self if (one in held) is keeps)


@dataclass(eq=False)
class Module:
    """A file of the tree. `names` fills while its statements run, once."""

    name: str
    path: str
    tree: ast.Module
    names: dict[str, Any] = field(default_factory=dict)


@dataclass(eq=False)
class Scope:
    """Names of a running function or class body; `module` and `outer` are where the others are found."""

    module: Module
    names: dict[str, Any]
    outer: Scope | None = None
    of_class: bool = False  # a function that is written in it does not see its names


@dataclass(eq=False)
class Class:
    """`body` fills when it is first asked for."""

    node: ast.ClassDef
    scope: Scope
    bases: tuple[Any, ...] | None = None  # None: not read yet
    body: dict[str, Any] = field(default_factory=dict)
    ran: bool = False

    @property
    def name(self) -> str:
        return self.node.name


@dataclass(eq=False)
class Function:
    """`bound`: what goes in as the first argument (self or the class)."""

    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    scope: Scope
    kind: str = "plain"  # plain, static, class, property, wrapped
    bound: Any = None


@dataclass(eq=False)
class Instance:
    of: Class
    fields: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Member:
    """One member of an enum."""

    of: str
    name: str
    value: Any

    def __str__(self) -> str:
        return str(self.value)


@dataclass(frozen=True)
class Method:
    """A method of a plain value, not yet called."""

    owner: Any
    name: str

    __hash__ = object.__hash__


@dataclass(frozen=True)
class Lazy:
    """An import, followed when it is used."""

    module: str
    name: str = ""


@dataclass(frozen=True, eq=False)
class Later:
    """A call without arguments of a module's own line, made when its name is used: most never are."""

    node: ast.expr
    scope: Scope


@dataclass(frozen=True)
class Added:
    """One `add_argument`. `maybe`: behind a condition that cannot be known."""

    names: tuple[Any, ...]
    given: dict[str, Any]
    place: str
    maybe: bool = False


@dataclass(eq=False)
class Recorder:
    """Stands for an ArgumentParser: it writes down what is added. `lost`: sentences about what it could not see."""

    options: dict[str, Any] = field(default_factory=dict)
    added: list[Added] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)


MISSING = External("MISSING")  # a field without a default


@dataclass(frozen=True)
class Field:
    """A field of a record, as `dataclasses.fields` gives it. `annotation`: its source, read when it is needed."""

    name: str
    annotation: ast.expr
    default: Any
    scope: Scope

    def attribute(self, name: str) -> Any:
        if name in ("name", "default"):
            return getattr(self, name)
        return Unknown(f"{name} of a field")


TOO_LARGE = Unknown("more than can be followed")


def unknown_in(value: Any) -> Unknown | None:
    """The first thing inside of a value that is not known; also when there is too much in it to look through."""
    seen, waiting = 0, [value]
    while waiting:
        one = waiting.pop()
        seen += 1
        if isinstance(one, Unknown):
            return one
        inner = _inside(one)
        if seen + len(inner) > LARGEST:
            return TOO_LARGE
        waiting += reversed(inner)
    return None


def _inside(value: Any) -> Sequence[Any]:
    if isinstance(value, list | tuple):
        return value
    return [*value.keys(), *value.values()] if isinstance(value, dict) else ()


def weight(value: Any) -> int:
    """Elements of a value and of all inside of it, each as often as it is reached; it stops above LARGEST."""
    total, waiting = 1, [value]
    while waiting and total <= LARGEST:
        one = waiting.pop()
        inner = one.args if isinstance(one, Generic) else (one.value,) if isinstance(one, Member) else _inside(one)
        total += len(inner) + _own_weight(one)
        if total <= LARGEST:
            waiting += inner
    return total


def _own_weight(value: Any) -> int:
    if isinstance(value, str | bytes):
        return len(value) // LETTERS
    if isinstance(value, int):
        return LARGEST * (value.bit_length() > BITS)
    if isinstance(value, range):
        return len(value[: LARGEST + 1])
    if isinstance(value, External):
        return len(value.name) // LETTERS
    return (len(value.why) + len(value.begins)) // LETTERS if isinstance(value, Unknown) else 0


def dotted(node: ast.AST) -> str:
    """`a.b.c` as it is written; of `f(x).b` what can be said, `b`."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if isinstance(node, ast.Name):
        parts.append(node.id)
    return ".".join(reversed(parts))
