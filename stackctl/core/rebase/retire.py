"""Says whether the `Remove-when` of a patch holds at a release, where its words can be decided: one release number.

"sglang 0.5.16 or newer" is decided; a merged URL, a condition in prose, two numbers or another package's number are
not: then it says so and leaves it to a person. It never guesses, for its answer leaves a patch out.
"""

from __future__ import annotations

import re

from packaging.version import InvalidVersion, Version

URL = re.compile(r"\bhttps?://\S+")
RELEASE = re.compile(
    r"(?:(?P<name>[A-Za-z][A-Za-z0-9_.-]*)(?=[=>]))?(?P<op>>=|==|=>|>)?v?(?P<number>[0-9]+(?:\.[0-9]+)+[a-z0-9.]*)\+?"
)
OPERATORS = (">=", "=>", "==", ">")
BESIDE = frozenset((
    "a", "after", "and", "at", "base", "be", "by", "contains", "fix", "fixed", "from", "has", "higher", "in", "include",
    "includes", "is", "landed", "later", "least", "lands", "newer", "of", "on", "or", "release", "released", "reach",
    "reaches", "ships", "since", "tag", "than", "the", "to", "upgrade", "upstream", "version", "when", "with",
))  # fmt: skip
OTHERWISE = frozenset((
    "before", "below", "earlier", "except", "no", "not", "never", "older", "unless", "until", "without",
))  # fmt: skip
ABOVE = (("newer", "than"), ("later", "than"), ("higher", "than"))


def holds(condition: str, project: str, release: str) -> bool | None:
    """Whether the condition is met at this release of the project; None when that cannot be told."""
    words = [word.strip(".,;:()`'\"") for word in URL.sub(" ", condition).split()]
    found = [(at, match) for at, word in enumerate(words) if (match := RELEASE.fullmatch(word))]
    if len(found) != 1 or OTHERWISE & {word.lower() for word in words}:
        return None
    at, match = found[0]
    before = [word.lower() for word in words[:at]]
    op = match["op"] or (before.pop() if before and before[-1] in OPERATORS else "")
    of = [word.lower() for word in words[at + 2 : at + 3] if words[at + 1].lower() == "of"]
    if {*before, *of, (match["name"] or project).lower()} - {*BESIDE, project.lower()}:
        return None  # it may speak of something else
    try:
        wanted, here = Version(match["number"]), Version(release)
    except InvalidVersion:
        return None
    above = op == ">" or (not op and (tuple(before[-2:]) in ABOVE or before[-1:] == ["after"]))
    return here > wanted if above else here >= wanted


def conditions(values: tuple[str, ...], project: str, release: str | None) -> tuple[tuple[str, bool | None], ...]:
    """Each `Remove-when` of a patch with its answer; None for all where the base is no release."""
    return tuple((value, None if release is None else holds(value, project, release)) for value in values)
