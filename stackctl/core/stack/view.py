"""What the rules of a stack look at, and how they say where something is wrong."""

from __future__ import annotations

from dataclasses import dataclass

from stackctl.core.stack.merge import Merged
from stackctl.core.stack.model import StackKeys
from stackctl.core.stack.resolve import Site
from stackctl.core.stack.resolved import HostSpec, Instance, ResolvedStack
from stackctl.core.stack.source import Path
from stackctl.errors import Problem


@dataclass(frozen=True)
class View:
    """`stack` may hold stand-ins for what the file lacks; `keys` says what is really there."""

    stack: ResolvedStack
    keys: StackKeys
    merged: Merged
    site: Site

    def place(self, instance: Instance) -> Path:
        roles = self.merged.value.get("roles")
        written = roles.get(instance.role) if isinstance(roles, dict) else None
        return ("roles", instance.role, instance.index) if isinstance(written, list) else ("roles", instance.role)

    def problem(self, path: Path, message: str, hint: str | None = None) -> Problem:
        return self.merged.problem(path, message, hint)

    def host(self, instance: Instance) -> HostSpec | None:
        return self.stack.hosts.get(instance.host)
