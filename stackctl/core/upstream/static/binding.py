"""Puts values under names: targets of an assignment, arguments of a function."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from stackctl.core.upstream.static.values import Class, Function, Instance, Scope, Unknown

if TYPE_CHECKING:
    from stackctl.core.upstream.static.machine import Machine


def bind_target(machine: Machine, target: ast.expr, value: Any, scope: Scope) -> None:
    if isinstance(target, ast.Name):
        if isinstance(value, Unknown) and isinstance(scope.names.get(target.id), Class):
            return  # a class that is wrapped or made anew of itself keeps what its body says
        scope.names[target.id] = value
    elif isinstance(target, ast.Tuple | ast.List):
        known = isinstance(value, list | tuple) and len(value) == len(target.elts)
        for at, each in enumerate(target.elts):
            bind_target(machine, each, value[at] if known else Unknown("a part of an unknown value"), scope)
    elif isinstance(target, ast.Subscript):
        owner, key = machine.value(target.value, scope), index(machine, target.slice, scope)
        if isinstance(owner, dict | list):
            try:
                owner[key] = value
            except (TypeError, IndexError):
                spoil(owner)
    elif isinstance(target, ast.Attribute):
        owner = machine.value(target.value, scope)
        if isinstance(owner, Instance):
            owner.fields[target.attr] = value
        elif isinstance(owner, Class) and target.attr not in ("__annotations__",):
            machine.body(owner)[target.attr] = value


def spoil(value: Any) -> None:
    """A list that was changed in a way that cannot be known has an unknown element from now on."""
    why = Unknown("changed under a condition")
    if isinstance(value, list):
        value.append(why)
    elif isinstance(value, dict):
        value[why] = why


def index(machine: Machine, node: ast.expr, scope: Scope) -> Any:
    """A key; one that no dictionary could hold is unknown."""
    value = machine.value(node, scope)
    try:
        hash(value)
    except TypeError:
        return Unknown("a key that is no key")
    return value


def bind(
    machine: Machine, function: Function, arguments: Sequence[Any], named: Mapping[str, Any], scope: Scope
) -> Unknown | None:
    """Puts arguments into the names of a function; what is not given and has no default is Unknown."""
    spec = function.node.args
    places = [*spec.posonlyargs, *spec.args]
    scope.names.update(zip((one.arg for one in places), arguments, strict=False))
    if spec.vararg:
        scope.names[spec.vararg.arg] = tuple(arguments[len(places) :])
    elif len(arguments) > len(places):
        return Unknown("a call with too many arguments")
    known = {name.arg for name in (*places, *spec.kwonlyargs)}
    scope.names.update({name: value for name, value in named.items() if name in known})
    if spec.kwarg:
        scope.names[spec.kwarg.arg] = {name: value for name, value in named.items() if name not in known}
    for name, default in defaults(spec):
        if name not in scope.names:
            missing = Unknown(f"the argument {name}")
            scope.names[name] = missing if default is None else machine.value(default, function.scope)
    return None


def defaults(spec: ast.arguments) -> Iterator[tuple[str, ast.expr | None]]:
    """Every argument with its default."""
    places = [*spec.posonlyargs, *spec.args]
    none: list[ast.expr | None] = [None] * (len(places) - len(spec.defaults))
    yield from zip((one.arg for one in places), [*none, *spec.defaults], strict=True)
    yield from zip((one.arg for one in spec.kwonlyargs), spec.kw_defaults, strict=True)
