"""`owner.name`, for every kind of owner."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from stackctl.core.upstream.static.records import members
from stackctl.core.upstream.static.values import (
    Class,
    External,
    Field,
    Function,
    Instance,
    Lazy,
    Member,
    Method,
    Module,
    Recorder,
    Unknown,
)

if TYPE_CHECKING:
    from stackctl.core.upstream.static.machine import Machine


def attribute(machine: Machine, owner: Any, name: str) -> Any:
    """`owner.name`."""
    if isinstance(owner, Unknown):
        return Unknown(f"{name} of {owner.why}")
    if isinstance(owner, External):
        whole = f"{owner.name}.{name}"
        return machine.imported(Lazy(whole)) if machine.has_package(whole) else External(whole)
    if isinstance(owner, Module):
        return machine.imported(Lazy(owner.name, name))
    if isinstance(owner, Class):
        return _of_class(machine, owner, name)
    if isinstance(owner, Instance):
        return _of_instance(machine, owner, name)
    if isinstance(owner, Member):
        return {"name": owner.name, "value": owner.value}.get(name, Unknown(f"{name} of a member of {owner.of}"))
    if isinstance(owner, Function):
        if name == "__doc__" and not isinstance(owner.node, ast.Lambda):
            return ast.get_docstring(owner.node)
        return Unknown(f"{name} of a function")
    if isinstance(owner, Field):
        return owner.attribute(name)
    if isinstance(owner, Recorder) or hasattr(owner, name):
        return Method(owner, name)
    return Unknown(f"{name} of {type(owner).__name__}")


def _of_class(machine: Machine, owner: Class, name: str) -> Any:
    if name == "__name__":
        return owner.name
    if name == "__doc__":
        return ast.get_docstring(owner.node)
    found = machine.member(owner, name)
    if found is None and not _has(machine, owner, name):
        return Unknown(f"{owner.name} has no {name} that can be read")
    if isinstance(found, Function):
        return Function(found.node, found.scope, "plain", owner) if found.kind == "class" else found
    for member in members(machine, owner) or ():
        if member.name == name:
            return member
    return found


def _has(machine: Machine, owner: Class, name: str) -> bool:
    return any(name in machine.body(each) for each in machine.line(owner))


def _of_instance(machine: Machine, owner: Instance, name: str) -> Any:
    if name in owner.fields:
        return owner.fields[name]
    found = _of_class(machine, owner.of, name)
    if isinstance(found, Function) and found.bound is None and found.kind in ("plain", "property"):
        method = Function(found.node, found.scope, "plain", owner)
        return machine.run(method, (), {}) if found.kind == "property" else method
    return found
