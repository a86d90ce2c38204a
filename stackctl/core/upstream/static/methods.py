"""Methods of plain values and of a parser that is written down."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from stackctl.core.upstream.static.limits import LARGEST, LETTERS
from stackctl.core.upstream.static.values import Added, Distinct, Method, Recorder, Unknown, unknown_in

MUTATORS = {
    "append", "extend", "insert", "remove", "pop", "clear", "update", "add", "discard", "setdefault", "sort", "reverse",
}  # fmt: skip
OF_TEXT = {
    "lower", "upper", "strip", "lstrip", "rstrip", "split", "replace", "startswith", "endswith", "join", "title",
    "removeprefix", "removesuffix", "capitalize", "format", "rpartition", "partition",
}  # fmt: skip
OF_LIST = {"append", "extend", "insert", "remove", "pop", "copy", "index", "count", "sort", "reverse", "clear"}
OF_DICT = {"keys", "values", "items", "get", "update", "copy", "pop", "setdefault", "clear"}
OF_SET = {"add", "update", "union", "discard", "remove", "copy", "difference", "intersection"}
SAME_PARSER = ("add_argument_group", "add_mutually_exclusive_group")
FILLED_OTHERWISE = re.compile(r"\{[^{}]*[^{}\w]")  # an attribute, an element, a width
UNSEEN = ("set_defaults", "add_subparsers", "register")


def invoke(method: Method, arguments: Sequence[Any], named: Mapping[str, Any], place: str) -> Any:
    """The result of a method of a plain value; mutators change the value itself."""
    owner, name = method.owner, method.name
    if isinstance(owner, Recorder):
        return _recorded(owner, name, arguments, named, place)
    if isinstance(owner, Distinct):
        return _of_set(owner, name, arguments)
    if isinstance(owner, list) and name in OF_LIST:
        return _of_list(owner, name, arguments)
    if isinstance(owner, str) and not _is_plain_text(owner, name, arguments, named):
        return Unknown(f"the method {name} of a text")
    for kind, allowed in ((str, OF_TEXT), (dict, OF_DICT), (tuple, {"index", "count"})):
        if isinstance(owner, kind) and name in allowed:
            return _tried(getattr(owner, name), arguments, named)
    return Unknown(f"the method {name}")


def _is_plain_text(owner: str, name: str, arguments: Sequence[Any], named: Mapping[str, Any]) -> bool:
    """Not what fills in more than a value's own text, or makes a text far longer than what it is made of."""
    if name == "format":
        filled = all(isinstance(one, str | int | float) for one in (*arguments, *named.values()))
        return filled and not FILLED_OTHERWISE.search(owner)
    if name in ("join", "replace"):
        last = arguments[-1] if arguments else ""
        times = len(last) if isinstance(last, str | list | tuple | dict) else 1
        return (len(owner) + 1) * times <= LARGEST * LETTERS
    return True


def _tried(action: Callable[..., Any], arguments: Sequence[Any], named: Mapping[str, Any]) -> Any:
    if any(isinstance(one, Unknown) for one in arguments):
        return Unknown("a method with an unknown argument")
    try:
        found = action(*arguments, **named)
    except (TypeError, ValueError, LookupError):
        return Unknown("a method that fails")
    return found if isinstance(found, str | int | float | bool | list | tuple | dict | None) else list(found)


def _of_list(owner: list[Any], name: str, arguments: Sequence[Any]) -> Any:
    if name == "append" and len(arguments) == 1:
        owner.append(arguments[0])
        return None
    if name == "extend" and len(arguments) == 1:
        added = arguments[0]
        owner.extend(added if isinstance(added, list | tuple | dict) else [Unknown("an unknown list, added")])
        return None
    return _tried(getattr(owner, name), arguments, {})


def _of_set(owner: Distinct, name: str, arguments: Sequence[Any]) -> Any:
    if name not in OF_SET:
        return Unknown(f"the method {name} of a set")
    if name == "copy":
        return Distinct(owner)
    if name == "add":
        for one in arguments:
            owner.add(one)
        return None
    if name in ("discard", "remove"):
        owner[:] = [one for one in owner if one not in arguments]
        return None
    items = [
        item for one in arguments for item in (one if isinstance(one, list | tuple | dict) else [Unknown("a set")])
    ]
    if name == "update":
        for one in items:
            owner.add(one)
        return None
    if name == "union":
        return Distinct.of([*owner, *items])
    if unknown_in(items):
        return Unknown("a set that is not known")
    return owner.without(items, keeps=name == "intersection")


def _recorded(owner: Recorder, name: str, arguments: Sequence[Any], named: Mapping[str, Any], place: str) -> Any:
    if name == "add_argument":
        owner.added.append(Added(tuple(arguments), dict(named), place))
        return Unknown("an argument of a parser")
    if name in SAME_PARSER:
        return owner
    if name in UNSEEN:
        owner.lost.append(f"{place}: what {name} does to the parser is not followed")
    return Unknown(f"{name} of a parser")
