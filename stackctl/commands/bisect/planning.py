"""Plans the trees of many variants of one stack, and writes none: what a bisect asks before it deploys anything.

The queue is read once. Variants meet the same states of the same files, and engine A remembers them; a patch file or
a base that has changed meanwhile is read anew. What is deployed is composed afresh, by git.
"""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256

from stackctl.commands.base import fetch_base
from stackctl.commands.tree import Read, all_patches, base_tree, file_of, plan_patches, read_queue
from stackctl.core.names import TreeId
from stackctl.core.patches.values import PatchedTree
from stackctl.core.stack.resolved import ResolvedStack, Variant
from stackctl.core.stack.variant import leave_out
from stackctl.errors import StackctlError
from stackctl.ports import Ports

Key = tuple[tuple[tuple[str, TreeId], ...], tuple[tuple[str, str], ...]]


class Planner:
    """`compose` as in tree.py, but the trees have ids only. One queue at a time is remembered."""

    def __init__(self) -> None:
        self._known: tuple[Key, Read] | None = None

    def compose(self, ports: Ports, stack: ResolvedStack) -> tuple[ResolvedStack, PatchedTree]:
        """The stack without what its variant leaves out, and its tree. Raises PatchConflict and InvalidFile."""
        read = self._read(ports, stack)
        taken = leave_out(stack, read.queue.needs)
        wanted = set(all_patches(taken))
        return taken, plan_patches(ports, read, [patch for patch in read.queue.patches if patch.name in wanted])

    def _read(self, ports: Ports, stack: ResolvedStack) -> Read:
        try:
            key = _key(ports, stack)
            if self._known is None or self._known[0] != key:
                whole = replace(stack, variant=Variant(added=stack.variant.added))
                self._known = (key, read_queue(ports, whole))
        except StackctlError:  # of a patch, perhaps, that this variant leaves out
            return read_queue(ports, stack)
        return self._known[1]


def _key(ports: Ports, stack: ResolvedStack) -> Key:
    trees = [("", base_tree(ports, stack))]
    trees += [(name, fetch_base(ports, base, f"sources.{name}")) for name, base in stack.sources.items()]
    names = all_patches(stack)
    return tuple(trees), tuple((name, sha256(ports.files.read(file_of(stack, name))).hexdigest()) for name in names)
