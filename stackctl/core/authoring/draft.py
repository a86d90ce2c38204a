"""The header of a new patch: a draft for the author to fill in, and what comes back of it.

Only what is known is filled in: the area from the paths, the author from git, the date from the clock. Why the patch
exists and when it may go is for the author to say; an empty trailer is left out, and `check` asks for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from stackctl.core.names import SGLANG
from stackctl.core.patches.message import FIELD, KNOWN, read_header
from stackctl.core.patches.values import Header

ASKED = ("Area", "Why", "Upstream", "Remove-when", "Risk")
COMMENT = "#"
HELP = """\
# The first line is the title; then, after an empty line, what it does; the trailers stay the last paragraph.
# Why: one sentence. Upstream: Pending, Submitted URL, Backport COMMIT or Inappropriate REASON.
# Remove-when: a release, a merged URL, or a condition. Needs, Conflicts, Toggle and Verified-on may follow.
# Lines that begin with `#` are left out. Without a title nothing is written."""


def draft(message: str, trailers: Mapping[str, str], about: Sequence[str]) -> str:
    """The text to open an editor with. `about`: what the author may want to see, a line each."""
    keys = [*ASKED[:4], *(key for key in trailers if key not in ASKED[:4])]
    lines = [message.rstrip("\n"), "", *(f"{key}: {trailers.get(key, '')}".rstrip() for key in keys), "", HELP]
    return "\n".join([*lines, COMMENT, *(f"{COMMENT} {line}".rstrip() for line in about)]) + "\n"


def without_comments(text: str) -> str:
    return "\n".join(line for line in text.split("\n") if not line.startswith(COMMENT))


@dataclass(frozen=True)
class Signature:
    """Who wrote the patch, as `Name <mail>` (None: nobody said), and when, in seconds since the epoch."""

    author: str | None
    now: float


def header_of(text: str, given: Mapping[str, str], otherwise: Mapping[str, str], by: Signature) -> Header | None:
    """Title, body and trailers of a message; None without a title.

    `given` trailers stand instead of those of the message, those of `otherwise` where neither says anything.
    """
    lines = text.strip().split("\n")
    first = FIELD.match(lines[0])
    if not lines[0].strip() or (first and first[1].lower() in KNOWN):  # a draft whose title was left empty
        return None
    body = [f" {line}" if line.rstrip() == "---" else line for line in lines[1:]]
    read, _ = read_header([f"{line}\n".encode() for line in ("Subject: x", "", *body, "", "---")])
    said = [(key, value) for key, value in read.trailers if value and key not in given]
    told = {**otherwise, **given}
    kept = [(key, value) for key, value in told.items() if value and key not in {key for key, _ in said}]
    date = datetime.fromtimestamp(int(by.now), UTC).isoformat()
    return Header(" ".join(lines[0].split()), by.author, date, read.body, tuple(sorted([*kept, *said], key=_order)))


def known(area: str | None, source: str) -> dict[str, str]:
    """The trailers that can be told without asking."""
    told = {"Area": area or "", "Upstream": "Pending"}
    return told if source == SGLANG else {**told, "Source": source}


def _order(trailer: tuple[str, str]) -> int:
    return ASKED.index(trailer[0]) if trailer[0] in ASKED else len(ASKED)
