"""Tables and the history as JSON: what is kept of a tree, and what comes with stackctl.

A text that is not whole, or of another format, is refused with ValueError, so that it is made anew.
"""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from typing import Any, TypeVar

from stackctl.core.upstream.values import EnvVar, Flag, History, Replacement, Span, Upstream

FORMAT = 2  # raise it whenever a table of the same tree would come out another
T = TypeVar("T")


def table_to_json(table: Upstream) -> bytes:
    said = {each.name: getattr(table, each.name) for each in fields(table)}
    said |= {"flags": [_short(one) for one in table.flags], "env": [_short(one) for one in table.env.values()]}
    said["registries"] = {name: list(values) for name, values in table.registries.items()}
    return json.dumps({"format": FORMAT, **said}, indent=0, ensure_ascii=False).encode()


def table_from_json(data: bytes) -> Upstream:
    """Raises ValueError for anything but a whole table of this format."""
    try:
        said = _of_format(data)
        said["flags"] = tuple(_made(Flag, one) for one in said["flags"])
        said["env"] = {one["name"]: _made(EnvVar, one) for one in said["env"]}
        said["registries"] = {name: tuple(values) for name, values in said["registries"].items()}
        return _made(Upstream, said)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"no table: {error}") from error


def history_to_json(history: History) -> bytes:
    """Spans as numbers of the releases: `[[3, 7], [9]]` is the fourth to the seventh, then from the tenth on."""
    at = {version: number for number, version in enumerate(history.versions)}

    def spans(each: tuple[Span, ...]) -> list[list[int]]:
        return [[at[one.first]] if one.gone is None else [at[one.first], at[one.gone]] for one in each]

    said = {
        "format": FORMAT,
        "versions": list(history.versions),
        "flags": {name: spans(each) for name, each in sorted(history.flags.items())},
        "env": {name: spans(each) for name, each in sorted(history.env.items())},
        "choices": {
            flag: {value: spans(each) for value, each in sorted(values.items())}
            for flag, values in sorted(history.choices.items())
        },
        "replacements": {name: _short(one) for name, one in sorted(history.replacements.items())},
    }
    lines = (
        json.dumps(said[key], ensure_ascii=False).replace('], "', '],\n"').replace('}, "', '},\n"') for key in said
    )
    return ("{" + ",\n".join(f'"{key}": {line}' for key, line in zip(said, lines, strict=True)) + "}\n").encode()


def history_from_json(data: bytes) -> History:
    """Raises ValueError when it is not whole."""
    try:
        said = _of_format(data)
        names = said["versions"]

        def spans(each: list[list[int]]) -> tuple[Span, ...]:
            return tuple(Span(names[one[0]], names[one[1]] if len(one) > 1 else None) for one in each)

        return History(
            tuple(names),
            {name: spans(each) for name, each in said["flags"].items()},
            {name: spans(each) for name, each in said["env"].items()},
            {flag: {value: spans(one) for value, one in each.items()} for flag, each in said["choices"].items()},
            {name: _made(Replacement, one) for name, one in said["replacements"].items()},
        )
    except (KeyError, TypeError, AttributeError, IndexError) as error:
        raise ValueError(f"no history: {error}") from error


def _of_format(data: bytes) -> dict[str, Any]:
    said = json.loads(data)
    if not isinstance(said, dict) or said.pop("format", None) != FORMAT:
        raise ValueError("another format")
    return said


def _short(one: Flag | EnvVar | Replacement) -> dict[str, Any]:
    """Without the fields that have their default."""
    usual = {each.name: each.default for each in fields(one)}
    return {name: value for name, value in asdict(one).items() if value != usual[name]}


def _made(kind: type[T], said: dict[str, Any]) -> T:
    lists = {name: tuple(value) if isinstance(value, list) else value for name, value in said.items()}
    return kind(**lists)
