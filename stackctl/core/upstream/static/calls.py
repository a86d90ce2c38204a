"""Calls: of functions and classes of the tree, of a few of Python's own, and of what is outside, which is Unknown."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from stackctl.core.upstream.static import methods
from stackctl.core.upstream.static.attributes import attribute
from stackctl.core.upstream.static.binding import bind_target
from stackctl.core.upstream.static.limits import LARGEST
from stackctl.core.upstream.static.operators import truth
from stackctl.core.upstream.static.records import fields_of, is_enum, members
from stackctl.core.upstream.static.values import (
    MISSING,
    TOO_LARGE,
    Class,
    Distinct,
    External,
    Function,
    Instance,
    Member,
    Method,
    Recorder,
    Scope,
    Unknown,
    unknown_in,
)

if TYPE_CHECKING:
    from stackctl.core.upstream.static.machine import Machine

PARSERS = ("argparse.ArgumentParser",)
FIELDS = ("dataclasses.field", "msgspec.field")
UNSET = ("os.getenv", "os.environ.get", "sys.modules.get")  # a process that has just started, with no variable set


def call(machine: Machine, node: ast.Call, scope: Scope) -> Any:
    """What a call gives."""
    target = machine.value(node.func, scope)
    arguments = elements(machine, node.args, scope)
    named: dict[str, Any] = {}
    for keyword in node.keywords:
        value = machine.value(keyword.value, scope)
        if keyword.arg is not None:
            named[keyword.arg] = value
        elif isinstance(value, dict) and not unknown_in(list(value)):
            named.update(value)
        else:
            named["**"] = Unknown("arguments of an unknown mapping")
    place = f"{scope.module.path}:{node.lineno}"
    return invoke(machine, target, arguments, named, place)


def elements(machine: Machine, nodes: Sequence[ast.expr], scope: Scope) -> list[Any]:
    """With `*x` spread out."""
    found: list[Any] = []
    for node in nodes:
        if isinstance(node, ast.Starred):
            spread = iterated(machine, machine.value(node.value, scope))
            found += [Unknown("an unknown list, spread out")] if spread is None else spread
        else:
            found.append(machine.value(node, scope))
        if len(found) > LARGEST:
            return [TOO_LARGE]
    return found


def invoke(machine: Machine, target: Any, arguments: Sequence[Any], named: Mapping[str, Any], place: str) -> Any:
    if isinstance(target, Method):
        return methods.invoke(target, arguments, named, place)
    if isinstance(target, Function):
        own = machine.intrinsics.get(getattr(target.node, "name", ""))
        if own is not None:
            return own(machine, arguments, named, place)
        if target.kind != "wrapped":
            return machine.run(target, arguments, named)
    elif isinstance(target, Class):
        return _made(machine, target, arguments, named)
    elif isinstance(target, External):
        known = _outside(machine, target.name, arguments, named)
        if known is not None:
            return known.value
    for one in (*arguments, *named.values()):
        if isinstance(one, Recorder):
            one.lost.append(f"{place}: what is added there to the parser is not known")
    return Unknown(f"the call at {place}")


class _Known:
    """A result that may be None."""

    def __init__(self, value: Any) -> None:
        self.value = value


def _outside(machine: Machine, name: str, arguments: Sequence[Any], named: Mapping[str, Any]) -> _Known | None:
    if name in PARSERS:
        return _Known(_parser(machine, named))
    if name in FIELDS:
        return _Known(_field(machine, named))
    if name in UNSET:
        return _Known(arguments[1] if len(arguments) > 1 else named.get("default"))
    if name in ("dataclasses.fields", "msgspec.structs.fields") and arguments and isinstance(arguments[0], Class):
        return _Known(list(fields_of(machine, arguments[0])))
    if name in BUILTINS and not named:
        return _Known(BUILTINS[name](machine, arguments))
    return None


def _parser(machine: Machine, named: Mapping[str, Any]) -> Recorder:
    made = Recorder(dict(named))
    machine.parsers.append(made)
    return made


def _field(machine: Machine, named: Mapping[str, Any]) -> Any:
    if "default" in named:
        return named["default"]
    if "default_factory" in named:
        return invoke(machine, named["default_factory"], (), {}, "a default")
    return MISSING


def _made(machine: Machine, one: Class, arguments: Sequence[Any], named: Mapping[str, Any]) -> Any:
    """An object of a class of the tree."""
    if set(PARSERS) & set(machine.outside(one)):
        return _parser(machine, named)
    if is_enum(machine, one):
        wanted = arguments[0] if arguments else None
        found = [each for each in members(machine, one) or () if each.value == wanted]
        return found[0] if found else Unknown(f"a member of {one.name}")
    made = Instance(one)
    start = machine.member(one, "__init__")
    if isinstance(start, Function):
        machine.run(Function(start.node, start.scope, "plain", made), arguments, named)
        return made
    places = [field.name for field in fields_of(machine, one)]
    made.fields.update(zip(places, arguments, strict=False))
    made.fields.update(named)
    return made


def iterated(machine: Machine, value: Any) -> list[Any] | None:
    """What a loop over a value goes through; None when that is not known."""
    if isinstance(value, list | tuple | str | dict):
        return list(value)
    if isinstance(value, range):
        return list(value)
    return members(machine, value) if isinstance(value, Class) else None


def comprehension(
    machine: Machine, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp, scope: Scope
) -> Any:
    """A list, a set or a dictionary; a generator is a list."""
    found: list[Any] = []
    fault: list[Unknown] = []

    def turn(level: int, inner: Scope) -> None:
        if level == len(node.generators):
            pair = isinstance(node, ast.DictComp)
            parts = (node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,)
            values = tuple(machine.value(part, inner) for part in parts)
            found.append(values if pair else values[0])
            return
        spec = node.generators[level]
        items = iterated(machine, machine.value(spec.iter, inner))
        if items is None:
            fault.append(Unknown("a list made of an unknown one"))
            return
        for item in items:
            if not machine.spend():
                fault.append(TOO_LARGE)
                return
            bind_target(machine, spec.target, item, inner)
            holds = [truth(machine.value(test, inner)) for test in spec.ifs]
            if None in holds:
                fault.append(Unknown("a list made under a condition"))
            elif all(holds):
                turn(level + 1, inner)

    turn(0, Scope(scope.module, {}, scope))
    if fault:
        return fault[0]
    if isinstance(node, ast.SetComp):
        return Distinct.of(found)
    try:
        return dict(found) if isinstance(node, ast.DictComp) else found
    except TypeError:
        return Unknown("a mapping with keys that are none")


def _collected(kind: Callable[[list[Any]], Any]) -> Callable[[Machine, Sequence[Any]], Any]:
    def collect(machine: Machine, arguments: Sequence[Any]) -> Any:
        if not arguments:
            return kind([])
        items = iterated(machine, arguments[0])
        return Unknown("a list of something unknown") if items is None else kind(items)

    return collect


def _plain(action: Callable[..., Any]) -> Callable[[Machine, Sequence[Any]], Any]:
    def apply(machine: Machine, arguments: Sequence[Any]) -> Any:
        if unknown_in(list(arguments)) or not all(isinstance(one, PLAIN) for one in arguments):
            return Unknown("a function of something unknown")
        try:
            found = action(*arguments)
        except (TypeError, ValueError, ArithmeticError, OverflowError):
            return Unknown("a function that fails")
        return found if isinstance(found, str | int | float | bool | range) else list(found)

    return apply


def _dict(machine: Machine, arguments: Sequence[Any]) -> Any:
    if not arguments:
        return {}
    pairs = list(arguments[0].items()) if isinstance(arguments[0], dict) else iterated(machine, arguments[0])
    try:
        return dict(pairs or ()) if pairs is not None else Unknown("a mapping of something unknown")
    except (TypeError, ValueError):
        return Unknown("a mapping of something else")


def _first(machine: Machine, arguments: Sequence[Any]) -> Any:
    items = iterated(machine, arguments[0]) if arguments else None
    return items[0] if items else (arguments[1] if len(arguments) > 1 else Unknown("the first of none"))


def _getattr(machine: Machine, arguments: Sequence[Any]) -> Any:
    if len(arguments) < 2 or not isinstance(arguments[1], str):
        return Unknown("an attribute without a name")
    return attribute(machine, arguments[0], arguments[1])


def _callable(machine: Machine, arguments: Sequence[Any]) -> Any:
    return bool(arguments) and isinstance(arguments[0], Function | Class | External | Method)


PLAIN = (str, int, float, list, tuple, dict, range, Member, type(None))
BUILTINS: dict[str, Callable[[Machine, Sequence[Any]], Any]] = {
    "list": _collected(list),
    "tuple": _collected(tuple),
    "set": _collected(Distinct.of),
    "frozenset": _collected(Distinct.of),
    "dict": _dict,
    "next": _first,
    "iter": _collected(list),
    "getattr": _getattr,
    "callable": _callable,
    **{
        one.__name__: _plain(one)
        for one in (str, int, float, bool, len, sorted, range, enumerate, zip, reversed, min, max, repr, any, all)
    },
}
