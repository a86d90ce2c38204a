"""The script that replaces one release by another on a host, and what each release's folder holds for it.

It is rendered as text and started detached, so that nothing on the client's side can stop it half-way.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from stackctl.core.deploy.gate import gate_config
from stackctl.core.deploy.record import Record, to_json
from stackctl.core.deploy.values import Release
from stackctl.core.render.scripts import render
from stackctl.core.stack.resolved import Timeouts

Kind = Literal["deploy", "restart", "rollback", "stop"]
SCRIPT = "cutover.sh"
TEMPLATE = "cutover.sh.j2"


@dataclass(frozen=True)
class Cutover:
    """From `old` (empty: nothing to bring back) to `new` (empty: a stop). Paths are absolute, on the host."""

    stack: str
    attempt: str
    kind: Kind
    root: str
    python: str
    probes: str
    new: str = ""
    old: str = ""
    timeouts: Timeouts = field(default_factory=Timeouts)


def script(template: str, cutover: Cutover) -> str:
    """The rendered script. Raises StackctlError for a mistake in the template."""
    names = ("stack", "attempt", "kind", "root", "python", "probes", "new", "old")
    values = {name: getattr(cutover, name) for name in names}
    timeouts = {"drain": f"{cutover.timeouts.drain:g}", "start": f"{cutover.timeouts.start:g}"}
    return render(TEMPLATE, template, {**values, **timeouts})


def launch_script(record: Record, root: str) -> str:
    """launch.sh: what the cut-over must know of a release; it is read by `.`."""
    values = {
        "engines": " ".join(record.engines),
        "router": record.router,
        "cards": " ".join(map(str, record.cards)),
        "release_python": record.python,
        "tree": f"{root}/trees/{record.tree}",
    }
    lines = [f"{name}={shlex.quote(value)}" for name, value in values.items()]
    return "\n".join([f"# how release {record.release} starts; read by {SCRIPT}", *lines, ""])


def release_files(release: Release, record: Record, root: str, programs: Mapping[str, str]) -> dict[str, str]:
    """Everything that the folder of a release holds. `programs`: instance.sh and probes.py."""
    tree = f"{root}/trees/{record.tree}"
    return {
        **release.scripts,
        **programs,
        "launch.sh": launch_script(record, root),
        "gate.json": gate_config(release, record.launches, tree, [f"{root}/trees/{each}" for each in record.trees[1:]]),
        "record.json": to_json(record),
    }
