"""What every verb that looks at a stack is told: which one, and the ad-hoc variant of it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Selection:
    """`stack`: a name in stacks/, a path, or None (then $STACKCTL_STACK, else the stack with `default: true`).

    `without`: elements as typed (`patch:demo/x`). `with_patches`: patch files, after the queue, in this order.
    """

    stack: str | None = None
    without: tuple[str, ...] = ()
    with_patches: tuple[str, ...] = ()
