"""Proves the workspace as an import with `--add` would leave it: the stack, and others that read the same files.

Nothing is written here. A stack on another base is told as not proved, since only its own verify can tell.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from stackctl.commands.changes import Change, write_changes
from stackctl.commands.gather import load_file
from stackctl.commands.importing.ground import Ground
from stackctl.commands.queue.foreseen import ForeseenFiles
from stackctl.commands.queue.proof import Plan, after, elsewhere, refuse_conflicts
from stackctl.commands.tree import apply_patches, read_queue
from stackctl.commands.workspace import Chosen, shown
from stackctl.core.importing.decide import Note
from stackctl.core.names import TreeId
from stackctl.errors import PatchConflict, StackctlError
from stackctl.ports import Ports


def prove_added(
    ports: Ports, chosen: Chosen, ground: Ground, changes: Sequence[Change], wanted: TreeId | None
) -> Iterator[Note]:
    """What could not be proved. `wanted`: the tree that the whole queue must give, None when nothing says.

    Raises the queue's own faults, and PatchConflict when it gives another tree or breaks another stack.
    """
    later = after(ports, changes)
    stack = load_file(later, chosen)
    read = read_queue(later, stack)
    refuse_conflicts(read)
    made = apply_patches(later, read, read.queue.patches).trees[ground.source]
    whole = load_file(ports, chosen).patches == ground.stack.patches  # else it was read without some, or with more
    if wanted is not None and whole and made != wanted:
        message = f"the changed {stack.file} would give tree {made}, the source has {wanted}"
        raise PatchConflict(message, "Nothing is written. Import without `--add`, and place the lines by hand.")
    for other in elsewhere(ports, later, Plan(chosen, stack, read, (), tuple(changes))):
        if not other.proved:
            text = f"it reads the same file and has another base: `stackctl patches verify {other.stack}`"
            yield Note("unproved", text, other.stack)


def write_proved(ports: Ports, seen: ForeseenFiles, workspace: str, changes: Sequence[Change]) -> None:
    """Refused when a file that was read on the way is another one now."""
    moved = seen.moved_on(workspace)
    if moved:
        names = ", ".join(shown(ports, path) for path in moved)
        raise StackctlError(f"changed meanwhile, so nothing is written: {names}", "Run the command again.")
    write_changes(ports, [each for each in changes if each.before != each.after])
