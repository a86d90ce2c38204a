"""Takes what a person made of a conflict out of its work tree: checks it, keeps it, and has git remember it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from stackctl.commands.authoring.worktree import refuse_losing
from stackctl.commands.rebase.folder import Session, keep_resolution
from stackctl.commands.rebase.memory import remember, remembered
from stackctl.commands.workspace import shown
from stackctl.core.names import TreeId
from stackctl.core.patches.canonical import canonical
from stackctl.core.patches.faults import Fault
from stackctl.core.patches.parse import parse
from stackctl.core.patches.values import Header
from stackctl.core.rebase.events import Opened
from stackctl.core.rebase.merge import Labels, leftover
from stackctl.core.stack.resolved import ResolvedStack
from stackctl.errors import InvalidFile, Problem, Where
from stackctl.ports import Ports


def take_work(ports: Ports, stack: ResolvedStack, session: Session, waiting: Opened, labels: Labels) -> Session:
    """The session with one resolution more.

    Raises InvalidFile with everything that is not settled, StackctlError for what would be lost with the work tree.
    """
    ports.work_trees.lend(session.work)
    snapshot = ports.work_trees.snapshot(session.work, waiting.onto)
    tree = snapshot.tree
    there = sorted(path for path, facts in ports.merges.changes(waiting.onto, tree).items() if facts)
    contents = ports.git.read(tree, there)
    diff = ports.git.diff(waiting.onto, tree).encode("utf-8", "surrogateescape")
    problems = list(_unsettled(shown(ports, session.work), waiting, tree, contents, diff))
    if problems:
        raise InvalidFile(problems, f"--continue when it is done; --leave-out gives {waiting.patch} up, --abort all.")
    refuse_losing(snapshot)
    _remember(ports, stack, waiting, contents, labels)
    return keep_resolution(ports, session, waiting, diff, tree)


def _remember(
    ports: Ports, stack: ResolvedStack, waiting: Opened, contents: Mapping[str, bytes], labels: Labels
) -> None:
    if waiting.after is None or not (ports.git.has_tree(waiting.before) and ports.git.has_tree(waiting.after)):
        return
    merged = ports.merges.merge(waiting.before, waiting.onto, waiting.after, labels)
    made = {path: contents[path] for path in merged.conflicted if path in contents}
    remember(ports, stack, ports.merges.remember(merged, made, remembered(ports, stack)))


def _unsettled(
    work: str, waiting: Opened, tree: TreeId, contents: Mapping[str, bytes], diff: bytes
) -> Iterator[Problem]:
    marked = {path: line for path, data in contents.items() if (line := leftover(data))}
    for path, line in sorted(marked.items()):
        yield Problem("a conflict is still marked here", Where(f"{work}/{path}", line), hint="settle it, marks and all")
    if not marked and tree == waiting.shown:
        yield Problem(
            "nothing was changed", Where(work), hint=f"make the change of {waiting.patch} where it belongs now"
        )
    fault = parse(canonical(Header("x", None, None, ""), diff), waiting.patch) if diff else None
    if isinstance(fault, Fault):
        yield Problem(f"{fault.kind}: {fault.message}", Where(work), hint=fault.hint)
