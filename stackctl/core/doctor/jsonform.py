"""Values of this package from and to JSON: a saved look must be readable by the next version.

Unknown keys are dropped and missing ones get their defaults; a value of another type raises ValueError with its place.
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import asdict, fields, is_dataclass
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from stackctl.core.doctor.values import Facts

FORMAT = 1
T = TypeVar("T")


def facts_to_json(facts: Facts) -> dict[str, Any]:
    return {"format": FORMAT, **asdict(facts)}


def facts_from_json(value: object) -> Facts | None:
    """None when it is no look of this format. Raises ValueError when it is one, and not whole."""
    if not isinstance(value, Mapping) or value.get("format") != FORMAT:
        return None
    return read(Facts, value)


def read(kind: type[T], value: object, place: str = "") -> T:
    """A dataclass of plain values out of what json.loads gives."""
    if not isinstance(value, Mapping):
        raise ValueError(f"{place or kind.__name__} is no object")
    hints = get_type_hints(kind)
    known = {one.name: value[one.name] for one in fields(kind) if one.name in value}  # type: ignore[arg-type]
    given = {name: _value(hints[name], item, f"{place}.{name}".strip(".")) for name, item in known.items()}
    try:
        return kind(**given)
    except TypeError as error:
        raise ValueError(f"{place or kind.__name__}: {error}") from error


def _value(kind: Any, value: object, place: str) -> Any:
    origin, args = get_origin(kind), get_args(kind)
    if origin in (types.UnionType, Union):
        return None if value is None else _value(next(arg for arg in args if arg is not type(None)), value, place)
    if origin is tuple:
        items = _is(value, (list, tuple), place)
        return tuple(_value(args[0], item, f"{place}[{number}]") for number, item in enumerate(items))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        pairs = _is(value, Mapping, place)
        return {str(key): _value(args[1], item, f"{place}.{key}") for key, item in pairs.items()}
    if origin is Literal:
        return value
    if isinstance(kind, type) and is_dataclass(kind):
        return read(kind, value, place)
    return _scalar(kind, value, place)


def _scalar(kind: type, value: object, place: str) -> Any:
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if kind is int and isinstance(value, bool):
        raise ValueError(f"{place} is no number")
    return _is(value, kind, place)


def _is(value: object, kind: Any, place: str) -> Any:
    if not isinstance(value, kind):
        raise ValueError(f"{place} is {type(value).__name__}")
    return value
