"""The items of one YAML list as pieces of its text, and how they are added, taken out and moved there.

It changes text and knows no YAML beyond the list in hand; edit.py finds the list and proves the result. A block list
has one item a line; a flow list has its items in one line, or one a line as well. Lines of comments stay where they
are; what stands behind an item in its line goes with it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

BREAK = re.compile("\r\n|[\n\r\x85\u2028\u2029]")  # what ends a line for YAML
COMMA = re.compile(r"[ \t]*,")
ENDS_LINE = re.compile(r"[ \t]*(?:[ \t]#.*)?$")  # a rest of a line that holds nothing more
DASH = re.compile(r"[ \t]*-[ \t]+$")


def line_start(text: str, at: int) -> int:
    return max((match.end() for match in BREAK.finditer(text, 0, at)), default=0)


def line_end(text: str, at: int) -> int:
    """Before the break."""
    match = BREAK.search(text, at)
    return match.start() if match else len(text)


def newline_of(text: str) -> str:
    match = BREAK.search(text)
    return match[0] if match else "\n"


@dataclass(eq=False)
class Item:
    """`start` and `end` are the text of the name itself, with its quotes."""

    name: str
    start: int
    end: int


class OddForm(Exception):
    """The list is written in a way that no line of it can be changed alone."""


@dataclass
class Rows:
    """A list in `text`. `colon` is the end of its key's colon, `indent` that of new rows if it has none yet.

    `opened` is the end of the `[` of a flow list; None for a block list, or where no value is written.
    """

    text: str
    items: list[Item]
    colon: int
    opened: int | None = None
    indent: str | None = "  "  # None: the key itself stands inside of `{}`
    _newline: str = field(init=False)

    def __post_init__(self) -> None:
        self._newline = newline_of(self.text)

    @property
    def names(self) -> list[str]:
        return [item.name for item in self.items]

    def add(self, word: str, name: str, *, after: Item | None = None, before: Item | None = None) -> Item:
        """`word` is `name` as YAML writes it. Without a neighbour it goes to the end."""
        return self._add(word, name, "", after, before)

    def move(self, item: Item, *, after: Item | None = None, before: Item | None = None) -> Item:
        word = self.text[item.start : item.end]
        tail = self.remove(item)
        return self._add(word, item.name, tail, after, before)

    def remove(self, item: Item) -> str:
        """Take an item out; what followed it in its line, if that went too."""
        place = self.items.index(item)
        self.items.remove(item)
        comma = COMMA.match(self.text, item.end) if self.opened is not None else None
        behind = comma.end() if comma else item.end
        tail = self.text[behind : line_end(self.text, item.end)]
        if self.opened is None or (self._leads(item) and ENDS_LINE.match(tail)):
            self._drop_line(item)
            if self.opened is None and not self.items:
                self._splice(self.colon, self.colon, " []")
                self.opened = self.colon + 2
            return tail
        self._drop_word(item, place, comma)
        return ""

    def _drop_word(self, item: Item, place: int, comma: re.Match[str] | None) -> None:
        start, end = item.start, item.end
        before = self.items[place - 1].end if place else start
        joined = bool(place and COMMA.fullmatch(self.text[before:start].rstrip(" \t")))
        if joined and (comma is None or place == len(self.items)):
            start = before  # the last one: its comma, if it has one, now ends the list
        elif comma:
            end = line_end(self.text, comma.end())
            end -= len(self.text[comma.end() : end].lstrip(" \t"))
        self._splice(start, end, "")

    def _drop_line(self, item: Item) -> None:
        start, end = line_start(self.text, item.start), line_end(self.text, item.end)
        after = BREAK.match(self.text, end)
        if after:
            end = after.end()
        elif start:  # the last line, without an end: the one above takes its place
            start -= 2 if self.text[:start].endswith("\r\n") else 1
        self._splice(start, end, "")

    def _add(self, word: str, name: str, tail: str, after: Item | None, before: Item | None) -> Item:
        if after is None and before is None and self.items:
            after = self.items[-1]
        place = self.items.index(before) if before else self.items.index(after) + 1 if after else 0
        if before is not None:
            at = self._before(before, word, tail)
        elif after is not None:
            at = self._after(after, word, tail)
        else:
            at = self._first(word)
        item = Item(name, at, at + len(word))
        self.items.insert(place, item)
        return item

    def _after(self, item: Item, word: str, tail: str) -> int:
        if self.opened is None:
            return self._row(line_end(self.text, item.end), self._lead(item), word, tail)
        comma = COMMA.match(self.text, item.end)
        end = line_end(self.text, item.end)
        if self._leads(item) and ENDS_LINE.match(self.text[comma.end() if comma else item.end : end]):
            if not comma:
                self._splice(item.end, item.end, ",")
            after = "," if comma else ""
            return self._row(line_end(self.text, item.end), self._lead(item), word, after + tail)
        return self._inline(item.end, ", ", word, "", tail)

    def _before(self, item: Item, word: str, tail: str) -> int:
        if self.opened is not None and not self._leads(item):
            return self._inline(item.start, "", word, ", ", tail)
        lead = self._lead(item)
        start = line_start(self.text, item.start)
        row = lead + word + ("," if self.opened is not None else "") + tail
        self._splice(start, start, row + self._newline)
        return start + len(lead)

    def _first(self, word: str) -> int:
        """Into an empty list: as a row below its key, or between `[]` where no row may stand."""
        end = line_end(self.text, self.colon)
        rest = self.text[self.colon : end]
        empty = re.fullmatch(r"[ \t]*(?:\[[ \t]*\])?(?P<tail>[ \t]*(?:[ \t]#.*)?)", rest)
        if empty and self.indent is not None:
            self._splice(self.colon, end, empty["tail"])
            self.opened = None
            return self._row(line_end(self.text, self.colon), f"{self.indent}- ", word, "")
        if self.opened is None:
            self._splice(self.colon, self.colon, " []")
            self.opened = self.colon + 2
        return self._inline(self.opened, "", word, "", "")

    def _row(self, end: int, lead: str, word: str, tail: str) -> int:
        """A line of its own behind the one that ends at `end`."""
        after = BREAK.match(self.text, end)
        if after:
            self._splice(after.end(), after.end(), lead + word + tail + after[0])
            return after.end() + len(lead)
        self._splice(end, end, self._newline + lead + word + tail)
        return end + len(self._newline) + len(lead)

    def _inline(self, at: int, before: str, word: str, after: str, tail: str) -> int:
        if tail.strip():  # a comment would swallow the rest of the line
            raise OddForm
        self._splice(at, at, before + word + after)
        return at + len(before)

    def _lead(self, item: Item) -> str:
        """What begins the item's line: the indent, and the dash of a block list."""
        lead = self.text[line_start(self.text, item.start) : item.start]
        if self.opened is None and not DASH.fullmatch(lead):
            raise OddForm
        return lead

    def _leads(self, item: Item) -> bool:
        return not self.text[line_start(self.text, item.start) : item.start].strip()

    def _splice(self, start: int, end: int, new: str) -> None:
        self.text = self.text[:start] + new + self.text[end:]
        shift = len(new) - (end - start)
        for item in self.items:
            if item.start >= end:
                item.start, item.end = item.start + shift, item.end + shift
