"""Finds the workspace and the stack file that the user means. It reads no more of a file than `default:`."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass

from stackctl.core.stack.merge import did_you_mean
from stackctl.core.stack.source import Document, parse
from stackctl.errors import InvalidFile, Problem, StackctlError, UsageError, Where
from stackctl.ports import Ports

SUFFIXES = (".yaml", ".yml")
DEFAULT = re.compile(rb"^[\"']?default[\"']?\s*:|^\s*\{", re.MULTILINE)  # a file without it says nothing of `default`
NONE_YET = "the folder holds no stack file yet"


@dataclass(frozen=True)
class Chosen:
    """Absolute paths of a stack file and of the folder that holds its stacks/."""

    file: str
    workspace: str


def choose(ports: Ports, stack: str | None) -> Chosen:
    """A name, a path, $STACKCTL_STACK, or the stack that says `default: true`. Raises UsageError when none fits."""
    if stack == "":
        raise UsageError("the STACK given is empty", "is a variable of the shell not set?")
    wish = stack or ports.who.env("STACKCTL_STACK")
    if wish and (wish.endswith(SUFFIXES) or "/" in wish):
        return _by_path(ports, wish)
    workspace = workspace_of(ports, ports.files.cwd())
    if workspace is None:
        raise UsageError(
            f"no folder named stacks/ in {ports.files.cwd()} or above it",
            "run stackctl inside of a workspace, or give the path of a stack file",
        )
    return Chosen(_by_name(ports, workspace, wish) if wish else _default(ports, workspace), workspace)


def workspace_of(ports: Ports, folder: str) -> str | None:
    """The nearest folder upward that holds stacks/."""
    while True:
        if ports.files.is_dir(posixpath.join(folder, "stacks")):
            return folder
        if folder == posixpath.dirname(folder):
            return None
        folder = posixpath.dirname(folder)


def shown(ports: Ports, path: str) -> str:
    """A path as messages say it: from the current folder when it lies below it."""
    prefix = ports.files.cwd().rstrip("/") + "/"
    return path[len(prefix) :] if path.startswith(prefix) else path


def stack_files(ports: Ports, workspace: str) -> tuple[str, ...]:
    folder = posixpath.join(workspace, "stacks")
    return tuple(posixpath.join(folder, name) for name in ports.files.list(folder) if name.endswith(SUFFIXES))


def defaults(ports: Ports, workspace: str, known: tuple[str, Where] | None = None) -> list[tuple[str, Where]]:
    """Files that say `default: true`, each with the place. A file that cannot be read says nothing here.

    `known`: one that was read already and says it.
    """
    found = []
    for file in stack_files(ports, workspace):
        if known and file == known[0]:
            found.append(known)
            continue
        document = _parsed(ports, file)
        if document and document.value.get("default") is True:
            found.append((file, document.marks[("default",)].key))
    return found


def refuse_two(found: list[tuple[str, Where]]) -> None:
    """Raises InvalidFile when several stacks say that they are the default one."""
    if len(found) > 1:
        names = " and ".join(_stem(file) for file, _ in found)
        places = [Problem(f"two default stacks: {names}", where, "default") for _, where in found]
        raise InvalidFile(places, "leave `default: true` in one of them")


def _by_path(ports: Ports, wish: str) -> Chosen:
    file = posixpath.normpath(posixpath.join(ports.files.cwd(), wish))
    if not ports.files.exists(file) or ports.files.is_dir(file):
        raise UsageError(f"there is no stack file {shown(ports, file)}", _path_hint(ports, file))
    folder = posixpath.dirname(file)
    if posixpath.basename(folder) == "stacks":
        return Chosen(file, posixpath.dirname(folder))
    return Chosen(file, workspace_of(ports, folder) or folder)


def _path_hint(ports: Ports, file: str) -> str:
    workspace = workspace_of(ports, posixpath.dirname(file))
    known = [_stem(one) for one in stack_files(ports, workspace)] if workspace else []
    name = _stem(file)
    return f"did you mean `{name}`?" if name in known else "give the path of a YAML file, or a stack's name"


def _by_name(ports: Ports, workspace: str, name: str) -> str:
    files = stack_files(ports, workspace)
    for file in files:
        if _stem(file) == name:
            return file
    known = [_stem(file) for file in files]
    hint = did_you_mean(name, known) or (f"stacks here: {', '.join(known)}" if known else NONE_YET)
    raise UsageError(f"no stack is called `{name}` in {shown(ports, workspace)}/stacks", hint)


def _default(ports: Ports, workspace: str) -> str:
    found = defaults(ports, workspace)
    refuse_two(found)
    if found:
        return found[0][0]
    known = [_stem(file) for file in stack_files(ports, workspace)]
    hint = (
        f"give one of {', '.join(known)}, set STACKCTL_STACK, or write `default: true` into one" if known else NONE_YET
    )
    raise UsageError("which stack? None says `default: true`", hint)


def _parsed(ports: Ports, file: str) -> Document | None:
    try:
        data = ports.files.read(file)
        return parse(shown(ports, file), data) if DEFAULT.search(data) else None
    except (StackctlError, OSError):
        return None


def _stem(file: str) -> str:
    return posixpath.splitext(posixpath.basename(file))[0]
