"""Lints the header of a patch: why it exists, what upstream thinks of it, and when it may go.

Nothing here changes what is applied, so every finding is a warning, with the line of the patch file and what to write
there; `check --strict` makes errors of them. What decides what is applied (`Needs` out of order, a pair of `Conflicts`
in one queue, a `Source` that nobody has pinned) is refused elsewhere, always.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator
from datetime import date
from difflib import get_close_matches

from stackctl.core.names import PatchName
from stackctl.core.patches.depend import named_patch
from stackctl.core.patches.message import KNOWN
from stackctl.core.patches.names import patch_name_fault
from stackctl.core.patches.values import Patch
from stackctl.errors import Problem, Where

REQUIRED = {  # key -> what to write
    "Area": "the part of the source that it changes, like `Area: scheduler`",
    "Why": "one sentence: what is wrong, or missing, without it",
    "Upstream": "`Upstream: Pending`, `Submitted URL`, `Backport COMMIT`, or `Inappropriate REASON`",
    "Remove-when": "the condition on which it may go, like `Remove-when: the base is sglang 0.5.24 or newer`",
}
ONCE = ("Area", "Why", "Upstream", "Remove-when", "Source", "Risk")
MAIL = {"no-author": "From", "no-date": "Date"}  # warning of the parser -> field of the mail header
UPSTREAM = {
    "Pending": (r"Pending", "`Pending` stands alone: nobody upstream has been told yet"),
    "Submitted": (
        r"Submitted https://[^\s/]+/\S+",
        "`Submitted https://…`: the whole URL of the issue or pull request",
    ),
    "Backport": (r"Backport [0-9a-f]{40}", "`Backport COMMIT`: all 40 hex digits of the commit upstream"),
    "Inappropriate": (r"Inappropriate \S.*", "`Inappropriate REASON`: why upstream will not want it"),
}
FORMS = {
    "Area": (r"[A-Za-z0-9][A-Za-z0-9+./_-]*( [A-Za-z0-9+./_-]+)?", "one area, of letters, digits and `-`"),
    "Toggle": (
        r"([A-Za-z_][A-Za-z0-9_]*=\S*|(--)?[a-z0-9]+(-[a-z0-9]+)*([ =][^\s(]\S*)?)( \(.+\))?",
        "what switches it off: a variable with its value (`SGLANG_X=0`), or a flag (`enable-metrics`)",
    ),
    "Risk": (
        r"(low|medium|high)([^A-Za-z0-9].*)?",
        "`low`, `medium` or `high`, and what it touches: `medium; the pool`",
    ),
    "Verified-on": (
        r"([0-9a-f]{40}|[A-Za-z0-9._-]+==\S+) (?P<date>[0-9]{4}-[0-9]{2}-[0-9]{2}) \S.*",
        "`BASE DATE WHAT`: 40 hex digits or sglang==0.5.15, a date like 2026-03-02, and what was verified",
    ),
}


def lint(patch: Patch, known: Collection[PatchName] | None = None) -> tuple[Problem, ...]:
    """What its header lacks or says wrongly, in the order of the file. `known`: names of patches of the workspace."""
    found = (
        *_title(patch),
        *_missing(patch),
        *_twice(patch),
        *_values(patch),
        *_names(patch, known),
        *_keys(patch),
        *_misplaced(patch),
        *_index(patch),
    )
    return tuple(sorted(found, key=lambda problem: problem.where.line or 0 if problem.where else 0))


def _problem(patch: Patch, line: int | None, message: str, hint: str) -> Problem:
    return Problem(message, Where(patch.file, line), hint=hint)


def _title(patch: Patch) -> Iterator[Problem]:
    if not (patch.header.subject or "").strip():
        yield _problem(patch, 1, "HEADER-MISSING: no `Subject:`", "Write what it does, in a line of the mail header.")
    for warning, field in MAIL.items():
        if warning in patch.warnings:
            hint = "A fixed one stands in for it; `git format-patch` writes it."
            yield _problem(patch, 1, f"HEADER-MISSING: no `{field}:`", hint)


def _missing(patch: Patch) -> Iterator[Problem]:
    header = patch.header
    stays = any(value.startswith("Inappropriate") for value in header.trailer("Upstream"))
    for key, what in REQUIRED.items():
        if not header.trailer(key) and not (key == "Remove-when" and stays):
            message = f"HEADER-MISSING: no `{key}:` among the trailers above `---`"
            yield _problem(patch, header.end, message, f"Write {what}.")


def _twice(patch: Patch) -> Iterator[Problem]:
    count = Counter(key for key, _ in patch.header.trailers)
    for key in ONCE:
        if count[key] > 1:
            (_, first), (_, second) = patch.header.places(key)[:2]
            message = f"HEADER-TWICE: `{key}:` stands in line {first} already"
            yield _problem(patch, second, message, f"One `{key}:` a patch: join them, or split the patch.")


def _values(patch: Patch) -> Iterator[Problem]:
    for key, what in REQUIRED.items():
        for value, line in patch.header.places(key):
            if not value:
                yield _problem(patch, line, f"HEADER-VALUE: `{key}:` says nothing", f"Write {what}.")
    for value, line in patch.header.places("Upstream"):
        if value and (hint := _wrong_upstream(value)):
            yield _problem(patch, line, f"HEADER-VALUE: `Upstream: {value}`", hint)
    for key, (form, expected) in FORMS.items():
        for value, line in patch.header.places(key):
            match = re.fullmatch(form, value)
            if (value or key not in REQUIRED) and (match is None or not _is_date(match.groupdict().get("date"))):
                yield _problem(patch, line, f"HEADER-VALUE: `{key}: {value}`", f"Write {expected}.")


def _wrong_upstream(value: str) -> str | None:
    """What to write instead; None when it is one of the four forms."""
    word = value.split()[0]
    state = next((name for name in UPSTREAM if name.lower() == word.lower().rstrip(":,;")), None)
    if state is None:
        near = get_close_matches(word.capitalize(), UPSTREAM, 1)
        return (f"Did you mean {near[0]}? " if near else "") + f"Write {REQUIRED['Upstream']}."
    form, expected = UPSTREAM[state]
    return None if re.fullmatch(form, value) else f"Write {expected}."


def _is_date(text: str | None) -> bool:
    try:
        return text is None or bool(date.fromisoformat(text))
    except ValueError:
        return False


def _names(patch: Patch, known: Collection[PatchName] | None) -> Iterator[Problem]:
    for key in ("Needs", "Conflicts"):
        for value, line in patch.header.places(key):
            name = named_patch(value)
            said = f"`{key}: {value}`"
            if fault := patch_name_fault(name):
                hint = f"Write `{key}: topic/name (reason)`, a line for each patch."
                yield _problem(patch, line, f"HEADER-VALUE: {said}: the name {fault}", hint)
            elif key == "Conflicts" and name == patch.name:
                yield _problem(patch, line, f"HEADER-VALUE: {said}, which is the patch itself", "Take the line out.")
            elif key == "Conflicts" and known is not None and name not in known:
                near = get_close_matches(name, known, 1)
                hint = f"Did you mean {near[0]}?" if near else "When that patch is gone, the line may go too."
                yield _problem(patch, line, f"HEADER-NAME: {said}: patches/ has no such patch", hint)


def _keys(patch: Patch) -> Iterator[Problem]:
    """Trailers of other tools are kept as they are; one that looks like ours, but is not, would be read by nobody."""
    ours = {key.lower(): key for key in KNOWN.values()}
    for (key, _), line in zip(patch.header.trailers, patch.header.lines, strict=False):
        near = [] if key.lower() in ours else get_close_matches(key.lower(), ours, 1, cutoff=0.8)
        if near:
            message = f"HEADER-KEY: `{key}:` is a trailer that nobody reads"
            yield _problem(patch, line, message, f"Did you mean `{ours[near[0]]}:`?")


def _misplaced(patch: Patch) -> Iterator[Problem]:
    for key, line in patch.header.misplaced:
        message = f"HEADER-MISPLACED: `{key}:` is not in the last paragraph above `---`, so it is no trailer"
        hint = "Move it there; in that paragraph, each line is `Key: value` or begins with a space."
        yield _problem(patch, line, message, hint)


def _index(patch: Patch) -> Iterator[Problem]:
    if "no-index-line" in patch.warnings:
        hint = "It applies; export it with `git diff --full-index`, so that a rebase can merge it."
        yield _problem(patch, patch.files[0].line, "NO-INDEX-LINE: without ids of blobs there is no 3-way merge", hint)
