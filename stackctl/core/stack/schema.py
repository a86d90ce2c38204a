"""Checks a merged stack against the model and says every mistake with its place, key and what was expected.

What is wrong is taken out and the rest is looked at again, so that one wrong type hides nothing behind it: the
caller gets a stack that can be resolved, the problems, and the paths that were taken out.
"""

from __future__ import annotations

import copy
import re
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import BaseModel, ValidationError

from stackctl.core.stack.merge import Merged, did_you_mean, dotted
from stackctl.core.stack.model import StackKeys
from stackctl.core.stack.source import Path
from stackctl.errors import Problem

EXPECTED = {
    "string_type": "text",
    "int_type": "a whole number",
    "bool_type": "true or false",
    "list_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
}


@dataclass(frozen=True)
class Checked:
    keys: StackKeys
    problems: tuple[Problem, ...]
    pruned: tuple[Path, ...]  # paths that are missing from `keys` because they were wrong


def check(merged: Merged) -> Checked:
    """Never raises for a wrong file: the problems are in the answer."""
    value = copy.deepcopy(merged.value)
    problems: list[Problem] = []
    pruned: list[Path] = []
    while True:
        try:
            return Checked(StackKeys.model_validate(value), tuple(problems), tuple(pruned))
        except ValidationError as error:
            before = copy.deepcopy(value)
            for found in error.errors():
                path = _path(merged.value, found["loc"])
                if path not in pruned:  # else it is missing because it was wrong
                    problems.append(_problem(merged, path, found))
                pruned.append(path)
                _prune(value, path[:-1] if found["type"] == "missing" else path)
            if value == before:
                return Checked(StackKeys(), tuple(problems), ((),))


def _path(value: object, loc: Sequence[str | int]) -> Path:
    """pydantic's location without what the file does not have (an index into a role that is one mapping, `[key]`)."""
    path: list[str | int] = []
    for number, step in enumerate(loc):
        if isinstance(value, dict) and (step in value or (number == len(loc) - 1 and step != "[key]")):
            value = value.get(str(step))
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            continue
        path.append(step)
    return tuple(path)


def _prune(value: object, path: Path) -> None:
    """Take a path out. Of a list the whole list goes: its other items would move."""
    holder = value
    for number, step in enumerate(path):
        inner = holder.get(step) if isinstance(holder, dict) else None
        if isinstance(holder, dict) and (number == len(path) - 1 or isinstance(inner, list)):
            holder.pop(str(step), None)
            return
        holder = inner
        if holder is None:
            return
    if isinstance(value, dict) and not path:
        value.clear()


def _problem(merged: Merged, path: Path, found: Mapping[str, typing.Any]) -> Problem:
    kind, given = found["type"], found["input"]
    if kind == "extra_forbidden":
        hint = did_you_mean(str(path[-1]), _fields(path[:-1]))
        return merged.problem(path, "unknown key", hint or _known(path[:-1]))
    if kind == "missing":
        return Problem("is missing", merged.where(path[:-1]), dotted(path))
    message = _expectation(kind, found)
    choices = re.findall(r"'([^']*)'", message) if kind == "literal_error" else []
    if kind in EXPECTED or kind == "literal_error":
        message += f", got {_describe(given)}"
    elif isinstance(given, (str, int)) and not _looks_secret(given):
        message += f", got {given!r}"
    hint = did_you_mean(given, choices) if isinstance(given, str) else None
    return Problem(message, merged.value_where(path), dotted(path) or None, hint or _quotes_hint(kind, given))


def _expectation(kind: str, found: Mapping[str, typing.Any]) -> str:
    context = found.get("ctx") or {}
    match kind:
        case "literal_error":
            return f"expected {context['expected']}"
        case "greater_than_equal":
            return f"expected at least {context['ge']}"
        case "less_than_equal":
            return f"expected at most {context['le']}"
        case "greater_than":
            return f"expected more than {context['gt']}"
        case "too_short":
            return "expected at least one item"
        case _ if kind in EXPECTED:
            return f"expected {EXPECTED[kind]}"
        case _:
            return str(found["msg"])


def _quotes_hint(kind: str, given: object) -> str | None:
    if kind == "int_type" and isinstance(given, str) and re.fullmatch("-?[0-9]+", given):
        return f"write {given} without quotes" if not given.startswith("0") else None
    if kind == "string_type" and isinstance(given, (bool, int)):
        return f'write it in quotes: "{str(given).lower()}"'
    return None


def _describe(value: object) -> str:
    match value:
        case None:
            return "nothing"
        case bool():
            return str(value).lower()
        case int():
            return f"the number {value}"
        case str():
            return "text" if _looks_secret(value) else f"the text {value!r}"
        case list():
            return "a list"
        case _:
            return "a mapping"


def _looks_secret(value: object) -> bool:
    return isinstance(value, str) and (len(value) > 60 or re.match(r"(sk|pk)-|hf_|gh[pousr]_", value) is not None)


def _known(path: Path) -> str | None:
    names = _fields(path)
    return f"known here: {', '.join(sorted(names))}" if names else None


def _fields(path: Path) -> list[str]:
    """The keys that the model knows below this path."""
    kind: object = StackKeys
    for step in path:
        if isinstance(step, int):
            continue
        model = _model_in(kind)
        if model is None:
            return []
        field = next((f for name, f in model.model_fields.items() if (f.alias or name) == step), None)
        kind = field.annotation if field else next(iter(typing.get_args(kind)[1:]), None)
    found = _model_in(kind)
    return [field.alias or name for name, field in found.model_fields.items()] if found else []


def _model_in(kind: object) -> type[BaseModel] | None:
    """The model of an annotation: itself, or inside of a list, a mapping's values or an optional."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return kind
    return next((model for part in typing.get_args(kind) if (model := _model_in(part))), None)
