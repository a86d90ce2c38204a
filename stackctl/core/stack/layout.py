"""Rules of who runs where: roles that belong together, hosts, cards and ports.

Two names of one machine count as one machine, so that cards and ports cannot clash behind them.
"""

from __future__ import annotations

from collections.abc import Iterator

from stackctl.core.stack.merge import did_you_mean
from stackctl.core.stack.ports import prometheus_port
from stackctl.core.stack.resolved import HostSpec, Instance
from stackctl.core.stack.view import View
from stackctl.errors import Problem


def roles(view: View) -> Iterator[Problem]:
    roles = view.keys.roles
    if not (roles.prefill or roles.decode or roles.single):
        yield view.problem(("roles",), "no engine: expected prefill and decode, or single")
    if roles.prefill and not roles.decode:
        yield view.problem(("roles", "prefill"), "prefill without decode")
    if roles.decode and not roles.prefill:
        yield view.problem(("roles", "decode"), "decode without prefill")
    if roles.single and (roles.prefill or roles.decode):
        yield view.problem(("roles", "single"), "single beside prefill and decode: one router serves one kind")
    engines = len(roles.prefill) + len(roles.decode) + len(roles.single)
    if not roles.router and (roles.prefill or roles.decode or engines > 1):
        yield view.problem(("roles",), "no router: more than one engine needs `roles.router`")
    if len(roles.router) > 1:
        yield view.problem(("roles", "router", 1), "a second router: a stack has one")


def hosts(view: View) -> Iterator[Problem]:
    known = view.keys.hosts
    requirements = view.keys.python.requirements if view.keys.python else None
    for instance in view.stack.instances:
        if instance.host not in known:
            path = (*view.place(instance), "host")
            hint = did_you_mean(instance.host, known) or "describe it under `hosts`"
            yield view.problem(path, f"no host is called `{instance.host}`", hint)
    for name, host in view.stack.hosts.items():
        port = host.address.rpartition("@")[2].partition(":")[2]
        if port and not 0 < int(port) < 65536:
            yield view.problem(("hosts", name, "address"), f"{port} is no port")
        if host.runtime == "process" and not host.python and not host.is_local and not requirements:
            hint = "the absolute path of an interpreter that is there, or `python.requirements` to make one from"
            yield view.problem(("hosts", name), "no interpreter: `python` is missing", hint)
        if host.python and not host.python.startswith("/"):
            yield view.problem(("hosts", name, "python"), "expected an absolute path")
        for key in ("identity", "known_hosts"):
            if host.is_local and getattr(host, key):
                yield view.problem(("hosts", name, key), "means nothing for `local`")


def machines(view: View) -> Iterator[Problem]:
    """Over several machines every address must mean the same to all."""
    used = {i.host for i in view.stack.instances if i.host in view.stack.hosts}
    if len({_machine(view.stack.hosts[name]) for name in used}) < 2:
        return
    for name in sorted(used):
        if view.stack.hosts[name].is_loopback:
            yield view.problem(
                ("hosts", name, "address"),
                "a loopback address in a stack of several machines: the others cannot reach it",
                "give the name that the other machines use",
            )


def _machine(host: HostSpec) -> str:
    return "this machine" if host.is_loopback else host.address.rpartition("@")[2]


def cards(view: View) -> Iterator[Problem]:
    taken: dict[tuple[str, int], Instance] = {}
    for instance in view.stack.engines:
        path = (*view.place(instance), "gpus")
        host = view.host(instance)
        if len(set(instance.gpus)) < len(instance.gpus):
            yield view.problem(path, "a card is named twice")
        for card in sorted(set(instance.gpus)):
            if host and host.gpu_count and card >= host.gpu_count:
                last = host.gpu_count - 1
                yield view.problem(path, f"{host.name} has no card {card}: its cards are 0 to {last}")
            other = taken.setdefault((_machine(host) if host else instance.host, card), instance)
            if other is not instance:
                yield view.problem(path, f"card {card} of {instance.host} is taken by {other.id} already")


def ports(view: View) -> Iterator[Problem]:
    taken: dict[tuple[str, int], tuple[Instance, str]] = {}
    for instance in view.stack.instances:
        host = view.host(instance)
        place = view.place(instance)
        for key, port in _ports_of(instance):
            if not 0 < port < 65536:
                yield view.problem((*place, "port"), f"its {key} would be {port}, which is no port")
                continue
            other, what = taken.setdefault((_machine(host) if host else instance.host, port), (instance, key))
            if (other, what) != (instance, key):
                path = (*place, key) if key in ("port", "bootstrap_port") else (*place, "port")
                message = f"{key} {port} on {instance.host} is {what} of {other.id} already"
                yield view.problem(path, message, "each process needs ports of its own")


def _ports_of(instance: Instance) -> Iterator[tuple[str, int]]:
    yield "port", instance.port
    if instance.bootstrap_port:
        yield "bootstrap_port", instance.bootstrap_port
    if instance.role == "router":
        yield "prometheus-port", prometheus_port(instance)
