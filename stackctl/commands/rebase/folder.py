"""The folder of a rebase that waits for hands: `<workspace>/.stackctl/rebase/STACK/`.

`session.jsonl` says what happened, `resolved/` holds what a person made of conflicts, `tree/` is the work tree of the
patch that waits. Each is written whole or not at all, so that a killed command leaves something to go on with.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from stackctl.commands.authoring.worktree import refuse_losing
from stackctl.commands.rebase.tries import Resolution
from stackctl.commands.workspace import shown
from stackctl.core.names import PatchName, TreeId
from stackctl.core.rebase.events import Event, Opened, Resolved, SessionState, line_of, state_of
from stackctl.core.stack.resolved import ResolvedStack
from stackctl.errors import StackctlError
from stackctl.ports import Ports


@dataclass(frozen=True)
class Session:
    folder: str
    state: SessionState
    lines: tuple[str, ...] = ()

    @property
    def work(self) -> str:
        return f"{self.folder}/tree"

    @property
    def log(self) -> str:
        return f"{self.folder}/session.jsonl"


def folder_of(stack: ResolvedStack) -> str:
    return f"{stack.workspace}/.stackctl/rebase/{stack.name}"


def read_session(ports: Ports, stack: ResolvedStack) -> Session | None:
    """The open rebase of a stack. Raises StackctlError when its file cannot be understood."""
    folder = folder_of(stack)
    log = f"{folder}/session.jsonl"
    if not ports.files.exists(log):
        return None
    lines = tuple(ports.files.read(log).decode("utf-8", "replace").splitlines())
    try:
        state = state_of(lines)
    except ValueError as error:
        raise StackctlError(f"{shown(ports, log)}: {error}", "Repair it, or take the folder away.") from error
    return Session(folder, state, lines) if state else None


def with_event(ports: Ports, session: Session, event: Event) -> Session:
    lines = (*session.lines, line_of(event))
    ports.files.write(session.log, "".join(f"{line}\n" for line in lines).encode())
    state = state_of(lines)
    return replace(session, lines=lines, state=state or session.state)


def resolutions(ports: Ports, session: Session) -> dict[PatchName, Resolution]:
    """What was made of conflicts so far."""
    found = session.state.resolved.items()
    return {name: Resolution(each.onto, ports.files.read(f"{session.folder}/{each.file}")) for name, each in found}


def keep_resolution(ports: Ports, session: Session, waiting: Opened, diff: bytes, seen: TreeId) -> Session:
    """The diff first, then the event that names it; then the work tree, of which `seen` is taken, has done its duty."""
    file = f"resolved/{_flat(waiting.patch)}.diff"
    ports.files.write(f"{session.folder}/{file}", diff)
    session = with_event(ports, session, Resolved(waiting.patch, waiting.onto, file))
    _put_away(ports, session, waiting, seen)
    return session


def make_work(ports: Ports, session: Session, waiting: Opened) -> None:
    """Made aside and moved into place. What was there before is in a resolution already."""
    aside = f"{session.folder}/tree.new"
    ports.files.remove(aside)
    title = f"The base and the patches before {waiting.patch}"
    with ports.progress.step(f"writing the work tree of {waiting.patch}"):
        ports.work_trees.make(aside, waiting.onto, waiting.shown, waiting.patch, title)
    ports.files.remove(session.work)
    ports.work_trees.move(aside, session.work)


def keep_edits(ports: Ports, session: Session, waiting: Opened) -> str | None:
    """Takes the work tree away. The file that keeps what was edited in it; None when nothing was.

    Raises StackctlError when the work tree holds what no diff keeps.
    """
    if not ports.files.is_dir(session.work):
        return None
    ports.work_trees.lend(session.work)
    snapshot = ports.work_trees.snapshot(session.work, waiting.onto)
    refuse_losing(snapshot)
    file = _keep(ports, session, waiting, snapshot.tree) if snapshot.tree != waiting.shown else None
    _put_away(ports, session, waiting, snapshot.tree)
    return file


def _keep(ports: Ports, session: Session, waiting: Opened, tree: TreeId) -> str:
    file = f"{session.folder}-{_flat(waiting.patch)}.{tree[:8]}.diff"  # never over an earlier one
    ports.files.write(file, ports.git.diff(waiting.onto, tree).encode("utf-8", "surrogateescape"))
    return file


def _put_away(ports: Ports, session: Session, waiting: Opened, seen: TreeId) -> None:
    """Out of sight, looked at once more, then gone: what was saved in it since `seen` is kept as a diff, and told."""
    gone = f"{session.folder}/tree.gone"
    ports.files.remove(gone)
    ports.work_trees.move(session.work, gone)
    now = ports.work_trees.snapshot(gone, waiting.onto).tree
    if now != seen:
        file = _keep(ports, session, waiting, now)
        ports.progress.say(f"what was changed in the work tree meanwhile is in {shown(ports, file)}")
    ports.files.remove(gone)


def _flat(name: PatchName) -> str:
    return name.replace("/", "~")
