"""How conflicts were resolved before: git's own records, beside the stacks of the workspace so that a team has them.

`stacks/rerere/ID/preimage` is a conflict, `postimage` what somebody made of it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from stackctl.core.stack.resolved import ResolvedStack
from stackctl.ports import Ports

FOLDER = "stacks/rerere"
RECORD = re.compile(r"[0-9a-f]{40}/(preimage|postimage)(\.[0-9]+)?")


def remembered(ports: Ports, stack: ResolvedStack) -> dict[str, bytes]:
    folder = f"{stack.workspace}/{FOLDER}"
    if not ports.files.is_dir(folder):
        return {}
    return {name: ports.files.read(f"{folder}/{name}") for name in ports.files.walk(folder) if RECORD.fullmatch(name)}


def remember(ports: Ports, stack: ResolvedStack, memory: Mapping[str, bytes]) -> tuple[str, ...]:
    """Writes what is new; its files."""
    known = remembered(ports, stack)
    files = {f"{stack.workspace}/{FOLDER}/{name}": data for name, data in memory.items() if known.get(name) != data}
    for file, data in files.items():
        ports.files.write(file, data)
    return tuple(files)
