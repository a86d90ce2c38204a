"""Reads what stands before the first diff of a patch file: mail header, message, trailers. It never fails.

What a file does not say is None; nothing is made up here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from email.errors import HeaderParseError
from email.header import decode_header, make_header
from email.utils import parsedate_to_datetime

from stackctl.core.patches.values import Header

FIELD = re.compile(r"([A-Za-z][A-Za-z0-9-]*):[ \t]*(.*)")
MAIL_FIELDS = ("from", "date", "subject")
# what a mailer puts before the subject, up to the one that says PATCH; `[Fix] …` is part of the subject
TAGS = re.compile(r"\A(?:\s*\[[^\]]*\])*?\s*\[(?:[^\]]*[\s-])?(?:PATCH|RFC)\b[^\]]*\]\s*")
KNOWN = {
    key.lower(): key
    for key in (
        "Area", "Why", "Upstream", "Remove-when", "Needs", "Conflicts", "Toggle", "Source", "Risk", "Verified-on",
    )
}  # fmt: skip


def read_header(lines: Sequence[bytes]) -> tuple[Header, tuple[str, ...]]:
    """The header of the lines before the first section, and kinds of warnings about it."""
    text = [line.decode("utf-8", "replace").rstrip("\r\n") for line in lines]
    fields, rest = _mail(text)
    message = _message(rest)
    body, trailers, starts = _trailers(message)
    first = len(text) - len(rest) + 1  # line of the message's first line
    # what stands above the last paragraph, or below `---`
    unread = [*enumerate(body, first), *enumerate(rest[len(message) :], first + len(message))]
    misplaced = [(KNOWN[match[1].lower()], at) for at, line in unread if (match := FIELD.match(line)) and _known(match)]
    subject = fields.get("subject")
    header = Header(
        subject=TAGS.sub("", subject) if subject is not None else None,
        author=fields.get("from"),
        date=_iso(fields.get("date")),
        body="\n".join(body).strip("\n"),
        trailers=trailers,
        lines=tuple(first + at for at in starts),
        misplaced=tuple(misplaced),
        end=first + len(message),
    )
    warnings = [f"no-{what}" for what, value in (("author", header.author), ("date", header.date)) if value is None]
    if misplaced:
        warnings.append("misplaced-trailer")
    return header, tuple(warnings)


def _known(match: re.Match[str]) -> bool:
    return match[1].lower() in KNOWN


def _mail(text: Sequence[str]) -> tuple[dict[str, str], Sequence[str]]:
    """Mail fields by lower-case name, and what follows them. Text that does not begin like a mail has no fields."""
    start = 1 if text and re.match(r"From [0-9a-f]{40} ", text[0]) else 0
    fields: dict[str, str] = {}
    last = ""
    for number, line in enumerate(text[start:], start):
        match = FIELD.match(line)
        if line.startswith((" ", "\t")) and last:
            fields[last] += " " + line.strip()
        elif match and (fields or match[1].lower() in MAIL_FIELDS):
            last = match[1].lower()
            fields[last] = match[2]
        else:
            return {key: _decoded(value) for key, value in fields.items()}, text[number:]
    return {key: _decoded(value) for key, value in fields.items()}, ()


def _message(rest: Sequence[str]) -> Sequence[str]:
    """Up to the `---` line; what stands after it (a diffstat) is for readers of mail."""
    end = next((number for number, line in enumerate(rest) if line.rstrip() == "---"), len(rest))
    return rest[:end]


def _trailers(message: Sequence[str]) -> tuple[Sequence[str], tuple[tuple[str, str], ...], tuple[int, ...]]:
    """Body, trailers (the last paragraph, when all of it is `Key: value`, maybe folded), and where each begins."""
    end = len(message)
    while end and not message[end - 1].strip():
        end -= 1
    start = end
    while start and message[start - 1].strip():
        start -= 1
    found: list[tuple[str, str]] = []
    starts: list[int] = []
    for at, line in enumerate(message[start:end], start):
        match = FIELD.match(line)
        if match:
            found.append((KNOWN.get(match[1].lower(), match[1]), match[2].strip()))
            starts.append(at)
        elif line.startswith((" ", "\t")) and found:
            found[-1] = (found[-1][0], f"{found[-1][1]} {line.strip()}")
        else:
            return message, (), ()
    return message[:start], tuple(found), tuple(starts)


def _decoded(value: str) -> str:
    if "=?" not in value:
        return value
    try:
        return str(make_header(decode_header(value)))
    except (HeaderParseError, LookupError, UnicodeError):
        return value


def _iso(date: str | None) -> str | None:
    if date is None:
        return None
    try:
        return parsedate_to_datetime(date).isoformat()
    except (TypeError, ValueError, IndexError):
        return date
