"""Classes that hold values: fields of dataclasses and structs, members of enums."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from stackctl.core.upstream.static.values import MISSING, Class, Field, Function, Member, Scope, Unknown, dotted

if TYPE_CHECKING:
    from stackctl.core.upstream.static.machine import Machine

ENUMS = {"enum.Enum", "enum.IntEnum", "enum.StrEnum", "enum.Flag", "enum.IntFlag"}
NAMESPACES = "_INPUT_NAMESPACES"  # the classes whose fields make up ServerArgs
ORDER = "POSITIONAL_FIELD_ORDER"


def fields_of(machine: Machine, one: Class) -> tuple[Field, ...]:
    """The fields of a record in the order of its constructor; a field that is declared twice keeps its first place."""
    found: dict[str, Field] = {}
    for each in (*reversed(machine.line(one)), *_namespaces(machine, one)):
        found.update({field.name: field for field in _own(machine, each)})
    if not machine.spend(len(found)):
        return ()
    order = _order(machine, one) if _namespaces(machine, one) else ()
    first = [found[name] for name in order if name in found]
    return (*first, *(field for name, field in found.items() if name not in order))


def _own(machine: Machine, one: Class) -> Iterator[Field]:
    body = machine.body(one)
    scope = Scope(one.scope.module, body, one.scope, of_class=True)
    for node in one.node.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and not _is_class_variable(node):
            name = node.target.id
            yield Field(name, node.annotation, body.get(name, MISSING) if node.value else MISSING, scope)


def _is_class_variable(node: ast.AnnAssign) -> bool:
    kind = node.annotation.value if isinstance(node.annotation, ast.Subscript) else node.annotation
    return dotted(kind) in ("ClassVar", "typing.ClassVar")


def _namespaces(machine: Machine, one: Class) -> tuple[Class, ...]:
    """Where a class is made of others after its body, in the same module."""
    module = one.scope.module
    if one.name != "ServerArgs" or NAMESPACES not in module.names:
        return ()
    listed = machine.settled(module.names, NAMESPACES)
    return tuple(each for each in listed if isinstance(each, Class)) if isinstance(listed, list | tuple) else ()


def _order(machine: Machine, one: Class) -> tuple[str, ...]:
    """Field names in the order that the constructor has kept; empty when the tree keeps none."""
    package = one.scope.module.name.rpartition(".")[0]
    module = machine.module(f"{package}.arg_groups.field_order")
    listed = machine.settled(module.names, ORDER) if module and ORDER in module.names else ()
    return tuple(name for name in listed if isinstance(name, str)) if isinstance(listed, list | tuple) else ()


def is_enum(machine: Machine, one: Class) -> bool:
    return bool(ENUMS & set(machine.outside(one)))


def members(machine: Machine, one: Class) -> list[Any] | None:
    """The members of an enum in order; None when it is none."""
    if not is_enum(machine, one):
        return None
    found: list[Any] = []
    for each in reversed(machine.line(one)):
        machine.spend(len(machine.body(each)))
        for name, value in machine.body(each).items():
            if not name.startswith("_") and not isinstance(value, Function):
                plain = value if not isinstance(value, Unknown) else Unknown(f"the value of {one.name}.{name}")
                found.append(Member(one.name, name, plain))
    return found
