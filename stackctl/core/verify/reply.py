"""Puts a streamed chat completion together again: recorded chunks in, one `Reply` out.

Tool calls are joined by their index, never by arrival. Nothing is repaired: a missing finish reason stays missing,
an odd event stays odd, and the classifier says what it means.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from stackctl.core.verify.sse import Event, Splitter
from stackctl.core.verify.wire import Stream

DONE = "[DONE]"


@dataclass(frozen=True)
class ReplyCall:
    index: int
    id: str
    name: str
    arguments: str  # raw text, all pieces joined


@dataclass(frozen=True)
class Reply:
    """What one stream said. `progress`: seconds of every event that carried output; `protocol`: broken rules."""

    content: str
    reasoning: str
    calls: tuple[ReplyCall, ...]
    finish: str | None
    usage: Mapping[str, int] | None
    done: bool
    error: str | None
    response_ids: tuple[str, ...]
    protocol: tuple[str, ...]
    progress: tuple[float, ...]

    @property
    def visible(self) -> int:
        """Characters that the model must have produced."""
        return len(self.content) + len(self.reasoning) + sum(len(c.name) + len(c.arguments) for c in self.calls)


def parse(data: str) -> dict[str, Any] | None:
    """The JSON object of an event's data; None when it is something else."""
    try:
        value = json.loads(data)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _first_choice(payload: Mapping[str, Any]) -> Mapping[str, Any]:
    choices = payload.get("choices")
    if isinstance(choices, list) and choices and isinstance(choices[0], dict):
        return choices[0]
    return {}


def _delta(choice: Mapping[str, Any]) -> Mapping[str, Any]:
    delta = choice.get("delta")
    return delta if isinstance(delta, dict) else {}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _has_output(choice: Mapping[str, Any]) -> bool:
    delta = _delta(choice)
    return bool(
        delta.get("content") or delta.get("reasoning_content") or delta.get("reasoning") or delta.get("tool_calls")
    )


def is_progress(event: Event) -> bool:
    """Output or a finish reason. Comments, role events and usage are none: a frozen engine may go on with them."""
    payload = parse(event.data)
    if payload is None:
        return False
    choice = _first_choice(payload)
    return _has_output(choice) or bool(choice.get("finish_reason"))


@dataclass
class _Call:
    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)


@dataclass
class _Reader:
    """State while the events of one stream are read."""

    content: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    calls: dict[int, _Call] = field(default_factory=dict)
    latest: int = -1
    finish: str | None = None
    usage: Mapping[str, int] | None = None
    done: bool = False
    error: str | None = None
    ids: list[str] = field(default_factory=list)
    protocol: list[str] = field(default_factory=list)
    progress: list[float] = field(default_factory=list)

    def event(self, event: Event, at: float) -> None:
        if event.data.strip() == DONE:
            self.done = True
            return
        payload = parse(event.data)
        if event.name == "error" or payload is None or payload.get("error"):
            self.error = self.error or event.data or "an event named error"
            return
        self._ids(payload)
        usage = payload.get("usage")
        if isinstance(usage, dict):
            self.usage = {key: value for key, value in usage.items() if isinstance(value, int)}
        choice = _first_choice(payload)
        if _has_output(choice):
            if self.finish is not None:
                self._broken("after_finish")
            self.progress.append(at)
            self._output(_delta(choice))
        if choice.get("finish_reason"):
            self.progress.append(at)
            self.finish = str(choice["finish_reason"])

    def _ids(self, payload: Mapping[str, Any]) -> None:
        identity = _text(payload.get("id"))
        if identity and identity not in self.ids:
            if self.ids:
                self._broken("id_change")
            self.ids.append(identity)

    def _output(self, delta: Mapping[str, Any]) -> None:
        self.content.append(_text(delta.get("content")))
        self.reasoning.append(_text(delta.get("reasoning_content")) or _text(delta.get("reasoning")))
        pieces = delta.get("tool_calls")
        for position, piece in enumerate(pieces if isinstance(pieces, list) else ()):
            if isinstance(piece, dict):
                self._piece(piece, position)

    def _piece(self, piece: Mapping[str, Any], position: int) -> None:
        index = piece.get("index")
        index = index if isinstance(index, int) else position
        if index < self.latest or index > self.latest + 1:
            self._broken("index")
        self.latest = max(self.latest, index)
        call = self.calls.setdefault(index, _Call())
        function = piece.get("function")
        function = function if isinstance(function, dict) else {}
        call.id = self._settled(call.id, _text(piece.get("id")), "id_change")
        call.name = self._settled(call.name, _text(function.get("name")), "name_change")
        call.arguments.append(_text(function.get("arguments")))

    def _settled(self, old: str, new: str, broken: str) -> str:
        if old and new and old != new:
            self._broken(broken)
        return old or new

    def _broken(self, rule: str) -> None:
        if rule not in self.protocol:
            self.protocol.append(rule)


def read_reply(stream: Stream) -> Reply:
    """Read the recorded chunks of one stream, each event at the time of the chunk that made it whole."""
    reader, splitter = _Reader(), Splitter()
    for at, chunk in stream.chunks:
        for event in splitter.feed(chunk):
            reader.event(event, at)
    # cut in the middle, the last event is a fragment: only a stream that ended by itself has a last event
    if stream.end == "eof":
        for event in splitter.close():
            reader.event(event, stream.end_at)
    return Reply(
        content="".join(reader.content),
        reasoning="".join(reader.reasoning),
        calls=tuple(
            ReplyCall(index, call.id, call.name, "".join(call.arguments))
            for index, call in sorted(reader.calls.items())
        ),
        finish=reader.finish,
        usage=reader.usage,
        done=reader.done,
        error=reader.error,
        response_ids=tuple(reader.ids),
        protocol=tuple(reader.protocol),
        progress=tuple(reader.progress),
    )
