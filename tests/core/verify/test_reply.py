"""Streams put together again: by index, never by arrival; broken rules are noted, nothing is repaired."""

from __future__ import annotations

import json
from typing import Any

import pytest

from stackctl.core.verify.reply import Reply, is_progress, read_reply
from stackctl.core.verify.sse import Event
from stackctl.core.verify.wire import Stream


def read(*payloads: Any, done: bool = True) -> Reply:
    lines = [p if isinstance(p, str) else json.dumps(p) for p in payloads] + (["[DONE]"] if done else [])
    chunks = tuple((float(n), f"data: {line}\n\n".encode()) for n, line in enumerate(lines))
    return read_reply(Stream("x", 200, {}, 0.0, chunks, "eof", float(len(lines))))


def delta(finish: str | None = None, identity: str = "r", **fields: Any) -> dict[str, Any]:
    return {"id": identity, "choices": [{"index": 0, "delta": fields, "finish_reason": finish}]}


def piece(index: int, arguments: str = "", name: str | None = None, identity: str | None = None) -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    return delta(tool_calls=[{"index": index, "id": identity, "function": function}])


def test_calls_are_joined_by_index() -> None:
    reply = read(piece(0, name="a"), piece(0, '{"x"'), piece(1, name="b"), piece(1, "{}"), delta("tool_calls"))
    assert [(c.name, c.arguments) for c in reply.calls] == [("a", '{"x"'), ("b", "{}")]
    assert reply.protocol == () and reply.done and reply.finish == "tool_calls"


@pytest.mark.parametrize(
    ("payloads", "rule"),
    [
        ([piece(1, name="a")], "index"),
        ([piece(0, name="a"), piece(2, name="b")], "index"),
        ([piece(0, name="a"), piece(1, name="b"), piece(0, "{}")], "index"),
        ([piece(0, name="a"), piece(0, name="b")], "name_change"),
        ([piece(0, name="a", identity="call_1"), piece(0, identity="call_2")], "id_change"),
        ([delta(content="x"), delta(identity="s", content="y")], "id_change"),
        ([delta("stop"), delta(content="late")], "after_finish"),
    ],
)
def test_broken_rules(payloads: list[dict[str, Any]], rule: str) -> None:
    assert read(*payloads).protocol == (rule,)


def test_errors_inside_a_stream() -> None:
    for payload in ("{'error': 1}", '{"error": {"message": "x"}}', "[1]"):
        assert read(delta(content="a"), payload).error == payload
    named = read_reply(Stream("x", 200, {}, 0.0, ((0.1, b"event: error\ndata: {}\n\n"),), "eof", 1.0))
    assert named.error


def test_what_progress_is() -> None:
    progress = [delta(content="a"), delta(reasoning_content="a"), delta(reasoning="a"), piece(0), delta("stop")]
    none = [delta(role="assistant", content=""), {"choices": [], "usage": {"total_tokens": 4}}, {"choices": [{}]}]
    assert [is_progress(Event(json.dumps(p))) for p in progress] == [True] * 5
    assert [is_progress(Event(json.dumps(p))) for p in none] == [False] * 3
    assert not is_progress(Event("[DONE]"))
    assert read(*none, *progress).progress == (3.0, 4.0, 5.0, 6.0, 7.0)


def test_a_cut_stream_has_no_last_event() -> None:
    chunks = ((0.1, b'data: {"choices": [{"delta": {"con'),)
    assert read_reply(Stream("x", 200, {}, 0.0, chunks, "reset", 1.0)).error is None
    assert read_reply(Stream("x", 200, {}, 0.0, chunks, "eof", 1.0)).error


def test_odd_shapes_do_no_harm() -> None:
    odd = [
        {"choices": None}, {"choices": [7]}, {"choices": [{"delta": None}]}, {"choices": [{"delta": {"content": 7}}]},
        {"choices": [{"delta": {"tool_calls": "x"}}]}, {"choices": [{"delta": {"tool_calls": [None, {"index": "x"}]}}]},
        {"id": 4, "usage": {"prompt_tokens": None}}, delta(tool_calls=[{"index": 0, "function": None}]),
    ]  # fmt: skip
    reply = read(*odd)
    assert reply.content == "" and reply.error is None
