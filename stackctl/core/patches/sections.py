"""Reads the names of a file section: quoted names, timestamps, and the one line that holds two names."""

from __future__ import annotations

import re

ESCAPES = {b"a": 7, b"b": 8, b"t": 9, b"n": 10, b"v": 11, b"f": 12, b"r": 13, b'"': 34, b"\\": 92}
QUOTED = re.compile(rb'"((?:[^"\\]|\\.)*)"')
STAMP = re.compile(
    rb"(1969-12-31|1970-01-01) ([01][0-9]|2[0-3]):([0-5][0-9]):00(?:\.0+)? ([-+])([0-2][0-9]):?([0-5][0-9])\s*\Z"
)


def read_name(text: bytes) -> tuple[str, bytes]:
    """A name and what follows it: quoted as C quotes, or up to a tab or the line's end."""
    match = QUOTED.match(text)
    if match:
        return _unquoted(match[1]).decode("utf-8", "surrogateescape"), text[match.end() :]
    name, _, rest = text.rstrip(b"\n").partition(b"\t")
    return name.decode("utf-8", "surrogateescape"), rest


class Names:
    """The names of a `---` and a `+++` line; None for /dev/null and for a side that bears the epoch date."""

    def __init__(self, old: bytes, new: bytes) -> None:
        self.old = _side(old)
        self.new = _side(new)

    def settled(self) -> tuple[str | None, str | None]:
        """For a diff without git's header: one name for both sides, as git chooses it.

        The new name, unless it is the old one with a suffix (`x.py`, `x.py.orig`).
        """
        if self.old is None or self.new is None:
            return self.old, self.new
        name = self.old if self.new != self.old and self.new.startswith(self.old) else self.new
        return name, name


def names_of_git_line(line: bytes) -> tuple[str | None, str | None]:
    """Both names of `diff --git OLD NEW`, where they can be told apart; a section's later lines correct them."""
    text = line[len(b"diff --git ") :].rstrip(b"\n")
    if text.startswith(b'"'):
        old, rest = read_name(text)
        return old, read_name(rest.lstrip(b" "))[0]
    if text.endswith(b'"') and b' "' in text:
        left, _, right = text.partition(b' "')
        return left.decode("utf-8", "surrogateescape"), read_name(b'"' + right)[0]
    for match in re.finditer(rb" ", text):
        left, right = text[: match.start()], text[match.end() :]
        if left == right or left.partition(b"/")[2] == right.partition(b"/")[2] != b"":
            return left.decode("utf-8", "surrogateescape"), right.decode("utf-8", "surrogateescape")
    left, _, right = text.partition(b" ")
    return left.decode("utf-8", "surrogateescape") or None, right.decode("utf-8", "surrogateescape") or None


def _side(text: bytes) -> str | None:
    name, rest = read_name(text)
    return None if name == "/dev/null" or _is_epoch(rest) else name


def _is_epoch(stamp: bytes) -> bool:
    match = STAMP.match(stamp.strip())
    if not match:
        return False
    minutes = int(match[2]) * 60 + int(match[3]) - (24 * 60 if match[1] == b"1969-12-31" else 0)
    zone = int(match[5]) * 60 + int(match[6])
    return minutes == (zone if match[4] == b"+" else -zone)


def _unquoted(text: bytes) -> bytes:
    def one(match: re.Match[bytes]) -> bytes:
        code = match[1]
        return bytes([int(code, 8) & 0xFF if code.isdigit() else ESCAPES.get(code, code[0])])

    return re.sub(rb"\\([0-7]{1,3}|.)", one, text)
