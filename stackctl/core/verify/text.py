"""Looks at text as text: foreign scripts, endless repetition, JSON cut short, distance of two words, a short quote.

Every function is a measure with a fixed threshold; what a result means is for the classifier.
"""

from __future__ import annotations

import json
import re
import unicodedata
import zlib
from collections.abc import Iterator

_LETTER_NAMES_OF_ALL = {"MODIFIER", "FEMININE", "MASCULINE", "MICRO", "OHM", "KELVIN", "ANGSTROM", "FULLWIDTH"}
_UNIT = re.compile(r"(.{12,160}?)\1{7,}", re.DOTALL)
_WORDS = re.compile(r"((?:\S{1,12}\s+){4,12}?)\1{7,}")
GIBBERISH_COUNT, GIBBERISH_SHARE = 3, 0.02
LOOP_TAIL, LOOP_RATIO = 256, 0.12


def script(letter: str) -> str:
    """First word of the character's Unicode name: LATIN, CJK, CYRILLIC …"""
    return unicodedata.name(letter, "").partition(" ")[0]


def scripts(text: str) -> frozenset[str]:
    """Scripts that a text uses; Latin always."""
    return frozenset(script(c) for c in set(text) if not c.isascii() and c.isalpha()) | {"LATIN"}


def is_gibberish(text: str, known: frozenset[str]) -> bool:
    """Three or more, and more than 2 %, are replacement, unassigned or private characters or of unknown scripts."""
    if text.isascii():
        return False
    odd = sum(_is_odd(c, known) for c in text)
    return odd >= GIBBERISH_COUNT and odd > GIBBERISH_SHARE * len(text)


def _is_odd(c: str, known: frozenset[str]) -> bool:
    if c.isascii():
        return False
    category = unicodedata.category(c)
    if c == "\ufffd" or category in ("Cn", "Co"):
        return True
    return category.startswith("L") and script(c) not in known and script(c) not in _LETTER_NAMES_OF_ALL


def is_loop(text: str) -> bool:
    """A unit of 12 characters or four words, eight times in a row; or a tail that hardly holds information."""
    raw = text.encode()
    if len(raw) < 32 or len(zlib.compress(raw)) > 0.5 * len(raw):
        return False  # cannot repeat eight times, and spares the costly search
    tail = text[-LOOP_TAIL:].encode()
    if len(text) >= LOOP_TAIL and len(zlib.compress(tail)) < LOOP_RATIO * len(tail):
        return True
    return bool(_UNIT.search(text) or _WORDS.search(text))


def strict_json(text: str) -> object:
    """Like json.loads, but NaN and Infinity are no JSON. Raises ValueError."""

    def refuse(name: str) -> object:
        raise ValueError(f"{name} is no JSON")

    return json.loads(text, parse_constant=refuse)


def is_json_object(text: str) -> bool:
    try:
        return isinstance(strict_json(text), dict)
    except ValueError:
        return False


def is_cut_object(text: str) -> bool:
    """Whether something can follow that makes it a JSON object: then it was cut, not garbled."""
    if not text.strip():
        return True
    closers, in_string = _open_brackets(text)
    if not text.lstrip().startswith("{"):
        return False
    return any(is_json_object(text + more + closers) for more in _continuations(text, in_string))


def _open_brackets(text: str) -> tuple[str, bool]:
    stack: list[str] = []
    in_string = escaped = False
    for c in text:
        if in_string:
            in_string = escaped or c != '"'
            escaped = c == "\\" and not escaped
        elif c == '"':
            in_string = True
        elif c in "{[":
            stack.append("}" if c == "{" else "]")
        elif c in "}]" and stack:
            stack.pop()
    return "".join(reversed(stack)), in_string


def _continuations(text: str, in_string: bool) -> Iterator[str]:
    if in_string:
        for more in ("", "n", "0", "00", "000", "0000"):  # the rest of an escape
            yield from (more + '"', more + '":0')
        return
    yield from ("", "0", ":0", '"":0', '"0"', "null")
    for word in ("true", "false", "null"):
        yield from (word[n:] for n in range(1, len(word)) if text.endswith(word[:n]))


def distance(a: str, b: str, limit: int) -> int:
    """Edit distance, or anything above `limit` once it is larger."""
    if abs(len(a) - len(b)) > limit:
        return limit + 1
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        last, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (x != y))
    return row[-1]


def quote(text: str, start: int, end: int, around: int = 18) -> tuple[str, tuple[int, int]]:
    """A piece of one line around `start:end`, and where that is in the piece."""
    left, right = max(0, start - around), min(len(text), end + around)
    before = ("…" if left else "") + _flat(text[left:start])
    middle = _flat(text[start:end])
    after = _flat(text[end:right]) + ("…" if right < len(text) else "")
    return before + middle + after, (len(before), len(before) + len(middle))


def _flat(text: str) -> str:
    return "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)
