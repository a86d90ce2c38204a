"""Names of an installation become names of the source tree, by a map that the user gives: installation -> folder.

Only an import does this. A patch of the queue is written in names of the tree, so a stack has no such map.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from stackctl.core.patches.parse import ParsedPatch
from stackctl.core.patches.sections import names_of_git_line
from stackctl.core.patches.series import stripped
from stackctl.core.patches.values import Hunk

Roots = Mapping[str, str]  # /usr/lib/python3/dist-packages -> python
BACKUP = re.compile(r"(?:\.(?:bak|orig|old|rej|save|backup)[^/]*|~|\.sw[op])\Z", re.IGNORECASE)


def renamer(roots: Roots) -> Callable[[str], str]:
    """For `parse`: the name in the tree where a root covers it, with the prefix `a/` that the name had."""

    def rename(name: str) -> str:
        level = taken_off(name, roots)
        if level is None:
            return name
        inside = in_tree(name, roots) or ""
        return f"a/{inside}" if name.startswith(("/", "a/", "b/")) else inside

    return rename


def in_tree(path: str, roots: Roots) -> str | None:
    """Where a path of the installation lies in the tree, `` for its top; None where no root covers it."""
    found = _covering(path, roots)
    if found is None:
        return None
    folder, rest = roots[found[0]].strip("/"), found[1]
    return "/".join(part for part in (folder if folder != "." else "", rest) if part)


def taken_off(name: str, roots: Roots) -> int | None:
    """How many leading components a root takes off the name, as `patch -p` counts."""
    found = _covering(name, roots)
    if found is None:
        return None
    return len(name.split("/")) - len(found[1].split("/"))


def _covering(name: str, roots: Roots) -> tuple[str, str] | None:
    """The longest root that the name begins with, as it is or behind `a/`; and what follows."""
    for root in sorted(roots, key=len, reverse=True):
        prefix = root.strip("/")
        for start in (name.lstrip("/"), name.partition("/")[2] if name.startswith(("a/", "b/")) else ""):
            if start == prefix or start.startswith(prefix + "/"):
                return root, start[len(prefix) :].lstrip("/")
    return None


def rewritten(patch: ParsedPatch, level: int, folder: str = "") -> bytes:
    """The diff alone, in names of the tree behind `a/` and `b/`; `folder` is where the patch was to be applied."""
    out: list[bytes] = []
    for section in patch.files:
        names = (
            None if name is None else stripped(section, name, level) or name for name in (section.old, section.new)
        )
        old, new = (f"{folder}/{name}" if name is not None and folder else name for name in names)
        out.append(b"diff --git " + _quoted("a/" + (old or new or "")) + b" " + _quoted("b/" + (new or old or "")))
        out += [key + value for key, (_, value) in section.fields.items() if not key.startswith(MOVES)]
        for key in MOVED if section.moves else ():
            if key in section.fields:
                name = old if key.endswith(b"from ") else new
                out.append(key + _quoted(name or ""))
        if old is None and b"new file mode " not in section.fields:
            out.append(b"new file mode 100644")
        if new is None and b"deleted file mode " not in section.fields:
            out.append(b"deleted file mode 100644")
        if section.hunks:
            out.append(b"--- " + (_ended("a/" + old) if old is not None else b"/dev/null"))
            out.append(b"+++ " + (_ended("b/" + new) if new is not None else b"/dev/null"))
        for hunk in section.hunks:
            out += _hunk(hunk)
    return b"".join(line + b"\n" for line in out)


def narrowed(diff: bytes, keep: Callable[[str], bool]) -> tuple[bytes, list[str]]:
    """A diff as git writes it without the sections whose path `keep` refuses; and the paths of those."""
    kept, dropped = [], []
    for section in re.split(rb"^(?=diff --git )", diff, flags=re.MULTILINE):
        old, new = names_of_git_line(section.partition(b"\n")[0] + b"\n") if section else (None, None)
        path = (new or old or "").partition("/")[2]
        if keep(path):
            kept.append(section)
        elif section:
            dropped.append(path)
    return b"".join(kept), dropped


MOVES = (b"rename ", b"copy ", b"similarity ", b"index ")
MOVED = (b"similarity index ", b"rename from ", b"rename to ", b"copy from ", b"copy to ")


def _hunk(hunk: Hunk) -> list[bytes]:
    place = b"@@ -%d,%d +%d,%d @@" % (hunk.old_start, hunk.old_count, hunk.new_start, hunk.new_count)
    out = [place]
    for line in hunk.lines:
        out.append(line.removesuffix(b"\n"))
        if not line.endswith(b"\n"):
            out.append(b"\\ No newline at end of file")
    return out


def _quoted(name: str) -> bytes:
    raw = name.encode("utf-8", "surrogateescape")
    if all(0x20 <= byte < 0x7F and byte not in b'"\\' for byte in raw):
        return raw
    return b'"' + b"".join(b"\\%03o" % byte if byte < 0x20 or byte > 0x7E or byte in b'"\\' else bytes([byte])
                           for byte in raw) + b'"'  # fmt: skip


def _ended(name: str) -> bytes:
    """A name that holds spaces is ended by a tab, so that nothing takes them for a date."""
    return _quoted(name) + (b"\t" if " " in name else b"")
