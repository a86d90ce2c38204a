"""A variant: the same stack with some of its elements left out, and with them all that needs them.

It decides nothing about which variants are worth trying; it only refuses one that contradicts itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import cast

from stackctl.core.names import PatchName
from stackctl.core.patches.values import Need
from stackctl.core.stack import elements
from stackctl.core.stack.resolved import Element, Instance, ResolvedStack, Value
from stackctl.errors import UsageError


def fallen(names: Iterable[PatchName], needs: Sequence[Need]) -> frozenset[PatchName]:
    """These patches and every patch that needs one of them, over any number of steps."""
    gone = set(names)
    while True:
        more = {need.patch for need in needs if need.needs in gone} - gone
        if not more:
            return frozenset(gone)
        gone |= more


def leave_out(stack: ResolvedStack, needs: Sequence[Need]) -> ResolvedStack:
    """The stack without `stack.variant.without`; `variant.dropped` says what fell with it.

    Raises UsageError when a patch given by --with needs one that is left out.
    """
    without = stack.variant.without
    named = {PatchName(element.name) for element in without if element.kind == "patch"}
    gone = fallen(named, needs)
    for name in stack.variant.added:
        if name in gone:
            missing = ", ".join(sorted({need.needs for need in needs if need.patch == name and need.needs in gone}))
            raise UsageError(f"{name} needs {missing}, which is left out", "leave that in, or do not add the patch")
    dropped = tuple(Element("patch", name) for name in stack.patches if name in gone - named)
    kept = tuple(name for name in stack.patches if name not in gone)
    return replace(
        stack,
        patches=kept,
        patch_files={name: file for name, file in stack.patch_files.items() if name in kept},
        engines=tuple(_flipped(stack, _lighter(instance, without)) for instance in stack.engines),
        router=_lighter(stack.router, without) if stack.router else None,
        variant=replace(stack.variant, dropped=dropped),
    )


def _lighter(instance: Instance, without: Sequence[Element]) -> Instance:
    return replace(
        instance,
        flags=cast(dict[str, Value], elements.without(instance, without, "flag")),
        env=cast(dict[str, str], elements.without(instance, without, "env")),
    )


def _flipped(stack: ResolvedStack, engine: Instance) -> Instance:
    """With the flags of `bisect.flip` that are left out: the stack does not set them, the variant does."""
    out = {element.name for element in stack.variant.without if element.kind == "flag" and element.role is None}
    set_now = {name: value for name, value in stack.bisect.flip.items() if name in out and value is not False}
    return replace(engine, flags={**engine.flags, **set_now}) if set_now else engine
