"""Names that may have been meant: of flags and of variables. None is better than a bad one.

Spelling is repaired first; then names that differ by one word; then by letters. It knows no table: callers bring it.
"""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache

OFFERED = 3
ALIKE = 0.85  # of difflib's ratio
WORD_ALIKE = 0.6  # of the words by which two names differ
COMMON = ("SGLANG", "SGL")  # says nothing about what is meant


def near(word: str, known: Iterable[str]) -> tuple[str, ...]:
    """At most three of the known names, best first. Both with the same dashes in front, or none."""
    names = sorted(set(known) - {word})
    for repaired in _repairs(word):
        if repaired in names:
            return (repaired,)
    spelled = next(iter(_repairs(word)), word)
    by_word = sorted((-like, name) for name in names if (like := _by_one_word(spelled, name)))
    by_letter = sorted((-like, name) for name in names if (like := _by_letters(spelled, name)))
    return tuple(dict.fromkeys(name for _, name in [*by_word, *by_letter]))[:OFFERED]


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A hint, empty when nothing is near."""
    found = near(word, known)
    return f"did you mean {' or '.join(found)}?" if found else ""


def _repairs(word: str) -> Iterable[str]:
    """The ways in which a name is spelled wrongly most often, put right."""
    dashes = word[: len(word) - len(word.lstrip("-"))]
    bare = word[len(dashes) :]
    if dashes or bare != bare.upper():
        yield dashes + bare.replace("_", "-")
        yield dashes + bare.replace("_", "-").lower()
        yield dashes + bare.replace("-", "_")
    if not dashes:
        upper = bare.upper().replace("-", "_")
        yield upper
        if upper.startswith("SGL_"):
            yield "SGLANG_" + upper[4:]


@lru_cache(maxsize=8192)
def _words(name: str) -> tuple[str, ...]:
    return tuple(word for word in re.split("[_-]", name.strip("-")) if word)


@lru_cache(maxsize=8192)
def _letters(name: str) -> Counter[str]:
    return Counter(name)


def _by_one_word(word: str, name: str) -> float:
    """How alike two names are that differ in one word, which may also be missing in one of them; 0 for others."""
    left, right = _words(word), _words(name)
    if abs(len(left) - len(right)) > 1 or sum(one not in COMMON for one in left if one in right) < 2:
        return 0.0
    for at in range(max(len(left), len(right))):
        if len(left) == len(right) and left[:at] + left[at + 1 :] == right[:at] + right[at + 1 :]:
            like = difflib.SequenceMatcher(None, left[at], right[at]).ratio()
            return like if like >= WORD_ALIKE else 0.0
        longer, shorter = (left, right) if len(left) > len(right) else (right, left)
        if len(longer) > len(shorter) and longer[:at] + longer[at + 1 :] == shorter:
            return ALIKE
    return 0.0


def _by_letters(word: str, name: str) -> float:
    if abs(len(word) - len(name)) > 2 and not _may_be_alike(word, name):
        return 0.0
    few = 2 if len(word.strip("-")) >= 6 else 1 if len(word.strip("-")) >= 4 else 0
    shared = (_letters(word) & _letters(name)).total()  # neither way of comparing finds more in common
    if shared < max(len(word), len(name)) - few and 2 * shared < ALIKE * (len(word) + len(name)):
        return 0.0
    if few and _distance(word, name, few) <= few:
        return 1.0 - _distance(word, name, few) / 100
    like = difflib.SequenceMatcher(None, word, name).ratio()
    return like if like >= ALIKE else 0.0


def _may_be_alike(word: str, name: str) -> bool:
    """Whether lengths allow the ratio at all: it costs nothing to ask."""
    return 2 * min(len(word), len(name)) >= ALIKE * (len(word) + len(name))


def _distance(left: str, right: str, limit: int) -> int:
    """Edits between two words, two letters in the wrong order counting as one; above `limit` any larger number."""
    if abs(len(left) - len(right)) > limit:
        return limit + 1
    before: list[int] = []
    row = list(range(len(right) + 1))
    for i, a in enumerate(left, 1):
        before, last, row = row, before, [i]
        for j, b in enumerate(right, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a != b))
            if i > 1 and j > 1 and a == right[j - 2] and left[i - 2] == b:
                cost = min(cost, last[j - 2] + 1)
            row.append(cost)
        if min(row) > limit:
            return limit + 1
    return row[-1]
