"""Cuts a server-sent event stream into events: bytes in, whole events out.

Chunk borders mean nothing: they fall inside lines, CRLF pairs and characters, so text is decoded only when an
event is whole. It refuses nothing: what is no field of the format is skipped, as the standard says.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

BOM = b"\xef\xbb\xbf"
_LINE_END = re.compile(rb"\r\n|\n|\r")


@dataclass(frozen=True)
class Event:
    """One event; `data` joins its data lines by LF. An event that names itself but has no data is kept too."""

    data: str
    name: str = ""


class Splitter:
    """Feed it chunks; it answers with the events that became whole. `close` gives the one that was still open."""

    def __init__(self) -> None:
        self._rest = b""
        self._started = False
        self._data: list[bytes] = []
        self._name = b""

    def feed(self, chunk: bytes) -> list[Event]:
        self._rest += chunk
        if not self._started:
            if len(self._rest) < len(BOM) and BOM.startswith(self._rest):
                return []
            self._started = True
            self._rest = self._rest.removeprefix(BOM)
        return self._take_lines(final=False)

    def close(self) -> list[Event]:
        """At the end of the stream: the last line and event count although nothing closed them."""
        if not self._started:
            self._rest = self._rest.removeprefix(BOM)
        events = self._take_lines(final=True)
        if self._rest:
            self._field(self._rest)
            self._rest = b""
        return events + self._dispatch()

    def _take_lines(self, final: bool) -> list[Event]:
        events: list[Event] = []
        position = 0
        for end in _LINE_END.finditer(self._rest):
            # a CR at the very end may be the first half of a CRLF: wait for what follows
            if end.group() == b"\r" and end.end() == len(self._rest) and not final:
                break
            line = self._rest[position : end.start()]
            position = end.end()
            if line:
                self._field(line)
            else:
                events += self._dispatch()
        self._rest = self._rest[position:]
        return events

    def _field(self, line: bytes) -> None:
        name, colon, value = line.partition(b":")
        if colon and not name:
            return  # a comment
        value = value.removeprefix(b" ")
        if name == b"data":
            self._data.append(value)
        elif name == b"event":
            self._name = value

    def _dispatch(self) -> list[Event]:
        data, name = self._data, self._name
        self._data, self._name = [], b""
        if not data and not name:
            return []
        return [Event(b"\n".join(data).decode("utf-8", "replace"), name.decode("utf-8", "replace"))]


def split(data: bytes) -> list[Event]:
    """All events of a whole stream."""
    splitter = Splitter()
    return splitter.feed(data) + splitter.close()
