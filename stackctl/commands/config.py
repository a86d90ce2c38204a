"""`stackctl config`: the stack as it is after `extends` and defaults. Secrets are names only, so none can show."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from stackctl.commands.gather import load
from stackctl.commands.selection import Selection
from stackctl.commands.tree import compose
from stackctl.core.patches.values import PatchedTree
from stackctl.core.stack import present
from stackctl.core.stack.lock import digest
from stackctl.core.stack.resolved import ResolvedStack
from stackctl.ports import Ports

Compose = Callable[[Ports, ResolvedStack], tuple[ResolvedStack, PatchedTree]]


@dataclass(frozen=True)
class ConfigResult:
    """`text` is a stack file that reads back as this stack; `content` the same as plain values."""

    stack: str
    file: str
    variant: str
    sha256: str
    content: dict[str, object]
    text: str


def config(ports: Ports, selection: Selection, compose: Compose = compose) -> ConfigResult:
    """Without a variant nothing is fetched; with one the base is needed to know what falls with it."""
    stack = load(ports, selection)
    if not stack.variant.is_plain:
        stack, _ = compose(ports, stack)
    variant = str(stack.variant)
    return ConfigResult(stack.name, stack.file, variant, digest(stack), present.as_file(stack), present.text(stack))
