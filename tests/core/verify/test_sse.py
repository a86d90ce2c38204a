"""The event splitter: however the bytes are cut, the events are the same."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackctl.core.verify.sse import Event, Splitter, split

LINES = st.sampled_from(
    ["data: x", "data:y", "data", "data:  z", ": comment", "event: error", "event:", "id: 4", "retry: 9", "odd", "",
     "data: é｜▁", "data: 😀"]
)  # fmt: skip
ENDS = st.sampled_from(["\n", "\r", "\r\n"])


@st.composite
def wires(draw: st.DrawFn) -> bytes:
    lines = draw(st.lists(st.tuples(LINES, ENDS), max_size=12))
    start = draw(st.sampled_from(["", "\ufeff"]))
    return (start + "".join(line + end for line, end in lines) + draw(LINES)).encode()


def fed(pieces: list[bytes]) -> list[Event]:
    splitter = Splitter()
    return [event for piece in pieces for event in splitter.feed(piece)] + splitter.close()


@given(wires() | st.binary(max_size=40), st.data())
def test_any_split_equals_the_whole(wire: bytes, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(wire)), max_size=20)))
    pieces = [wire[a:b] for a, b in zip([0, *cuts], [*cuts, len(wire)], strict=True)]
    assert fed(pieces) == split(wire)


@given(wires())
def test_byte_by_byte_equals_the_whole(wire: bytes) -> None:
    assert fed([wire[i : i + 1] for i in range(len(wire))]) == split(wire)


@given(wires(), st.sampled_from(["\r", "\r\n"]))
def test_kinds_of_line_ends_do_not_matter(wire: bytes, end: str) -> None:
    plain = wire.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    assert split(plain.replace(b"\n", end.encode())) == split(plain)


@pytest.mark.parametrize(
    ("wire", "events"),
    [
        (b"", []),
        (b"data: a\n\n", [Event("a")]),
        (b"data: a\ndata: b\n\n", [Event("a\nb")]),
        (b"\xef\xbb\xbfdata: a\n\n", [Event("a")]),
        (b"\xef\xbb", []),
        (b"data: open", [Event("open")]),
        (b"event: error\n\n", [Event("", "error")]),
        (b"event: error\ndata: {}\n\ndata: next\n\n", [Event("{}", "error"), Event("next")]),
        (b": only a comment\n\n", []),
        (b"data\n\n", [Event("")]),
        (b"data:  two blanks\n\n", [Event(" two blanks")]),
        (b"data: \xff\n\n", [Event("\ufffd")]),
        (b"data: a\r\rdata: b\r\r", [Event("a"), Event("b")]),
    ],
)
def test_what_the_format_says(wire: bytes, events: list[Event]) -> None:
    assert split(wire) == events


def test_an_event_comes_out_as_soon_as_it_is_whole() -> None:
    splitter = Splitter()
    assert splitter.feed(b"data: a\n") == []
    assert splitter.feed(b"\n") == [Event("a")]
    assert splitter.feed(b"data: b\r\n\r") == []  # the CR may be half of a CRLF
    assert splitter.feed(b"\n") == [Event("b")]
