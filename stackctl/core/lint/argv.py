"""Reads a command line as the engine's argparse would (CPython 3.11): names, abbreviations, values, refusals.

One rule of argparse decides most: an exact option string first, else the part before the first `=`, else every option
string that begins with it; two or more are ambiguous, even when both are of one argument.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from stackctl.core.lint.setup import Match, Option
from stackctl.core.upstream.values import Flag, Upstream

NEGATIVE = re.compile(r"^-\d+$|^-\d*\.\d+$")  # argparse's own: a value, as no option looks like a negative number


def read(argv: Sequence[str], table: Upstream | None) -> tuple[tuple[Option, ...], tuple[str, ...]]:
    """The options in order, and the words that no option took. `table` None: only words and values are told apart."""
    options: list[Option] = []
    left: list[str] = []
    at = 0
    while at < len(argv):
        word = argv[at]
        if word == "--":
            left += argv[at + 1 :]
            break
        if not _is_option(word):
            left.append(word)
            at += 1
            continue
        found = _found(word, at, table)
        taken = tuple(_values(argv, at + 1, found))
        options.append(_judged(found, taken))
        at += 1 + len(taken)
    return tuple(options), tuple(left)


def matches(word: str, table: Upstream) -> tuple[Match, tuple[str, ...]]:
    """How the parser finds an option string (without `=value`), and which ones it could be."""
    if word in table.by_name:
        return "exact", (word,)
    if not table.abbreviations:
        return "unknown", ()
    hits = tuple(name for flag in table.flags for name in flag.names if name.startswith(word))
    if word.startswith("--") and len(hits) == 1:
        return "prefix", hits
    return ("ambiguous" if hits and word.startswith("--") else "unknown"), hits if word.startswith("--") else ()


def _is_option(word: str) -> bool:
    return word.startswith("-") and word != "-" and not NEGATIVE.match(word) and " " not in word.partition("=")[0]


def _found(word: str, at: int, table: Upstream | None) -> Option:
    name, equals, value = word.partition("=")
    joined = (value,) if equals else ()
    if table is None:
        return Option(name, joined, match="untabled", joined=bool(equals), position=at)
    if word in table.by_name:
        return Option(word, flag=table.by_name[word], position=at)
    match, hits = matches(name, table)
    flag = table.by_name[hits[0]] if match in ("exact", "prefix") else None
    return Option(name, joined, flag, match, hits if match == "ambiguous" else (), bool(equals), position=at)


def _values(argv: Sequence[str], at: int, option: Option) -> Iterator[str]:
    """The words behind an option that belong to it."""
    nargs = option.flag.nargs if option.flag else "*"
    if option.joined:
        return
    limit = nargs if isinstance(nargs, int) else 1 if nargs in (None, "?") else len(argv)
    for word in argv[at : at + limit]:
        if _is_option(word) or word == "--":
            return
        yield word


def _judged(option: Option, taken: tuple[str, ...]) -> Option:
    values = option.values + taken
    fault = _fault(option, values) if option.flag else None
    return Option(
        option.word, values, option.flag, option.match, option.candidates, option.joined, fault, option.position
    )


def _fault(option: Option, values: tuple[str, ...]) -> str | None:
    """What the parser refuses about the number of values; what they may be is the business of a rule."""
    assert option.flag is not None
    nargs = option.flag.nargs
    if nargs == 0:
        return f"ignored explicit argument '{values[0]}'" if option.joined else None
    if nargs is None and not values:
        return "expected one argument"
    if nargs == "+" and not values:
        return "expected at least one argument"
    if isinstance(nargs, int) and len(values) != nargs:
        return f"expected {nargs} argument{'s'[: nargs != 1]}"
    return None


def wrong_value(flag: Flag, value: str) -> str | None:
    """Why a value is none for this flag; None when it is, or when that cannot be known."""
    if flag.type in ("int", "float") and "type" not in flag.unknown:
        try:
            int(value) if flag.type == "int" else float(value)
        except ValueError:
            return f"expected {'a whole number' if flag.type == 'int' else 'a number'}"
    if flag.choices is not None and "choices" not in flag.unknown and value not in flag.choices:
        return "not among its choices"
    return None
