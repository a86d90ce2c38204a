"""Makes the Setup of a composed stack: its rendered launches, read as the engine's parser would read them.

It builds no argument: what render/launch.py gives is what starts, so it is what rules look at.
"""

from __future__ import annotations

from collections.abc import Iterable

from stackctl.core.lint.argv import read
from stackctl.core.lint.model_name import model_of_stack
from stackctl.core.lint.setup import Card, Process, Setup
from stackctl.core.render.launch import launches
from stackctl.core.stack.resolved import HostSpec, Instance, ResolvedStack
from stackctl.core.upstream.values import History, Upstream


def setup_of(stack: ResolvedStack, upstream: Upstream, history: History, patches: Iterable[str]) -> Setup:
    """`patches`: those that are in the tree, of all sources."""
    started = {launch.instance: launch for launch in launches(stack)}
    processes = []
    for instance in stack.instances:
        launch = started[instance.id]
        table = None if instance.role == "router" else upstream
        _, module, *argv = launch.argv
        options, left = read(argv, table)
        processes.append(
            Process(
                id=instance.id,
                role=instance.role,
                module=module,
                argv=tuple(argv),
                options=options,
                left=left,
                env=launch.env,
                host=instance.host,
                gpus=instance.gpus,
                card=_card(stack.hosts[instance.host]) if instance.role != "router" else None,
                made=_made(instance, argv),
                table=table,
            )
        )
    return Setup(upstream, history, tuple(processes), model_of_stack(stack.model), frozenset(patches), stack)


def _made(instance: Instance, argv: Iterable[str]) -> frozenset[str]:
    """What stands in the command and not among the flags of the stack."""
    said = {word.lstrip("-") for word in argv if word.startswith("--")}
    return frozenset(name for name in said if name not in instance.flags)


def _card(host: HostSpec) -> Card | None:
    if not (host.gpu_count or host.gpu_arch or host.gpu_memory):
        return None
    return Card(host.gpu_arch, host.gpu_count or None, host.gpu_memory)
