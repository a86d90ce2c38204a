"""Says where an interpreter that stackctl makes has another torch than the base asks for."""

from __future__ import annotations

from stackctl.commands.base import requires
from stackctl.commands.environment import environment_spec
from stackctl.commands.workspace import shown
from stackctl.core.base.requires import asked_for
from stackctl.core.environment.lockfile import FREE
from stackctl.core.names import TreeId
from stackctl.core.stack.resolved import ResolvedStack
from stackctl.errors import Problem, Where
from stackctl.ports import Ports


def torch_warnings(ports: Ports, stack: ResolvedStack, tree: TreeId) -> tuple[Problem, ...]:
    """torch is the one package whose build the machine chooses: told where the lock has another than the base wants."""
    spec = environment_spec(ports, stack)
    pinned = spec.version_of(FREE) if spec else None
    wanted = asked_for(requires(ports, stack.base, tree), FREE) if pinned else None
    if pinned is None or wanted is None or wanted.contains(pinned, prereleases=True):
        return ()
    message = f"TORCH-DIFFERS: the lock has torch {pinned}, the base asks for torch{wanted}"
    hint = "what a test shows with one is not shown for the other; `stackctl status` says which build serves"
    file = stack.python.requirements if stack.python else None
    return (Problem(message, Where(shown(ports, file)) if file else None, hint=hint),)
