"""What an import decides without looking anywhere: titles, names, which bytes are kept, the lines for the stack.

Names come from titles and bear no number: order lives in the stack file. Two inputs that would have one name are
refused with both, and nobody's file is taken over.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from stackctl.core.names import PatchName, TreeId
from stackctl.core.patches.canonical import canonical, slug
from stackctl.core.patches.faults import Fault
from stackctl.core.patches.parse import ParsedPatch, diff_of
from stackctl.core.patches.values import Header

IDS = re.compile(rb"^index [0-9a-f]{40}\.\.[0-9a-f]{40}", re.MULTILINE)


@dataclass(frozen=True)
class Incoming:
    """One patch to be: where it came from, what it says, and the tree that it ends in.

    `kept`: the file as it came, when it is canonical and lands where it says; it is then not written anew.
    """

    origin: str
    header: Header
    tree: TreeId
    kept: bytes | None = None


@dataclass(frozen=True)
class Note:
    """What the one who imports must know; `where` is a file, a commit or a line. `kind` says of what sort."""

    kind: str
    text: str
    where: str | None = None


@dataclass(frozen=True)
class Taken:
    """What a source gave: its changes in order, and the tree it has itself, found without them."""

    changes: tuple[Incoming, ...]
    tree: TreeId
    notes: tuple[Note, ...] = ()


def title_of(stem: str) -> str:
    """A subject for what has none but a file name: `0007-raise_limit.patch` -> `Raise limit`."""
    words = slug(re.sub(r"\.(patch|diff|txt|sh|bash|py|mbox|eml)\Z", "", stem)).replace("-", " ")
    return words[:1].upper() + words[1:]


def titled(header: Header, title: str, said: str = "") -> Header:
    """The header with a subject, and where it came from, if it does not say anything itself."""
    if header.subject and header.subject.strip():
        return header
    return replace(header, subject=title, body=header.body or said)


def made_header(title: str, said: str) -> Header:
    """The header of a change that nobody has described yet."""
    return Header(title, None, None, said)


def is_canonical(patch: ParsedPatch) -> bool:
    """Whether the file is written as we would write it, the places and ids of its diff aside."""
    if not patch.header.subject or not all(section.git for section in patch.files):
        return False
    full = all(_full_index(section.fields.get(b"index ", (0, b""))[1]) for section in patch.files if section.hunks)
    paths = [section.new or section.old or "" for section in patch.files]
    ordered = [path.partition("/")[2] for path in paths] == sorted(path.partition("/")[2] for path in paths)
    prefixed = all(
        (section.old is None or section.old.startswith("a/")) and (section.new is None or section.new.startswith("b/"))
        for section in patch.files
    )
    moves = any(section.moves for section in patch.files)
    return full and ordered and prefixed and not moves and canonical(patch.header, diff_of(patch)) == patch.data


def _full_index(value: bytes) -> bool:
    return bool(re.fullmatch(rb"[0-9a-f]{40}\.\.[0-9a-f]{40}(?: [0-7]{6})?", value))


def same_but_ids(one: bytes, other: bytes) -> bool:
    """Whether two patch files differ in nothing but ids of blobs, which depend on the patches before them."""
    return IDS.sub(b"", one) == IDS.sub(b"", other)


def names_of(topic: str, changes: Sequence[Incoming], given: Mapping[int, str]) -> list[PatchName]:
    """`given`: names that the user chose, by the number of the change from 1."""
    return [
        PatchName(f"{topic}/{given.get(number) or slug(change.header.subject or '')}")
        for number, change in enumerate(changes, 1)
    ]


def same_names(names: Sequence[PatchName], origins: Sequence[str]) -> tuple[Fault, ...]:
    """Inputs that would have one name, each with both of them; entries count from 1."""
    first: dict[PatchName, int] = {}
    faults = []
    for entry, (name, origin) in enumerate(zip(names, origins, strict=True), 1):
        if name in first:
            other = first[name]
            message = f"entry {entry} would be called {name}, and so would entry {other} ({origins[other - 1]})"
            facts = {"entries": [other, entry], "name": name.rpartition("/")[2]}
            hint = f"Give one of them another name: `--name {entry}=OTHER-NAME`."
            faults.append(Fault("duplicate-name", origin, None, message, hint, facts))
        first.setdefault(name, entry)
    return tuple(faults)


def stack_lines(names: Sequence[PatchName], origins: Sequence[str]) -> tuple[str, ...]:
    width = max((len(name) for name in names), default=0)
    return tuple(f"  - {name:{width}}  # {origin}" for name, origin in zip(names, origins, strict=True))


def unsaid(headers: Sequence[Header]) -> str | None:
    """Which of the compulsory trailers are missing, and in how many of the patches."""
    lacking = {key: sum(not header.trailer(key) for header in headers) for key in ("Area", "Why", "Upstream")}
    told = [f"{key} ({count} of {len(headers)})" for key, count in lacking.items() if count]
    return f"headers do not say {', '.join(told)}: write it before anybody forgets" if told else None
