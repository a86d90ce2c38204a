"""Says why a patch does not apply: which hunk, what it expects, what the base has there, and what to do."""

from __future__ import annotations

from collections.abc import Sequence

from stackctl.core.names import PatchName
from stackctl.core.patches.apply import Text, mismatch
from stackctl.core.patches.faults import Fault, Kind
from stackctl.core.patches.values import FilePatch, Hunk, Patch

REDO = "Rebase the patch onto this base and export it again; there is no fuzz."


def conflict(patch: Patch, section: FilePatch, number: int, text: Text, stated: int) -> Fault:
    """Hunk `number` (from 1) fits nowhere in `text`, the file as the patches before have made it."""
    hunk = section.hunks[number - 1]
    found = mismatch(text.lines, hunk, stated)
    where = f"{section.old}: hunk {number} ({stated_range(hunk)})"
    facts: dict[str, object] = {"file": section.old, "hunk": number, "file_line": found.file_line}
    if found.anchored:
        edge = "start" if hunk.old_start <= 1 else "end"
        message = f"{where} fits at line {found.file_line}, but it is written for the {edge} of the file"
        return Fault("context-mismatch", patch.file, hunk.line, message, REDO, facts | {"anchored": edge})
    has = "the file ends there" if found.file_has is None else f"the file has {found.file_has!r}"
    owner = text.owners[found.file_line - 1] if found.file_line <= len(text.lines) else ""
    by = f" (from {owner})" if owner else ""
    message = (
        f"{where} does not apply: it expects {found.stale_text!r} (line {found.stale_line} of the patch), "
        f"but at line {found.file_line} {has}{by}"
    )
    hint = REDO
    if found.file_has is not None and found.file_has.removesuffix("\\r") == found.stale_text.removesuffix("\\r"):
        hint = "They differ in the CR at the end of the line only: export the patch without converting line ends."
    facts |= {
        "stale_line": found.stale_line,
        "stale_text": f"{found.mark}{found.stale_text}",
        "file_has": found.file_has,
    }
    return Fault("context-mismatch", patch.file, hunk.line, message, hint, facts)


def ambiguous(patch: Patch, section: FilePatch, number: int, candidates: Sequence[int]) -> Fault:
    """`candidates` are lines of the file as the patch found it."""
    hunk = section.hunks[number - 1]
    places = ", ".join(map(str, candidates))
    message = (
        f"{section.old}: hunk {number} ({stated_range(hunk)}) does not fit at its stated line, "
        f"but at each of the lines {places}"
    )
    facts = {"file": section.old, "hunk": number, "candidates": list(candidates)}
    hint = "Rebase it onto this base, or export it with more lines of context (`git diff -U10`)."
    return Fault("ambiguous-context", patch.file, hunk.line, message, hint, facts)


def of_file(kind: Kind, patch: Patch, section: FilePatch, message: str, hint: str = REDO) -> Fault:
    """A fault of a whole section, told at the line that first names the file."""
    return Fault(kind, patch.file, section.line, message, hint, {"file": section.old or section.new})


def lacks(fault: Fault, needs: Sequence[PatchName]) -> Fault:
    """The same fault, when the reason is that patches which it needs are left out."""
    names = ", ".join(needs)
    message = f"it needs {names}, left out here ({fault.message})"
    return Fault("needs-patch", fault.patch, fault.line, message, f"Leave it out too, or take {names} in.", {
        **fault.facts, "needs": list(needs),
    })  # fmt: skip


def already(fault: Fault) -> Fault:
    message = "the base, or an earlier patch, has this change already: all of it can be taken back"
    return Fault("already-applied", fault.patch, fault.line, message, "Take the patch out of the stack.", fault.facts)


def stated_range(hunk: Hunk) -> str:
    return f"@@ -{hunk.old_start},{hunk.old_count} +{hunk.new_start},{hunk.new_count} @@, line {hunk.line} of the patch"
