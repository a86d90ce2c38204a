"""What an open edit of a patch remembers, and what of a work tree may not become a patch.

Both are decided here, on values: which files changed is asked of git, what they hold comes with them. Nothing is left
out in silence; what no patch can carry is refused by the name of its file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from hashlib import sha256

from stackctl.core.names import Digest, PatchName, TreeId
from stackctl.core.patches.agree import Listing
from stackctl.core.patches.names import name_fault
from stackctl.core.patches.parse import ParsedPatch, diff_of
from stackctl.errors import Problem, Where

FORMAT = 1
LINK, GITLINK = "120000", "160000"
MARKERS = re.compile(rb"^(<<<<<<< |>>>>>>> )", re.MULTILINE)
LOOKED_AT = 8000  # bytes in which git looks for a NUL to tell a binary file
TRASH = re.compile(
    r"(^|/)(__pycache__|\.mypy_cache|\.ruff_cache|\.pytest_cache|\.idea|\.vscode|\.ipynb_checkpoints)/"
    r"|\.py[co]$|~$|(^|/)\.[^/]*\.sw[^/]$|(^|/)\.?#[^/]*$|\.(orig|bak)$|(^|/)\.DS_Store$"
)


@dataclass(frozen=True)
class Edit:
    """An open edit and what was there when it began.

    `stack`: the stack file, from the workspace. `base`: the tree of all that comes before the patch. `diff`: sha256
    of the patch's diff as it was; None for a new patch, which goes after or before (`ahead_of`) another, else to the
    end. `writing`: sha256 of the patch file that a refresh has begun to write.
    """

    name: PatchName
    stack: str
    source: str
    base: TreeId
    diff: Digest | None = None
    after: str | None = None
    ahead_of: str | None = None
    writing: Digest | None = None


def dump(edit: Edit) -> bytes:
    return json.dumps({"format": FORMAT, **asdict(edit)}, indent=1).encode() + b"\n"


def load(data: bytes) -> Edit | None:
    """None when it is no record of ours."""
    try:
        value = json.loads(data)
    except ValueError:
        return None
    if not isinstance(value, dict) or value.get("format") != FORMAT:
        return None
    texts = {key: text for key, text in value.items() if isinstance(text, str) and text}
    if not texts.keys() >= {"name", "stack", "source", "base"}:
        return None
    diff, writing = texts.get("diff"), texts.get("writing")
    return Edit(
        PatchName(texts["name"]),
        texts["stack"],
        texts["source"],
        TreeId(texts["base"]),
        Digest(diff) if diff else None,
        texts.get("after"),
        texts.get("ahead_of"),
        Digest(writing) if writing else None,
    )


def digest(data: bytes) -> Digest:
    return Digest(sha256(data).hexdigest())


def diff_digest(patch: ParsedPatch) -> Digest:
    """Of the diff alone: a header may be edited by hand while the edit is open."""
    return digest(diff_of(patch))


def printable(path: str) -> str:
    """A name as a terminal may show it: what moves the cursor is written out."""
    return path if path.isprintable() else repr(path)[1:-1]


def is_binary(data: bytes) -> bool:
    return b"\0" in data[:LOOKED_AT]


def changed(old: Listing, new: Listing) -> tuple[str, ...]:
    return tuple(path for path in sorted({*old, *new}) if old.get(path) != new.get(path))


def refusals(old: Listing, new: Listing, contents: Mapping[str, tuple[bytes, bytes]], folder: str) -> Iterator[Problem]:
    """What may not go into a patch. `contents`: of changed files, before and after; `folder`: as it is shown."""
    for path in changed(old, new):
        where = Where(f"{folder}/{printable(path)}")
        for message, hint in _refused(path, old.get(path), new.get(path), contents.get(path, (b"", b""))):
            yield Problem(message, where, hint=hint)


def _refused(
    path: str, old: tuple[str, str] | None, new: tuple[str, str] | None, texts: tuple[bytes, bytes]
) -> Iterator[tuple[str, str]]:
    fault = name_fault(path)
    modes = {side[0] for side in (old, new) if side}
    if fault:
        yield f"{fault.kind}: {fault.reason}", "rename the file"
    if GITLINK in modes:
        yield "a repository of its own, which is no file", "move it out of the work tree, or remove its .git"
    elif LINK in modes:
        yield "a symbolic link, which no patch may make, change or delete", "copy the file that it points to"
    elif old and new and old[0] != new[0]:
        word = "-x" if new[0] == "100755" else "+x"
        yield f"its mode changed from {old[0]} to {new[0]}, and patches change contents only", f"chmod {word} {path}"
    elif any(is_binary(text) for text in texts):
        yield "a binary file, which cannot be reviewed", "keep it out of patches: put it into the base"
    elif len(MARKERS.findall(texts[1])) > len(MARKERS.findall(texts[0])):
        yield "holds conflict markers", "settle the conflict, then refresh again"


def rejected(left_out: Iterable[str]) -> tuple[str, ...]:
    """Files of hunks that fitted nowhere: somebody has still to put them in by hand."""
    return tuple(path for path in left_out if path.endswith(".rej"))


def worth_keeping(left_out: Iterable[str]) -> tuple[str, ...]:
    """Files that no patch has and that cannot be made again: not bytecode, caches and backups of editors."""
    return tuple(path for path in left_out if not TRASH.search(path))
