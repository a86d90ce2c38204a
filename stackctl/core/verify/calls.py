"""Judges the tool calls of a reply against those that had to come: name, schema, nonce, every other argument.

A wrong or unknown tool is not checked further, a schema violation hides `wrong_args` but not `nonce`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from jsonschema import Draft202012Validator

from stackctl.core.verify import text as texts
from stackctl.core.verify.known import ExpectedCall, Known
from stackctl.core.verify.reply import Reply, ReplyCall

MISSING = object()


class Found(NamedTuple):
    """A finding before its verdict; `mark`: the place in `quote` to point at."""

    cls: str
    where: str | None
    sub: str | None
    detail: str
    quote: str = ""
    mark: tuple[int, int] | None = None


def leaves(value: object) -> Iterator[str]:
    """Every string of a JSON value, keys too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from leaves(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from leaves(inner)


def parsed(call: ReplyCall) -> dict[str, Any] | None:
    """The arguments as an object; None when they are none."""
    try:
        value = texts.strict_json(call.arguments)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def pointed(value: object, pointer: str) -> object:
    """What a JSON pointer (without escapes) names, or MISSING."""
    for part in pointer.strip("/").split("/"):
        if isinstance(value, dict) and part in value:
            value = value[part]
        elif isinstance(value, list) and part.isdigit() and int(part) < len(value):
            value = value[int(part)]
        else:
            return MISSING
    return value


def same(a: object, b: object) -> bool:
    """Equal as JSON: 1 and 1.0 are, 1 and true are not."""
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b


def names(reply: Reply, known: Known) -> Iterator[Found]:
    """Unknown and wrong tools: said outright, so they count in an interrupted stream too."""
    for call, expected in zip(reply.calls, known.expected, strict=False):
        if not call.name or call.name == expected.name:
            continue
        cls = "wrong_tool" if known.tool(call.name) else "unknown_tool"
        yield Found(cls, "name", None, f"expected {expected.name}, got {call.name!r}")


def arguments(reply: Reply, known: Known, cut: bool) -> Iterator[Found]:
    """Faults inside the arguments; `cut`: an honest length limit, so broken JSON says nothing."""
    for call, expected in zip(reply.calls, known.expected, strict=False):
        if call.name != expected.name:
            continue
        value = parsed(call)
        if value is not None:
            yield from _compared(value, expected, known)
        elif not cut:
            sub = "truncated" if texts.is_cut_object(call.arguments) else "garbled"
            end = len(call.arguments)
            quote, mark = texts.quote(call.arguments, max(0, end - 1), end, 40)
            yield Found("json_broken", "arguments", sub, "no JSON object", quote, mark if sub == "truncated" else None)


def _compared(value: dict[str, Any], expected: ExpectedCall, known: Known) -> Iterator[Found]:
    violation = _violation(value, expected.name, known)
    if violation:
        yield Found("schema", "arguments", None, violation)
    has_nonce = known.nonce is not None and pointed(expected.arguments, known.nonce_at) == known.nonce
    if has_nonce and known.nonce is not None:
        got = pointed(value, known.nonce_at)
        if got is not MISSING and got != known.nonce:
            yield _nonce(got, known.nonce)
    if violation:
        return
    wanted, had = dict(expected.arguments), dict(value)
    top = known.nonce_at.strip("/").partition("/")[0]
    if has_nonce and top in had:
        wanted.pop(top, None)
        had.pop(top, None)
    if not same(wanted, had):
        yield Found("wrong_args", "arguments", None, f"expected {_short(wanted)}, got {_short(had)}")


def _violation(value: dict[str, Any], name: str, known: Known) -> str | None:
    tool = known.tool(name)
    schema: Mapping[str, Any] = (tool or {}).get("function", {}).get("parameters") or {}
    for error in Draft202012Validator(dict(schema)).iter_errors(value):
        return str(error.message)
    extra = sorted(value.keys() - schema.get("properties", value).keys())
    return f"properties that the tool does not have: {', '.join(extra)}" if extra else None


def _nonce(got: object, nonce: str) -> Found:
    text = got if isinstance(got, str) else json.dumps(got)
    first = next((n for n, (a, b) in enumerate(zip(text, nonce, strict=False)) if a != b), min(len(text), len(nonce)))
    quote, mark = texts.quote(text, first, min(first + 1, len(text)), 24)
    return Found("nonce", "arguments", _nonce_sub(got, nonce), f"expected {nonce}", quote, mark)


def _nonce_sub(got: object, nonce: str) -> str:
    if not isinstance(got, str):
        return "foreign"
    tests: tuple[tuple[str, Callable[[str], bool]], ...] = (
        ("whitespace", lambda text: text.strip() == nonce),
        ("near", lambda text: texts.distance(text, nonce, 2) <= 2),
        ("embedded", lambda text: nonce in text),
    )
    return next((sub for sub, test in tests if test(got)), "foreign")


def number_of_calls(reply: Reply, known: Known) -> Iterator[Found]:
    """Too few or too many calls."""
    wanted, got = len(known.expected), len(reply.calls)
    text_wanted = bool(known.answer and known.answer.content)
    if not got and not reply.content.strip() and not reply.reasoning.strip() and (wanted or text_wanted):
        yield Found("empty", None, None, "no call, no text" + (f", finish {reply.finish}" if reply.finish else ""))
    elif got < wanted:
        yield Found("missing_call", None, None, f"{got} of {wanted} calls; text: {_short(reply.content)}")
    earlier = [_identity(call) for call in reply.calls[:wanted]]
    for call in reply.calls[wanted:]:
        cls = "dup_call" if _identity(call) in earlier else "extra_call"
        earlier.append(_identity(call))
        yield Found(cls, None, None, f"{call.name}({_short(call.arguments)})")


def _identity(call: ReplyCall) -> tuple[str, str]:
    return call.name, canonical(call)


def canonical(call: ReplyCall) -> str:
    """The arguments in one spelling of JSON; as they came when they are none."""
    value = parsed(call)
    return json.dumps(value, sort_keys=True) if value is not None else call.arguments


def _short(value: object, limit: int = 120) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = texts.quote(text, 0, min(len(text), limit), 0)[0]
    return repr(text) if isinstance(value, str) else text
