"""Open edits: where their work trees lie, what they remember, how one is found, and how it is closed.

A work tree is `<workspace>/.stackctl/edit/STACK/TOPIC+NAME`; its record lies in its own `.git`, so that both come and
go with one rename. Whatever step a command is killed in, the next one finds the tree as it was, or nothing to save.
"""

from __future__ import annotations

import posixpath
from dataclasses import dataclass

from stackctl.commands.workspace import Chosen, choose, shown, workspace_of
from stackctl.core.authoring.edit import Edit, dump, load
from stackctl.core.names import PatchName
from stackctl.core.stack.merge import did_you_mean
from stackctl.errors import StackctlError, UsageError
from stackctl.ports import Ports

FOLDER = ".stackctl/edit"
RECORD = ".git/stackctl.json"
MESSAGE = ".git/STACKCTL_MESSAGE"
MAKING, GONE = ".making-", ".gone-"  # no patch name begins with a dot


@dataclass(frozen=True)
class Place:
    """Where the work tree of one patch of one stack lies: absolute paths."""

    workspace: str
    stack: str
    name: PatchName

    @property
    def key(self) -> str:
        return self.name.replace("/", "+")  # which no patch name holds

    @property
    def called(self) -> str:
        """The stack as a command line names it, wherever the user stands."""
        stem, suffix = posixpath.splitext(posixpath.basename(self.stack))
        return stem if self.stack == f"{self.workspace}/stacks/{stem}{suffix}" else self.stack

    @property
    def folder(self) -> str:
        return f"{self._above}/{self.key}"

    @property
    def making(self) -> str:
        return f"{self._above}/{MAKING}{self.key}"

    @property
    def gone(self) -> str:
        return f"{self._above}/{GONE}{self.key}"

    @property
    def patch_file(self) -> str:
        return f"{self.workspace}/patches/{self.name}.patch"

    def saved(self, mark: str) -> str:
        """Where the diff of an edit is kept that is given up."""
        return f"{self._above}/{self.key}.{mark}.diff"

    @property
    def _above(self) -> str:
        return f"{self.workspace}/{FOLDER}/{posixpath.splitext(posixpath.basename(self.stack))[0]}"


@dataclass(frozen=True)
class Opened:
    """An edit that is open. `aside`: a command that runs, or was killed, has put its work tree out of sight."""

    place: Place
    edit: Edit
    aside: bool = False

    @property
    def folder(self) -> str:
        """Where the work tree is now."""
        return self.place.gone if self.aside else self.place.folder


def place_of(chosen: Chosen, name: str) -> Place:
    return Place(chosen.workspace, chosen.file, patch_name(name))


def patch_name(text: str) -> PatchName:
    """As a stack writes it, of a name or of a path that was typed."""
    return PatchName(text.removeprefix("patch:").removeprefix("patches/").removesuffix(".patch"))


def opened(ports: Ports, place: Place) -> Edit | None:
    """The record of an edit that is open; mends what a killed command has left.

    Raises StackctlError when a folder stands there that stackctl did not make.
    """
    _mend(ports, place)
    edit = _record(ports, place.folder)
    if edit is None and ports.files.exists(place.folder):
        raise StackctlError(f"{shown(ports, place.folder)} is no work tree of an edit", "Move it away.")
    if edit and posixpath.join(place.workspace, edit.stack) != place.stack:
        raise StackctlError(
            f"{edit.name} is open for another stack file, {edit.stack}",
            "Fold or drop that edit first: stacks of one name share a folder.",
        )
    return edit


def remember(ports: Ports, folder: str, edit: Edit) -> None:
    ports.files.write(f"{folder}/{RECORD}", dump(edit))


def all_open(ports: Ports, workspace: str) -> tuple[Opened, ...]:
    """Also of those that a command has put aside. It only looks: whose folders these are it cannot know."""
    found = []
    above = f"{workspace}/{FOLDER}"
    for stack in ports.files.list(above):
        for key in ports.files.list(f"{above}/{stack}"):
            lies_in = f"{above}/{stack}/{key.removeprefix(GONE)}"
            edit = _record(ports, f"{above}/{stack}/{key}")
            if edit is None or key.startswith(MAKING) or (key.startswith(GONE) and ports.files.exists(lies_in)):
                continue
            place = Place(workspace, posixpath.join(workspace, edit.stack), edit.name)
            if place.folder == lies_in:
                found.append(Opened(place, edit, key.startswith(GONE)))
    return tuple(found)


def find(ports: Ports, name: str | None, stack: str | None) -> Opened:
    """The edit that is meant: by its names, by the folder that the user is in, or the only one. Raises UsageError."""
    workspace = choose(ports, stack).workspace if stack else workspace_of(ports, ports.files.cwd())
    if workspace:
        _sweep(ports, workspace)
    edits = all_open(ports, workspace) if workspace else ()
    if stack:
        file = choose(ports, stack).file
        edits = tuple(each for each in edits if each.place.stack == file)
    if name:
        wanted = patch_name(name)
        fitting = [each for each in edits if each.edit.name == wanted]
    else:
        inside = [each for each in edits if f"{ports.files.cwd()}/".startswith(f"{each.place.folder}/")]
        fitting = inside or list(edits)
    if len(fitting) != 1:
        raise _which(name, fitting, edits)
    edit = opened(ports, fitting[0].place)
    if edit is None:
        raise _which(name, [], ())
    return Opened(fitting[0].place, edit)


def discard(ports: Ports, folder: str) -> None:
    """Without its record first, so that half of it is never taken for a work tree."""
    ports.files.remove(f"{folder}/{RECORD}")
    ports.files.remove(folder)


def _sweep(ports: Ports, workspace: str) -> None:
    """What a killed command has left of an edit that it had closed."""
    above = f"{workspace}/{FOLDER}"
    for stack in ports.files.list(above):
        for key in ports.files.list(f"{above}/{stack}"):
            folder = f"{above}/{stack}/{key}"
            if key.startswith(GONE) and _record(ports, folder) is None:
                ports.files.remove(folder)


def _mend(ports: Ports, place: Place) -> None:
    ports.files.remove(place.making)
    if not ports.files.exists(place.gone):
        return
    if ports.files.exists(place.folder) or _record(ports, place.gone) is None:
        discard(ports, place.gone)
    else:
        ports.work_trees.move(place.gone, place.folder)


def _record(ports: Ports, folder: str) -> Edit | None:
    file = f"{folder}/{RECORD}"
    return load(ports.files.read(file)) if ports.files.exists(file) else None


def _which(name: str | None, fitting: list[Opened], edits: tuple[Opened, ...]) -> UsageError:
    listed = ", ".join(f"{each.edit.name} of {each.place.called}" for each in fitting or edits)
    if fitting:
        return UsageError(f"which edit? Open are {listed}", "Give NAME, and STACK where two have the same.")
    if not edits:
        return UsageError("no edit is open", "`stackctl patches edit NAME` opens one, `patches new NAME` a new patch.")
    hint = did_you_mean(name or "", [each.edit.name for each in edits])
    return UsageError(f"no edit of {name} is open", hint or f"Open are {listed}.")
