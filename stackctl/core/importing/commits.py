"""Commit objects and patch headers, each made of the other, so that a queue can be a branch and come back.

A commit that is written depends on its header, its tree and its parent alone: the committer is always the same, and
the committer's date is the author's. What a commit says is read as the patch file would say it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from hashlib import sha1

from stackctl.core.names import Commit, TreeId
from stackctl.core.patches.canonical import AUTHOR, DATE, canonical
from stackctl.core.patches.message import read_header
from stackctl.core.patches.values import Header

PERSON = re.compile(rb"author (.*?) ?<([^>]*)> (-?[0-9]+) ([-+])([0-9]{2})([0-9]{2})$", re.MULTILINE)
LINK = re.compile(rb"^(tree|parent) ([0-9a-f]{40})$", re.MULTILINE)
ENCODING = re.compile(rb"^encoding (\S+)$", re.MULTILINE)
COMMITTER = AUTHOR


@dataclass(frozen=True)
class CommitFacts:
    commit: Commit
    tree: TreeId
    parents: tuple[Commit, ...]
    header: Header


def read_commit(commit: Commit, data: bytes) -> CommitFacts:
    """What a raw commit object says. Its message is read as a patch file's: trailers known, no line ends it."""
    head, _, message = data.partition(b"\n\n")
    links = LINK.findall(head)
    encoding = ENCODING.search(head)
    codec = encoding[1].decode("ascii", "replace") if encoding else "utf-8"
    author, date = _author(head, codec)
    subject, body = _parts(_text(message, codec))
    written = canonical(Header(subject or f"Commit {commit[:12]}", author, date, body), b"")
    header = read_header(written.splitlines(keepends=True))[0]
    trees = [TreeId(value.decode()) for key, value in links if key == b"tree"]
    parents = tuple(Commit(value.decode()) for key, value in links if key == b"parent")
    return CommitFacts(commit, trees[0], parents, header)


def commit_text(header: Header, tree: TreeId, parent: Commit | None) -> bytes:
    """A raw commit object whose message is the patch file's."""
    author, stamp = header.author or AUTHOR, _stamp(header.date)
    who = author if re.search(r"<[^<>]*>$", author) else f"{author} <>"
    lines = [
        f"tree {tree}",
        *([f"parent {parent}"] if parent else []),
        f"author {who} {stamp}",
        f"committer {COMMITTER} {stamp}",
        "",
        message_of(header),
    ]
    return "\n".join(lines).encode("utf-8", "surrogateescape")


def commit_id(data: bytes) -> Commit:
    return Commit(sha1(b"commit %d\0" % len(data) + data, usedforsecurity=False).hexdigest())


def message_of(header: Header) -> str:
    """Subject, body and trailers, as the canonical patch file has them."""
    text = canonical(header, b"").decode("utf-8", "surrogateescape")
    rest = text.partition("\n\n")[2].removesuffix("---\n").rstrip("\n")
    subject = " ".join((header.subject or "").split())
    return f"{subject}\n\n{rest}\n" if rest else f"{subject}\n"


def _author(head: bytes, codec: str) -> tuple[str | None, str | None]:
    found = PERSON.search(head)
    if not found:
        return None, None
    name, mail = (_text(found[group], codec) for group in (1, 2))
    sign, hours, minutes = found[4].decode(), int(found[5]), int(found[6])
    return f"{name} <{mail}>".lstrip(" \t"), _iso(int(found[3]), sign, timedelta(hours=hours, minutes=minutes))


def _iso(seconds: int, sign: str, offset: timedelta) -> str | None:
    try:
        if sign == "-" and not offset:  # -0000: the zone is not known, as a date without one says
            return datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None).isoformat()
        return datetime.fromtimestamp(seconds, timezone(-offset if sign == "-" else offset)).isoformat()
    except (ValueError, OverflowError, OSError):
        return None


def _stamp(date: str | None) -> str:
    try:
        found = datetime.fromisoformat(date) if date else DATE
    except ValueError:
        found = DATE
    if found.tzinfo is None:
        return f"{int(found.replace(tzinfo=UTC).timestamp())} -0000"
    return f"{int(found.timestamp())} {found.strftime('%z')[:5]}"


def _text(data: bytes, codec: str) -> str:
    try:
        return data.decode(codec, "replace")
    except LookupError:
        return data.decode("utf-8", "replace")


def _parts(message: str) -> tuple[str, str]:
    """The first paragraph in one line, and the rest."""
    lines = message.replace("\r\n", "\n").replace("\0", "").strip("\n").split("\n")
    end = next((at for at, line in enumerate(lines) if not line.strip()), len(lines))
    return " ".join(" ".join(lines[:end]).split()), "\n".join(lines[end:]).strip("\n")
