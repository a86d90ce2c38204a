"""Which source tree a patch is for: the trailer `Source:` against the sources that a stack declares.

A patch that names a tree which nobody has pinned is refused, never applied to another one.
"""

from __future__ import annotations

from collections.abc import Iterable

from stackctl.core.names import SGLANG
from stackctl.core.patches.faults import Fault
from stackctl.core.patches.values import Header


def source_fault(file: str, header: Header, declared: Iterable[str]) -> Fault | None:
    """Why a stack with these sources cannot take the patch, if it cannot."""
    said = header.places("Source")
    if len(said) > 1:
        names = " and ".join(name or "nothing" for name, _ in said)
        message = f"its header names two source trees: {names}"
        return Fault("other-source", file, said[1][1], message, "Make it a patch for each tree.")
    for name, line in said:
        if name not in (SGLANG, *declared):
            message = f"`Source: {name}`, and the stack declares no such source"
            hint = f"Pin it in the stack, `sources: {{{name or 'NAME'}: {{pypi: …, sha256: …}}}}`, or correct the name."
            return Fault("other-source", file, line, message, _known(declared) + hint)
    return None


def _known(declared: Iterable[str]) -> str:
    names = ", ".join(declared)
    return f"Declared here: {names}. " if names else ""
