"""Takes names out of a patch's `Needs:` trailers, when what it needed is in the base now. All other bytes stay."""

from __future__ import annotations

from collections.abc import Collection

from stackctl.core.names import PatchName
from stackctl.core.patches.depend import named_patch
from stackctl.core.patches.values import Header


def needless(data: bytes, header: Header, names: Collection[PatchName]) -> bytes:
    """The patch file without `Needs: NAME` for these names, whose lines the header knows."""
    lines = data.split(b"\n")
    gone: set[int] = set()
    for value, line in header.places("Needs"):
        if line is not None and named_patch(value) in names:
            gone.add(line)
            while lines[line : line + 1] and lines[line][:1] in (b" ", b"\t"):  # the next one goes on with it
                line += 1
                gone.add(line)
    return b"\n".join(text for number, text in enumerate(lines, 1) if number not in gone)
