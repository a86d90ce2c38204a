"""The text of a stack that is another one on another base: it extends it, pins anew, and leaves patches out by name.

So the old stack keeps serving as it is, and what differs between the two is this file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from stackctl.core.stack.edit import scalar
from stackctl.core.stack.resolved import Base, GitBase, PathBase, PypiBase

WIDTH = 38  # column of a comment behind a name


@dataclass(frozen=True)
class RebasedStack:
    """`extends`: the old stack's file name. `without`: patch -> why. `elements`: of the bisect, where names fell."""

    name: str
    extends: str
    old: Base
    new: Base
    without: Mapping[str, str]
    elements: Sequence[str] | None = None


def name_of(stack: str, old_key: str | None, new_key: str) -> str:
    """`prod` at 0.5.23 is `prod-0.5.23`, and at 0.5.24 `prod-0.5.24`, whichever it came from."""
    stem = stack.removesuffix(f"-{old_key.lower()}") if old_key else stack
    return f"{stem}-{new_key.lower()}"


def text_of(stack: RebasedStack) -> str:
    return "\n".join(_lines(stack)) + "\n"


def _lines(stack: RebasedStack) -> Iterator[str]:
    old = stack.extends.rpartition(".")[0]
    yield f"# The stack {old} on another base. A patch that has a file for this base, NAME@…, is read from that file."
    yield ""
    yield f"stack: {scalar(stack.name)}"
    yield f"extends: {scalar(stack.extends)}"
    yield "base:"
    yield from (f"  {key}: {'null' if value is None else scalar(value)}" for key, value in _base(stack).items())
    if stack.without:
        yield "without:"
        yield from (_with_comment(f"  - {scalar(name)}", why) for name, why in stack.without.items())
    if stack.elements is not None:
        yield "bisect:"
        yield "  elements:"
        yield "    patches:" if stack.elements else "    patches: []"
        yield from (f"      - {scalar(name)}" for name in stack.elements)


def _with_comment(line: str, why: str) -> str:
    plain = " ".join("".join(char if char.isprintable() else " " for char in why).split())
    return f"{line:{WIDTH}} # {plain}"


def _base(stack: RebasedStack) -> dict[str, str | None]:
    """What the new base says, and what of the old one's keys it must not inherit."""
    said = _keys(stack.new)
    return said | {key: None for key, value in _keys(stack.old).items() if key not in said and value is not None}


def _keys(base: Base) -> dict[str, str | None]:
    match base:
        case PypiBase():
            return {"pypi": base.requirement, "sha256": base.sha256}
        case GitBase():
            return {"git": base.url, "ref": None if base.ref == "HEAD" else base.ref, "commit": base.commit}
        case PathBase():
            return {"path": base.path, **({"commit": base.commit} if base.commit else {})}
