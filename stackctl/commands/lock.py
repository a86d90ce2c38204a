"""`stackctl lock`: write down what a stack is now, beside its file, for `check --locked` to compare with."""

from __future__ import annotations

import json
import posixpath
from collections.abc import Callable
from dataclasses import dataclass

from stackctl.commands.gather import load
from stackctl.commands.selection import Selection
from stackctl.commands.tree import compose, tree_after_each
from stackctl.commands.workspace import shown
from stackctl.core.names import PatchName, TreeId
from stackctl.core.patches.values import PatchedTree
from stackctl.core.stack import lock as locking
from stackctl.core.stack.resolved import ResolvedStack
from stackctl.errors import StackctlError, UsageError, Where
from stackctl.ports import Ports

Compose = Callable[[Ports, ResolvedStack], tuple[ResolvedStack, PatchedTree]]
After = Callable[[Ports, ResolvedStack], tuple[tuple[PatchName, TreeId], ...]]


@dataclass(frozen=True)
class LockResult:
    stack: str
    file: str
    changed: bool
    tree: TreeId
    differences: tuple[str, ...] = ()  # against the lock that was there
    model: ModelLock | None = None


@dataclass(frozen=True)
class ModelLock:
    """The manifest that was read from `hosts`: how many small files and shards it has, and what became different."""

    file: str
    changed: bool
    hosts: tuple[str, ...]
    files: int
    shards: int
    differences: tuple[str, ...] = ()


def lock(ports: Ports, selection: Selection, compose: Compose = compose, after: After = tree_after_each) -> LockResult:
    """Write stacks/NAME.lock; the same stack gives the same bytes. Raises UsageError for a variant."""
    refuse_variant(selection, "lock")
    stack, tree = compose(ports, load(ports, selection))
    content = locking.lock(stack, tree, after(ports, stack))
    path = lock_file(ports, stack)
    data = locking.text(content).encode()
    old = ports.files.read(path) if ports.files.exists(path) else None
    if data == old:
        return LockResult(stack.name, shown(ports, path), False, tree.tree)
    differences = () if old is None else tuple(locking.differences(_parsed(old), content))
    ports.files.write(path, data)
    return LockResult(stack.name, shown(ports, path), True, tree.tree, differences)


def compare(ports: Ports, stack: ResolvedStack, tree: PatchedTree, after: After = tree_after_each) -> None:
    """Raises StackctlError with every difference between the lock file and the stack as it is."""
    path = lock_file(ports, stack)
    near = shown(ports, path)
    if not ports.files.exists(path):
        raise StackctlError(f"stack {stack.name} is not locked", f"`stackctl lock {stack.name}` writes {near}")
    locked = _parsed(ports.files.read(path))
    if locked is None:
        raise StackctlError("not a lock file", f"`stackctl lock {stack.name}` writes it anew", Where(near))
    found = tuple(locking.differences(locked, locking.lock(stack, tree, after(ports, stack))))
    if found:
        lines = "".join(f"\n  {line}" for line in found)
        raise StackctlError(
            f"stack {stack.name} is not what {near} says:{lines}", f"if that is meant, `stackctl lock {stack.name}`"
        )


def refuse_variant(selection: Selection, verb: str) -> None:
    """A lock speaks of the stack file, never of an ad-hoc variant."""
    if selection.without or selection.with_patches:
        raise UsageError(f"`{verb}` speaks of the stack as its file says", "leave out --without and --with")


def lock_file(ports: Ports, stack: ResolvedStack) -> str:
    """Absolute path, beside the stack file."""
    folder = posixpath.dirname(posixpath.join(ports.files.cwd(), stack.file))
    return posixpath.join(folder, f"{stack.name}.lock")


def _parsed(data: bytes) -> dict[str, object] | None:
    try:
        content = json.loads(data)
    except ValueError:
        return None
    return content if isinstance(content, dict) else None
