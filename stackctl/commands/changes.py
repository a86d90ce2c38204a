"""Changes to files that people keep: planned whole, shown as a diff, then written all or none.

A file is written only while it is as it was when the change was planned. Which file of a stack holds a patch's line,
and which other stacks read the same file, is found here; what the line becomes is decided in core/stack/edit.py.
"""

from __future__ import annotations

import difflib
import posixpath
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from stackctl.commands.gather import merged_chain
from stackctl.commands.workspace import Chosen, shown, stack_files
from stackctl.core.stack.edit import StackFile
from stackctl.core.stack.merge import Merged
from stackctl.core.stack.source import Path
from stackctl.errors import StackctlError, UsageError
from stackctl.ports import Files, Ports


@dataclass(frozen=True)
class Change:
    """One file. `path` is absolute, `file` as messages show it. None before: it is new; None after: it goes."""

    path: str
    file: str
    before: bytes | None
    after: bytes | None


def holder(ports: Ports, chosen: Chosen, name: str) -> str:
    """The absolute path of the file, of those that the stack extends, which lists the patch. Raises UsageError."""
    merged = merged_chain(ports, chosen.file)
    names = merged.value.get("patches")
    names = names if isinstance(names, list) else []
    if name not in names:
        raise UsageError(f"the queue of {shown(ports, chosen.file)} has no patch {name}")
    return _holder(merged, ("patches", names.index(name)))


def _holder(merged: Merged, path: Path) -> str:
    file = merged.where(path).file
    return posixpath.join(merged.folders[file], posixpath.basename(file))


def chain_files(ports: Ports, file: str) -> tuple[str, ...]:
    """The absolute paths of a stack file and of all that it extends. Raises InvalidFile."""
    folders = merged_chain(ports, file).folders
    return tuple(posixpath.join(folder, posixpath.basename(one)) for one, folder in folders.items())


def readers(ports: Ports, workspace: str, path: str) -> tuple[str, ...]:
    """The stack files of the workspace that are this file or extend it; those that cannot be read are left out."""
    found = []
    for file in stack_files(ports, workspace):
        with suppress(StackctlError):
            if path in chain_files(ports, file):
                found.append(file)
    return tuple(found)


def change_stack(ports: Ports, path: str, edit: Callable[[StackFile], StackFile]) -> Change:
    """A stack file as `edit` makes it. Raises InvalidFile with the place where that is not possible."""
    before = ports.files.read(path)
    return Change(path, shown(ports, path), before, edit(StackFile(shown(ports, path), before)).data)


def refuse_other(ports: Ports, path: str, begins: bytes, what: str) -> None:
    """Raises StackctlError when something is there that does not begin, in whatever case, as what we write there."""
    if not ports.files.exists(path):
        return
    if ports.files.is_dir(path) or not ports.files.read(path).lower().startswith(begins.lower()):
        raise StackctlError(f"{shown(ports, path)} is there and is no {what}", "Name another file.")


def as_diff(changes: Iterable[Change]) -> str:
    """What would be written, as one diff; bytes that are no UTF-8 come through."""
    return "".join(line for change in changes for line in _diff(change))


def _diff(change: Change) -> Iterator[str]:
    if change.before == change.after:
        return
    old = "/dev/null" if change.before is None else f"a/{change.file.lstrip('/')}"
    new = "/dev/null" if change.after is None else f"b/{change.file.lstrip('/')}"
    for line in difflib.unified_diff(_lines(change.before), _lines(change.after), old, new):
        yield line if line.endswith("\n") else line + "\n\\ No newline at end of file\n"


def _lines(data: bytes | None) -> list[str]:
    parts = (data or b"").decode("utf-8", "surrogateescape").split("\n")
    return [part + "\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


def write_changes(ports: Ports, changes: Sequence[Change]) -> None:
    """Write all of them. When one cannot be written, or Ctrl-C comes, those before it are as they were.

    What then cannot be put back either is told by name. Raises StackctlError, and writes nothing, when a file is not
    as it was when its change was planned, or is a link: a write would leave a copy in its place, and what it leads to
    may belong to others.
    """
    links = [change.file for change in changes if ports.files.is_link(change.path)]
    if links:
        hint = "Change the file that it leads to, or put a file in its place."
        raise StackctlError(f"a link, so nothing is written: {', '.join(links)}", hint)
    moved = [change.file for change in changes if _now(ports.files, change.path) != change.before]
    if moved:
        raise StackctlError(f"changed meanwhile, so nothing is written: {', '.join(moved)}", "Run the command again.")
    modes = {change.path: ports.files.mode(change.path) for change in changes if change.before is not None}
    done: list[Change] = []
    try:
        for change in changes:
            done.append(change)
            _put(ports.files, change.path, change.after)
    except BaseException:
        for change in reversed(done):
            _put_back(ports, change, modes.get(change.path))
        raise


def _put_back(ports: Ports, change: Change, mode: int | None) -> None:
    """Whatever goes wrong here is told, not raised: it must neither hide why, nor keep the other files from it."""
    try:
        if _now(ports.files, change.path) == change.after:
            _put(ports.files, change.path, change.before, mode)
    except Exception as error:
        ports.progress.say(f"{change.file} could not be put back as it was: {error}")


def _put(files: Files, path: str, data: bytes | None, mode: int | None = None) -> None:
    if data is None:
        files.remove(path)
    else:
        files.write(path, data, mode)


def _now(files: Files, path: str) -> bytes | None:
    return files.read(path) if files.exists(path) else None
