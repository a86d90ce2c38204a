"""Writes a rebased queue beside the old one: a file for each patch that changed, and a stack that extends the old one.

Before a byte is written, the new stack is loaded and composed from the files as they would be, and must give the very
tree that the rebase found. A patch that leaves the queue is named in the new stack, with its verdict.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from stackctl.commands.changes import Change
from stackctl.commands.gather import load_file
from stackctl.commands.queue.foreseen import foreseen
from stackctl.commands.rebase.look import Prepared, RebaseReport
from stackctl.commands.tree import compose
from stackctl.commands.workspace import Chosen, choose, shown, stack_files
from stackctl.core.rebase.verdict import Rebased
from stackctl.core.stack.model import A_NAME, NAME
from stackctl.core.stack.rebased import RebasedStack, name_of, text_of
from stackctl.core.stack.resolved import ResolvedStack
from stackctl.core.stack.versions import key_of, patch_file
from stackctl.errors import StackctlError, UsageError, Where
from stackctl.ports import Ports


def refuse_name(name: str | None) -> None:
    """A new stack lies beside the old one, whatever it is called. Raises UsageError."""
    if name is not None and not re.fullmatch(NAME, name):
        raise UsageError(f"{name!r} names no stack", f"Say {A_NAME}.", Where("--as"))


def refuse_unwritable(prepared: Prepared) -> None:
    """What can be looked at but not be written: known before any work is done. Raises UsageError."""
    variant = prepared.stack.variant
    if prepared.new.key is None:
        raise UsageError(
            f"{prepared.new.label} has no name that patches could bear", "Rebase onto a release or a commit."
        )
    if variant.added or any(element.kind != "patch" for element in (*variant.without, *variant.dropped)):
        raise UsageError(
            "--write takes the patches of the stack", "Leave out --with, and --without of what is no patch."
        )


def planned(ports: Ports, prepared: Prepared, report: RebaseReport, name: str | None) -> tuple[Change, ...]:
    """All files of a rebase whose patches are settled, the stack last; proved.

    Raises UsageError where a file is in the way, StackctlError where the new files do not give the tree.
    """
    stack = prepared.stack
    chosen = choose(ports, prepared.selection.stack)
    changes = [*_versions(ports, prepared, report), _stack(ports, prepared, report, chosen, name)]
    changes = [change for change in changes if change.before != change.after]
    _prove(ports, stack, report, changes, _target(prepared, chosen, name))
    return tuple(changes)


def _versions(ports: Ports, prepared: Prepared, report: RebaseReport) -> Iterator[Change]:
    for patch in report.patches:
        if patch.stays and patch.data is not None:
            path = patch_file(prepared.stack.workspace, patch.name, prepared.new.key)
            before = ports.files.read(path) if ports.files.exists(path) else None
            if before not in (None, patch.data):
                message = f"{shown(ports, path)} is there with other contents, and does not fit here"
                raise UsageError(message, "Correct it or take it away.")
            yield Change(path, shown(ports, path), before, patch.data)


def _target(prepared: Prepared, chosen: Chosen, name: str | None) -> str:
    refuse_name(name)  # one that waited for hands is read from a file
    own = name_of(prepared.stack.name, key_of(prepared.stack.base), prepared.new.key or "")
    return posixpath.join(posixpath.dirname(chosen.file), f"{name or own}.yaml")


def _stack(ports: Ports, prepared: Prepared, report: RebaseReport, chosen: Chosen, name: str | None) -> Change:
    path = _target(prepared, chosen, name)
    marked = prepared.stack.bisect.patches
    staying = {patch.name for patch in report.patches if patch.stays}
    fell = isinstance(marked, tuple) and not staying.issuperset(marked)
    text = text_of(
        RebasedStack(
            name=posixpath.basename(path).removesuffix(".yaml"),
            extends=posixpath.basename(chosen.file),
            old=prepared.stack.base,
            new=prepared.new.base,
            without=dict(_left_out(prepared, report)),
            elements=[each for each in marked if each in staying] if fell and isinstance(marked, tuple) else None,
        )
    ).encode()
    before = ports.files.read(path) if ports.files.exists(path) else None
    if before not in (None, text):
        raise UsageError(f"{shown(ports, path)} is there already", "Say --as NAME for another one, or take it away.")
    return Change(path, shown(ports, path), before, text)


def _left_out(prepared: Prepared, report: RebaseReport) -> Iterator[tuple[str, str]]:
    """In the order of the queue: what the variant leaves out, and what leaves with its verdict."""
    told = {patch.name: patch for patch in report.patches}
    for name in prepared.all_patches:
        if name not in told:
            yield name, "left out by --without"
        elif not told[name].stays:
            yield name, reason(told[name])


def reason(patch: Rebased) -> str:
    """Why a patch leaves the queue, on one line."""
    words = {
        "upstream": f"the base has it: commit {patch.commit}",
        "contained": "the base has it",
        "empty": "the base makes it needless: a merge changes nothing",
        "retire": "; ".join(text for text, held in patch.conditions if held),
        "blocked": f"needs {', '.join(patch.lacking)}",
    }
    text = f"{patch.verdict}: {words[patch.verdict]}" if patch.verdict in words else patch.verdict
    return f"{text}, {patch.settled}" if patch.settled else text


def _prove(ports: Ports, stack: ResolvedStack, report: RebaseReport, changes: list[Change], target: str) -> None:
    later, _ = foreseen(ports, {change.path: change.after for change in changes if change.after is not None})
    tree = compose(later, load_file(later, Chosen(target, stack.workspace)))[1].tree
    if tree != report.tree:
        raise StackctlError(
            f"the files of the new queue give tree {tree}, the rebase found {report.tree}",
            "Nothing is written. Look at it with `stackctl patches verify`.",
        )
    for file in stack_files(ports, stack.workspace):
        if file != target:
            _refuse_changing(ports, later, Chosen(file, stack.workspace))


def _refuse_changing(now: Ports, later: Ports, chosen: Chosen) -> None:
    """A stack that is on the new base already must go on reading the files that it reads."""
    try:
        was, found = load_file(now, chosen), load_file(later, chosen)
    except StackctlError:
        return  # one that is broken already is none of this rebase's business
    other = [name for name, file in found.patch_files.items() if was.patch_files.get(name) != file]
    if other:
        message = f"{shown(now, chosen.file)} is on this base and would read another file of {', '.join(other)}"
        raise UsageError(message, "Call the patch otherwise in one of the two stacks.")
