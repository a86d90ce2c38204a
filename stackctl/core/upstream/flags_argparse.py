"""What argparse makes of an `add_argument` (CPython 3.11), without calling it.

Every field of a flag is known or listed as unknown. A choice list that is not known means that nothing is checked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from stackctl.core.upstream.static.binding import defaults
from stackctl.core.upstream.static.machine import Machine
from stackctl.core.upstream.static.records import members
from stackctl.core.upstream.static.values import Added, Class, External, Function, Member, Scope, Unknown, unknown_in
from stackctl.core.upstream.values import Flag

NO_VALUE = {"store_true", "store_false", "store_const", "append_const", "count", "help", "version"}
DEFAULTS = {"store_true": False, "store_false": True}
TYPES = ("int", "float", "str", "bool")
BOTH_WAYS = "BooleanOptionalAction"
DEPRECATED = re.compile(r"\W*deprecated", re.IGNORECASE)
INSTEAD = re.compile(r"\buse\s+(?:the\s+)?[`'\"]?(--[a-z0-9][\w-]*(?:=[^\s`'\").,]+)?)", re.IGNORECASE)


@dataclass
class Reading:
    """One argument on its way: what is asked of it, and what turned out to be unknown, with the reason."""

    machine: Machine
    added: Added
    unknown: dict[str, str] = field(default_factory=dict)

    def get(self, key: str, default: Any = None) -> Any:
        value = self.added.given.get(key, default)
        if "**" in self.added.given and key not in self.added.given:
            value = self.added.given["**"]
        why = unknown_in(value)
        if why is not None:
            self.unknown[key] = why.why
            return default
        return value


def flags_of(machine: Machine, added: list[Added]) -> tuple[tuple[Flag, ...], tuple[str, ...]]:
    """The flags in order, and a sentence for everything that is not known of them."""
    flags, sentences = [], []
    for one in added:
        if not one.names or not all(isinstance(name, str) for name in one.names):
            sentences.append(f"{one.place}: the name of an argument is not known")
        elif one.names[0].startswith("-"):
            reading = Reading(machine, one)
            flags.append(_flag(reading))
            sentences += [
                f"{one.place}: {one.names[0]}: {key} is not known ({why})" for key, why in reading.unknown.items()
            ]
    return tuple(flags), tuple(sentences)


def _flag(reading: Reading) -> Flag:
    action, own = _action(reading)
    names = tuple(_names(reading.added.names, action))
    dest = reading.get("dest") or next((one for one in names if one.startswith("--")), names[0]).lstrip("-")
    help_text = _help(reading)
    deprecated = action.startswith("Deprecated") or DEPRECATED.match(help_text) is not None
    nargs = 0 if action in NO_VALUE or action == BOTH_WAYS else reading.get("nargs", own.get("nargs"))
    choices = _choices(reading, own)
    flag = Flag(
        names=names,
        dest=str(dest).replace("-", "_"),
        nargs=nargs,
        choices=choices,
        default=_text(reading, reading.get("default", own.get("default", DEFAULTS.get(action)))),
        required=reading.get("required", False) is True,
        deprecated=deprecated,
        use=_instead(reading, names, help_text) if deprecated else None,
        type="bool" if nargs == 0 else _type(reading, own),
        action=action,
    )
    if reading.added.maybe:
        reading.unknown["presence"] = "it is added under a condition"
    return Flag(**{**flag.__dict__, "unknown": tuple(reading.unknown)})


def _action(reading: Reading) -> tuple[str, dict[str, Any]]:
    """The name of an action, and what its own constructor gives where the call gives nothing."""
    action = reading.get("action", "store")
    if isinstance(action, str):
        return action, {}
    if isinstance(action, External):
        return action.name.rpartition(".")[2], {}
    if isinstance(action, Class):
        return action.name, _constructor(reading.machine, action)
    reading.unknown["action"] = "it is none that can be read"
    reading.unknown.setdefault("nargs", "its action is not known")
    return "store", {}


def _constructor(machine: Machine, action: Class) -> dict[str, Any]:
    start = machine.member(action, "__init__")
    if not isinstance(start, Function):
        return {}
    scope = Scope(start.scope.module, {}, start.scope)
    return {name: machine.value(node, scope) for name, node in defaults(start.node.args) if node is not None}


def _names(names: tuple[str, ...], action: str) -> Iterator[str]:
    for name in names:
        yield name
        if action == BOTH_WAYS and name.startswith("--"):
            yield f"--no-{name[2:]}"


def _choices(reading: Reading, own: dict[str, Any]) -> tuple[str, ...] | None:
    given = reading.get("choices", own.get("choices"))
    if isinstance(given, Class):
        given = members(reading.machine, given) or given
    if given is None:
        return None
    if isinstance(given, list | tuple | dict | range):
        return tuple(str(one) for one in given)
    reading.unknown["choices"] = "they are no list that can be read"
    return None


def _text(reading: Reading, value: Any) -> str:
    """`str()` of a default, as `parser.get_default` would give it."""
    if isinstance(value, External):
        return value.name.rpartition(".")[2] if value.name.startswith("argparse.") else _lost(reading, value.name)
    if isinstance(value, str | int | float | list | tuple | dict | Member | None):
        return str(value)
    return _lost(reading, "it is an object")


def _lost(reading: Reading, why: str) -> str:
    reading.unknown["default"] = why
    return "None"


def _type(reading: Reading, own: dict[str, Any]) -> str | None:
    given = reading.get("type", own.get("type"))
    if given is None:
        return "str"
    name = given.name if isinstance(given, External) else ""
    return name if name in TYPES else None


def _help(reading: Reading) -> str:
    """As much of the help as is certain, which is its beginning."""
    given = reading.added.given.get("help")
    if isinstance(given, Unknown):
        if not given.begins:
            reading.unknown["deprecated"] = given.why
        return given.begins
    return given if isinstance(given, str) else ""


def _instead(reading: Reading, names: tuple[str, ...], help_text: str) -> str | None:
    new = reading.get("new_flag")
    if isinstance(new, str):
        return new
    found = INSTEAD.search(help_text)
    return found.group(1) if found and found.group(1) not in names else None
