"""Fields of a record with annotations (`name: A[type, Arg(…)] = default`) as the arguments that are made of them.

It copies what sglang's `add_cli_args_from_dataclass` does, rule by rule. A field without such an annotation is none of
the command line.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any

from stackctl.core.upstream.static.machine import Machine
from stackctl.core.upstream.static.records import fields_of
from stackctl.core.upstream.static.values import (
    MISSING,
    Added,
    Class,
    External,
    Field,
    Generic,
    Instance,
    Recorder,
    Unknown,
)

ADDER = "add_cli_args_from_dataclass"
PLAIN = ("str", "int", "float")
UNIONS = ("typing.Optional", "typing.Union")
KEPT = ("choices", "nargs", "const")


def add_fields(machine: Machine, arguments: Sequence[Any], named: Mapping[str, Any], place: str) -> None:
    """`add_cli_args_from_dataclass(parser, cls, fields=None)`, an intrinsic of the machine."""
    parser = arguments[0] if arguments else named.get("parser")
    record = arguments[1] if len(arguments) > 1 else named.get("cls")
    only = named.get("fields")
    if not isinstance(parser, Recorder):
        return
    if not isinstance(record, Class) or not isinstance(only, list | tuple | type(None)):
        parser.lost.append(f"{place}: the fields that are added to the parser are not known")
        return
    for field in fields_of(machine, record):
        if only is None or field.name in only:
            parser.added += _arguments(machine, field)


def is_annotated(machine: Machine, record: Class) -> bool:
    """Whether any field of the record makes an argument."""
    return any(_arguments(machine, field) for field in fields_of(machine, record))


def _arguments(machine: Machine, field: Field) -> list[Added]:
    node = field.annotation
    place = f"{field.scope.module.path}:{node.lineno}"
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        try:
            node = ast.parse(node.value, mode="eval").body
        except SyntaxError:
            return []
    annotation = machine.value(node, field.scope)
    if not isinstance(annotation, Generic) or not annotation.base.endswith("Annotated"):
        return []
    kind, *notes = annotation.args
    said = _said(machine, notes)
    if said is None or said.get("no_cli") is True:
        return []
    name = said.get("cli_name") or "--" + field.name.replace("_", "-")
    aliases = said.get("aliases") or []
    names = (name, *aliases) if isinstance(aliases, list | tuple) else (name, Unknown("the aliases"))
    given = _given(kind, said, field.default, dest=field.name)
    return [Added(names, {**given, "dest": field.name, "help": said.get("help", "")}, place)]


def _said(machine: Machine, notes: Sequence[Any]) -> dict[str, Any] | None:
    """What the first note of an annotation says: a text is the help; None when there is none."""
    for note in notes:
        if isinstance(note, str):
            return {"help": note}
        if isinstance(note, Unknown):
            return {"help": note}
        if isinstance(note, Instance) and note.of.name == "Arg":
            return {**{field.name: field.default for field in fields_of(machine, note.of)}, **note.fields}
    return None


def _given(kind: Any, said: Mapping[str, Any], default: Any, *, dest: str) -> dict[str, Any]:
    """The keywords of `add_argument`."""
    given: dict[str, Any] = {} if default is MISSING else {"default": default}
    if said.get("action") is not None:
        extra = said.get("action_kwargs") or {}
        return {"action": said["action"], **given, **(extra if isinstance(extra, dict) else {"**": extra})}
    inner = _unwrapped(kind)
    if isinstance(inner, Generic) and inner.base.endswith("Literal"):
        first = inner.args[0] if inner.args else ""
        chosen = {"choices": said.get("choices") or list(inner.args)}
        return {**given, **chosen, "type": said.get("type_parser") or _converter(External(type(first).__name__))}
    if _is_list(inner) and said.get("type_parser") is None:
        element = inner.args[0] if isinstance(inner, Generic) else External("str")
        listed = {key: said[key] for key in ("choices",) if said.get(key)}
        return {**given, **listed, "type": _converter(element), "nargs": said.get("nargs") or "+"}
    if inner == External("bool"):
        return {**given, "action": "store_true"}
    given["type"] = said.get("type_parser") or _converter(inner)
    given |= {key: said[key] for key in KEPT if said.get(key)}
    if said.get("required") is True or (said.get("required") is None and default is MISSING):
        given["required"] = True
    return given


def _unwrapped(kind: Any) -> Any:
    """`Optional[X]` is X; a union of more is itself."""
    if isinstance(kind, Generic) and kind.base in UNIONS:
        others = [one for one in kind.args if one is not None]
        if len(others) == 1 and (len(others) < len(kind.args) or kind.base == UNIONS[0]):
            return others[0]
    return kind


def _is_list(kind: Any) -> bool:
    lists = ("list", "typing.List")
    return (isinstance(kind, Generic) and kind.base in lists) or (
        isinstance(kind, External) and kind.name == "typing.List"
    )


def _converter(kind: Any) -> Any:
    if isinstance(kind, Unknown):
        return kind
    return kind if isinstance(kind, External) and kind.name in PLAIN else External("str")
