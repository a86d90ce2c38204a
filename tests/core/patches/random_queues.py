"""Random small trees and queues over them, for properties that hold for any queue.

Lines are few and alike, so that a search finds likenesses in wrong places; some files end their lines in CR LF, some
lack the last line end. A patch is what a diff of two states of the tree says, with one or three lines of context.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher

from hypothesis import strategies as st

from stackctl.core.names import PatchName
from stackctl.core.patches.apply import split_lines
from stackctl.core.patches.parse import ParsedPatch, parse
from stackctl.core.patches.state import Base
from stackctl.core.patches.trees import Listing, blob_id
from stackctl.ports import TreeFile

PATHS = ("a", "d/b", "d/e/c", "d/e", "z")  # `d/e` is a folder or a file, as the queue has it
WORDS = ["x", "y", "", "}", *(f"line {n}" for n in range(12))]
Tree = dict[str, tuple[str, bytes]]  # path -> mode, contents


@dataclass(frozen=True)
class Doing:
    """One thing that a patch does to a file. `moves` are refused by engine A when they edit too."""

    what: str
    path: str
    at: int
    away: int
    put: tuple[str, ...]
    to: str


def doings(kinds: tuple[str, ...]) -> st.SearchStrategy[Doing]:
    return st.builds(
        Doing,
        st.sampled_from(kinds),
        st.sampled_from(PATHS),
        st.integers(0, 16),
        st.integers(0, 3),
        st.lists(st.sampled_from([*WORDS, "new", "newer"]), max_size=3).map(tuple),
        st.sampled_from(PATHS),
    )


TEXTS = st.builds(
    lambda words, end, last: end.join(words).encode() + (end.encode() if last else b""),
    st.lists(st.sampled_from(WORDS), min_size=4, max_size=16),
    st.sampled_from(["\n", "\n", "\r\n"]),
    st.booleans(),
)
TREES = st.dictionaries(st.sampled_from(["a", "d/b", "d/e/c"]), TEXTS, min_size=2).map(
    lambda files: {path: ("100644", data) for path, data in files.items()}
)
PLAIN = ("edit", "edit", "edit", "create", "delete")
ALL = (*PLAIN, "rename", "mode")


def queues(kinds: tuple[str, ...]) -> st.SearchStrategy[list[tuple[list[Doing], int]]]:
    """For each patch what it does, and its lines of context."""
    patch = st.tuples(st.lists(doings(kinds), min_size=1, max_size=2), st.sampled_from([3, 3, 1]))
    return st.lists(patch, min_size=2, max_size=7)


def queue_of(tree: Tree, wanted: list[tuple[list[Doing], int]]) -> list[tuple[PatchName, ParsedPatch]]:
    found: list[tuple[PatchName, ParsedPatch]] = []
    for number, (things, context) in enumerate(wanted):
        name = f"p{number}"
        after, sections = tree, list[bytes]()
        for doing in {doing.path: doing for doing in things}.values():
            after, section = _done(after, doing, context)
            sections.append(section)
        data = f"Subject: {name}\n\n".encode() + b"".join(sections)
        parsed = parse(data, f"{name}.patch")
        if isinstance(parsed, ParsedPatch):
            found.append((PatchName(name), parsed))
            tree = after
        else:
            assert not any(sections), (parsed, data)
    return found


def _done(tree: Tree, doing: Doing, context: int) -> tuple[Tree, bytes]:
    """The tree after it, and the section that says so; nothing where it cannot be done."""
    mode, old = tree.get(doing.path, ("", b""))
    rest = {path: file for path, file in tree.items() if path != doing.path}
    names = f"diff --git a/{doing.path} b/{doing.path}\n".encode()
    edited = _edited(old, doing)
    if doing.what == "create" and _free(tree, doing.path):
        data = ("\n".join(doing.put) + "\n").encode()
        head = names + b"new file mode 100644\n"
        return {**rest, doing.path: ("100644", data)}, head + _hunks(None, doing.path, b"", data, context)
    if not mode:
        return tree, b""
    if doing.what == "delete":
        return rest, names + f"deleted file mode {mode}\n".encode() + _hunks(doing.path, None, old, b"", context)
    if doing.what == "mode":
        new = "100755" if mode == "100644" else "100644"
        return {**rest, doing.path: (new, old)}, names + f"old mode {mode}\nnew mode {new}\n".encode()
    if doing.what == "rename" and _free(rest, doing.to) and doing.to != doing.path:
        data = edited if doing.away else old
        head = f"diff --git a/{doing.path} b/{doing.to}\nrename from {doing.path}\nrename to {doing.to}\n"
        hunks = _hunks(doing.path, doing.to, old, data, context) if data != old else b""
        return {**rest, doing.to: (mode, data)}, head.encode() + hunks
    if doing.what == "edit" and edited not in (old, b""):
        return {**rest, doing.path: (mode, edited)}, names + _hunks(doing.path, doing.path, old, edited, context)
    return tree, b""


def _free(tree: Mapping[str, object], path: str) -> bool:
    """Neither a file, nor a folder, nor below a file."""
    return not any(other == path or other.startswith(path + "/") or path.startswith(other + "/") for other in tree)


def _edited(old: bytes, doing: Doing) -> bytes:
    lines = split_lines(old)
    end = b"\r\n" if b"\r\n" in old else b"\n"
    put = [word.encode() + end for word in doing.put]
    head = lines[: doing.at]
    if put and head and not head[-1].endswith(b"\n"):
        head[-1] += end
    return b"".join([*head, *put, *lines[doing.at + doing.away :]])


def _hunks(old: str | None, new: str | None, before: bytes, after: bytes, context: int) -> bytes:
    a, b = split_lines(before), split_lines(after)
    out = [f"--- {'a/' + old if old else '/dev/null'}\n+++ {'b/' + new if new else '/dev/null'}\n".encode()]
    for group in SequenceMatcher(None, a, b, autojunk=False).get_grouped_opcodes(context):
        i1, i2, j1, j2 = group[0][1], group[-1][2], group[0][3], group[-1][4]
        out.append(f"@@ -{i1 + (i2 > i1)},{i2 - i1} +{j1 + (j2 > j1)},{j2 - j1} @@\n".encode())
        for tag, x1, x2, y1, y2 in group:
            if tag == "equal":
                out += [_line(b" ", line) for line in a[x1:x2]]
            else:
                out += [_line(b"-", line) for line in a[x1:x2]] + [_line(b"+", line) for line in b[y1:y2]]
    return b"".join(out)


def _line(mark: bytes, text: bytes) -> bytes:
    return mark + text if text.endswith(b"\n") else mark + text + b"\n\\ No newline at end of file\n"


def base_of(tree: Tree) -> Base:
    return Base({path: mode for path, (mode, _) in tree.items()}, {path: data for path, (_, data) in tree.items()})


def listing_of(tree: Tree) -> Listing:
    return {path: (mode, blob_id(data)) for path, (mode, data) in tree.items()}


def files_of(tree: Tree) -> list[TreeFile]:
    return [TreeFile(path, data, mode) for path, (mode, data) in sorted(tree.items())]
