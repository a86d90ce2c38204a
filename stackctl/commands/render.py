"""`stackctl render`: write a release's scripts into a folder. It never overwrites what it did not write."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from stackctl.commands.release import release
from stackctl.commands.selection import Selection
from stackctl.core.deploy.values import Release
from stackctl.core.names import ReleaseId, TreeId
from stackctl.core.render.scripts import MARK
from stackctl.errors import StackctlError, UsageError
from stackctl.ports import Ports


@dataclass(frozen=True)
class RenderRequest:
    """`out`: a folder; it is made when it is not there."""

    selection: Selection
    out: str


@dataclass(frozen=True)
class RenderResult:
    """`removed`: scripts of an earlier render that this release no longer has."""

    stack: str
    variant: str
    release: ReleaseId
    tree: TreeId
    out: str
    written: tuple[str, ...]
    removed: tuple[str, ...] = ()


def render(ports: Ports, request: RenderRequest, make: Callable[[Ports, Selection], Release] = release) -> RenderResult:
    """Write serve-*.sh (mode 0755), each whole or not at all. Raises StackctlError for a foreign file in the way."""
    if not request.out:
        raise UsageError("--out is empty", "is a variable of the shell not set?")
    made = make(ports, request.selection)
    folder = posixpath.normpath(posixpath.join(ports.files.cwd(), request.out))
    if ports.files.exists(folder) and not ports.files.is_dir(folder):
        raise StackctlError(f"{request.out} is a file", "give a folder with --out")
    foreign = [name for name in made.scripts if not _may_write(ports, posixpath.join(folder, name))]
    if foreign:
        raise StackctlError(
            f"{request.out} holds files that stackctl did not write: {', '.join(foreign)}",
            "move them away, or give another folder with --out",
        )
    removed = tuple(_stale(ports, folder, made))
    for name in removed:
        ports.files.remove(posixpath.join(folder, name))
    for name, text in made.scripts.items():
        ports.files.write(posixpath.join(folder, name), text.encode(), 0o755 if name.endswith(".sh") else 0o644)
    return RenderResult(
        made.stack.name, str(made.stack.variant), made.id, made.tree.tree, request.out, tuple(made.scripts), removed
    )


def _may_write(ports: Ports, path: str) -> bool:
    """Nothing is there, or an empty file, or one of ours. A chat template is named by its content: the same again."""
    if not ports.files.exists(path) or not path.endswith(".sh"):
        return True
    return not ports.files.is_dir(path) and _is_ours(ports.files.read(path))


def _is_ours(data: bytes) -> bool:
    return not data or MARK.encode() in b"\n".join(data.split(b"\n")[:2])


def _stale(ports: Ports, folder: str, made: Release) -> Iterator[str]:
    """Scripts of an instance that is gone: left behind, they would be run with the rest."""
    for name in ports.files.list(folder):
        if name.startswith("serve-") and name.endswith(".sh") and name not in made.scripts:
            path = posixpath.join(folder, name)
            if not ports.files.is_dir(path) and _is_ours(ports.files.read(path)):
                yield name
