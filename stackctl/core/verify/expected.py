"""A file of prompts with known answers: the second source of cases, for a model whose every answer is known.

JSON: a list of `{id, messages, tools?, max_tokens, expect: {text? | calls: [{name, arguments}], content?, finish,
completion_tokens?}}`. `text` is the whole answer of a prompt without calls, `content` what is said beside calls.
Or a mapping `{format: 1, tools, cases}`, when all cases that offer tools offer the same: there `tools` of a case is
true or false, `calls` may be empty (then `content` is the whole answer), and `group` is for the reader.
Refuses a file with any mistake, and names them all.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from stackctl.core.verify import text as texts
from stackctl.core.verify.cases import Case, body
from stackctl.core.verify.known import Answer, ExpectedCall, Known
from stackctl.errors import InvalidFile, Problem, Where

_KEYS = {"id", "messages", "tools", "max_tokens", "expect"}
_EXPECT_KEYS = {"text", "calls", "content", "finish", "completion_tokens"}
_UNMISTAKABLE = 12  # characters: a shorter answer may well be right for two prompts


def parse(data: bytes, file: str) -> list[dict[str, Any]]:
    """The checked entries. Raises InvalidFile with every mistake."""
    try:
        entries = json.loads(data)
    except ValueError as error:
        line = getattr(error, "lineno", None)
        raise InvalidFile([Problem(f"is no JSON: {error}", Where(file, line))]) from error
    if isinstance(entries, dict) and entries.get("format") == 1 and isinstance(entries.get("cases"), list):
        entries = [_spelled_out(entry, entries.get("tools", [])) for entry in entries["cases"]]
    if not isinstance(entries, list) or not entries:
        raise InvalidFile([Problem("must be a list of cases, and not empty", Where(file))])
    problems = [
        Problem(message, Where(file), key=f"[{n}]") for n, entry in enumerate(entries) for message in _mistakes(entry)
    ]
    ids = [entry.get("id") for entry in entries if isinstance(entry, dict)]
    problems += [Problem(f"two cases have the id {i!r}", Where(file)) for i in {i for i in ids if ids.count(i) > 1}]
    if problems:
        raise InvalidFile(problems, "each case: id, messages, max_tokens, expect: {text or calls, finish}")
    return entries


def _spelled_out(entry: object, tools: object) -> object:
    """A case of the short form, in the long one."""
    if not isinstance(entry, dict) or not isinstance(entry.get("expect"), dict):
        return entry
    expect = dict(entry["expect"])
    content = expect.pop("content", None) or ""
    words = {"content": content} if expect.get("calls") else {"text": content}
    if not expect.get("calls"):
        expect.pop("calls", None)
    kept = {key: value for key, value in entry.items() if key not in ("group", "tools")}
    return {**kept, "tools": tools if entry.get("tools") else [], "expect": {**expect, **words}}


def _mistakes(entry: object) -> list[str]:
    if not isinstance(entry, dict):
        return ["is no mapping"]
    expect = entry.get("expect")
    tests = (
        (isinstance(entry.get("id"), str | int), "id must be a text or a number"),
        (isinstance(entry.get("messages"), list) and entry.get("messages"), "messages must be a list, and not empty"),
        (isinstance(entry.get("tools", []), list), "tools must be a list"),
        (isinstance(entry.get("max_tokens"), int), "max_tokens must be a whole number"),
        (not entry.keys() - _KEYS, f"unknown keys: {', '.join(sorted(entry.keys() - _KEYS))}"),
        (isinstance(expect, dict), "expect must be a mapping"),
    )
    return [message for good, message in tests if not good] + (_expect(expect) if isinstance(expect, dict) else [])


def _expect(expect: Mapping[str, Any]) -> list[str]:
    calls = expect.get("calls", [])
    good_calls = isinstance(calls, list) and all(
        isinstance(c, dict) and isinstance(c.get("name"), str) and isinstance(c.get("arguments"), dict) for c in calls
    )
    tests = (
        (("text" in expect) != ("calls" in expect), "expect needs either text or calls"),
        (isinstance(expect.get("text", ""), str), "expect.text must be a text"),
        (isinstance(expect.get("content", ""), str), "expect.content must be a text"),
        (good_calls, "expect.calls must be a list of {name, arguments}"),
        (isinstance(expect.get("finish"), str), "expect.finish must be a text"),
        (isinstance(expect.get("completion_tokens", 0), int), "expect.completion_tokens must be a whole number"),
        (not expect.keys() - _EXPECT_KEYS, f"unknown keys: {', '.join(sorted(expect.keys() - _EXPECT_KEYS))}"),
    )
    return [f"expect: {m}" if not m.startswith("expect") else m for good, m in tests if not good]


def case(entry: Mapping[str, Any], model: str, request_id: str) -> Case:
    """One request of a checked entry."""
    expect, tools = entry["expect"], tuple(entry.get("tools", ()))
    known = Known(
        id=request_id,
        expected=tuple(ExpectedCall(c["name"], c["arguments"]) for c in expect.get("calls", ())),
        tools=tools,
        max_tokens=entry["max_tokens"],
        case=str(entry["id"]),
        scripts=texts.scripts(json.dumps([entry["messages"], expect], ensure_ascii=False)),
        answer=Answer(expect.get("text", expect.get("content")), expect["finish"], expect.get("completion_tokens")),
    )
    return Case(known, body(model, entry["messages"], entry["max_tokens"], tools), "expected", str(entry["id"]))


def answers(entries: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Answer -> its case, for those that are long enough and belong to one case only: a mix-up shows in them."""
    owners: dict[str, set[str]] = {}
    for entry in entries:
        expect = entry["expect"]
        said = [expect.get("text", ""), expect.get("content", "")]
        said += [json.dumps(call["arguments"], sort_keys=True) for call in expect.get("calls", ())]
        for answer in said:
            if len(answer.strip()) >= _UNMISTAKABLE:
                owners.setdefault(answer.strip(), set()).add(str(entry["id"]))
    return {answer: next(iter(ids)) for answer, ids in owners.items() if len(ids) == 1}
