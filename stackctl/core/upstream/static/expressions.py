"""What an expression means. Everything that is not listed here is Unknown."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from stackctl.core.upstream.static import calls
from stackctl.core.upstream.static.attributes import attribute
from stackctl.core.upstream.static.binding import index
from stackctl.core.upstream.static.calls import elements
from stackctl.core.upstream.static.limits import LARGEST, LETTERS
from stackctl.core.upstream.static.operators import COMPARISONS, operate, truth
from stackctl.core.upstream.static.records import members
from stackctl.core.upstream.static.values import (
    TOO_LARGE,
    Class,
    Distinct,
    External,
    Function,
    Generic,
    Instance,
    Member,
    Scope,
    Unknown,
    unknown_in,
)

if TYPE_CHECKING:
    from stackctl.core.upstream.static.machine import Machine

TYPES = ("str", "int", "float", "bool", "list", "dict", "tuple", "set", "frozenset", "bytes", "object", "type")


def builtin(name: str) -> Any:
    return External(name) if name in TYPES or name in calls.BUILTINS else None


def _constant(machine: Machine, node: ast.Constant, scope: Scope) -> Any:
    return node.value


def _name(machine: Machine, node: ast.Name, scope: Scope) -> Any:
    return machine.lookup(node.id, scope)


def _attribute(machine: Machine, node: ast.Attribute, scope: Scope) -> Any:
    return attribute(machine, machine.value(node.value, scope), node.attr)


def _list(machine: Machine, node: ast.List, scope: Scope) -> Any:
    return elements(machine, node.elts, scope)


def _tuple(machine: Machine, node: ast.Tuple, scope: Scope) -> Any:
    return tuple(elements(machine, node.elts, scope))


def _set(machine: Machine, node: ast.Set, scope: Scope) -> Any:
    return Distinct.of(elements(machine, node.elts, scope))


def _dict(machine: Machine, node: ast.Dict, scope: Scope) -> Any:
    found: dict[Any, Any] = {}
    for key, value in zip(node.keys, node.values, strict=True):
        if key is not None:
            found[index(machine, key, scope)] = machine.value(value, scope)
            continue
        spread = machine.value(value, scope)
        found.update(spread if isinstance(spread, dict) else {Unknown("keys of an unknown mapping"): None})
    return found


def _joined(machine: Machine, node: ast.JoinedStr, scope: Scope) -> Any:
    text = ""
    for part in node.values:
        value: Any = machine.value(part.value if isinstance(part, ast.FormattedValue) else part, scope)
        plain = isinstance(part, ast.Constant) or (part.format_spec is None and part.conversion == -1)  # type: ignore[attr-defined]
        if not plain or not isinstance(value, str | int | float | list | tuple | Member) or unknown_in(value):
            return Unknown("a part of a text", text)
        text += str(value)
        if len(text) > LARGEST * LETTERS:
            return TOO_LARGE
    return text


def _binary(machine: Machine, node: ast.BinOp, scope: Scope) -> Any:
    return operate(node.op, machine.value(node.left, scope), machine.value(node.right, scope))


def _unary(machine: Machine, node: ast.UnaryOp, scope: Scope) -> Any:
    value = machine.value(node.operand, scope)
    if isinstance(node.op, ast.Not):
        holds = truth(value)
        return Unknown("not of an unknown value") if holds is None else not holds
    if isinstance(value, int | float):
        return -value if isinstance(node.op, ast.USub) else +value if isinstance(node.op, ast.UAdd) else Unknown("~")
    return Unknown("a sign of an unknown value")


def _boolean(machine: Machine, node: ast.BoolOp, scope: Scope) -> Any:
    ends = isinstance(node.op, ast.Or)
    value: Any = Unknown("nothing")
    unsure: Unknown | None = None
    for each in node.values:
        value = machine.value(each, scope)
        holds = truth(value)
        if holds is None:
            unsure = unsure or Unknown("a condition that is not known")
        elif holds is ends:
            return value if unsure is None or isinstance(value, bool) else unsure
    return unsure or value


def _compare(machine: Machine, node: ast.Compare, scope: Scope) -> Any:
    left = machine.value(node.left, scope)
    for kind, each in zip(node.ops, node.comparators, strict=True):
        right = machine.value(each, scope)
        if unknown_in(left) or unknown_in(right):
            return Unknown("a comparison with something unknown")
        outside = isinstance(left, External | Instance) or isinstance(right, External | Instance)
        if outside and not isinstance(kind, ast.Is | ast.IsNot):
            return Unknown("a comparison with something outside of the tree")
        try:
            holds = COMPARISONS[type(kind)](left, right)
        except TypeError:
            return Unknown("a comparison of values that have none")
        if not holds:
            return False
        left = right
    return True


def _either(machine: Machine, node: ast.IfExp, scope: Scope) -> Any:
    holds = truth(machine.value(node.test, scope))
    if holds is None:
        return Unknown("one of two values")
    return machine.value(node.body if holds else node.orelse, scope)


def _subscript(machine: Machine, node: ast.Subscript, scope: Scope) -> Any:
    owner = machine.value(node.value, scope)
    if isinstance(owner, External):
        args = machine.value(node.slice, scope)
        return Generic(owner.name, args if isinstance(args, tuple) else (args,))
    if isinstance(node.slice, ast.Slice):
        parts = [machine.value(one, scope) for one in (node.slice.lower, node.slice.upper, node.slice.step)]
        if (
            isinstance(owner, list | tuple | str)
            and all(isinstance(one, int | None) for one in parts)
            and parts[2] != 0
        ):
            return owner[slice(*parts)]
        return Unknown("a part of an unknown list")
    key = index(machine, node.slice, scope)
    if isinstance(owner, Class):
        named = [one for one in members(machine, owner) or () if one.name == key]
        return named[0] if named else Unknown(f"{owner.name}[…]")
    if (
        isinstance(owner, list | tuple | str | dict)
        and not isinstance(key, Unknown)
        and not isinstance(owner, Distinct)
    ):
        try:
            return owner[key]
        except (LookupError, TypeError):
            return Unknown("an element that is not there")
    return Unknown("an element of something unknown")


def _lambda(machine: Machine, node: ast.Lambda, scope: Scope) -> Any:
    return Function(node, scope)


def _starred(machine: Machine, node: ast.Starred, scope: Scope) -> Any:
    return Unknown("a spread list out of its place")


READERS: dict[type[ast.expr], Callable[[Machine, Any, Scope], Any]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.List: _list,
    ast.Tuple: _tuple,
    ast.Set: _set,
    ast.Dict: _dict,
    ast.JoinedStr: _joined,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.BoolOp: _boolean,
    ast.Compare: _compare,
    ast.IfExp: _either,
    ast.Subscript: _subscript,
    ast.Lambda: _lambda,
    ast.Starred: _starred,
    ast.Call: calls.call,
    ast.ListComp: calls.comprehension,
    ast.SetComp: calls.comprehension,
    ast.GeneratorExp: calls.comprehension,
    ast.DictComp: calls.comprehension,
}
