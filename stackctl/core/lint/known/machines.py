"""Which processes run on one machine: known of a stack, guessed of commands where nothing speaks against it.

Commands of one file are for one machine unless an address, the router's URLs or a number of nodes say another.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from urllib.parse import urlsplit

from stackctl.core.lint.known.pairs import is_one
from stackctl.core.lint.setup import Process, Setup


def neighbours(setup: Setup) -> Iterator[tuple[Process, Process]]:
    """Every two processes of one machine; none of a file that holds several deployments."""
    if not is_together(setup):
        return
    for one, two in combinations(setup.processes, 2):
        machine = _machine(setup, one)
        if machine is not None and machine == _machine(setup, two):
            yield one, two


def is_together(setup: Setup) -> bool:
    """Whether the processes run at the same time, be they all of a deployment or not."""
    return is_one(replace(setup, complete=True))


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def address_of(url: str) -> tuple[str, int | None]:
    """Host and port of a URL; empty and None where it is none."""
    try:
        parts = urlsplit(url)
        return parts.hostname or "", parts.port
    except ValueError:
        return "", None


def _machine(setup: Setup, process: Process) -> tuple[str, str] | None:
    """None: not known. Two names of a stack's hosts may be one machine."""
    if process.host is None:
        return None
    if setup.stack is not None:
        spec = setup.stack.hosts.get(process.host)
        return (spec.hostname if spec is not None else process.host), ""
    address = _address(setup, process)
    return None if address is None or (process.number("nnodes") or 1) > 1 else (process.host, address)


def _address(setup: Setup, process: Process) -> str | None:
    """What commands say of its machine: empty when they say nothing, None when that is not known."""
    option = process.given("host")
    if option is not None and not option.values:
        return None  # a variable
    if option is not None and not _is_here(option.values[0]):
        return option.values[0]
    told = [one.values for router in setup.of_role("router") for one in router.all(process.role)]
    if not all(told):
        return None
    urls = [address_of(values[0]) for values in told]
    alone = len(urls) == 1 and len(setup.of_role(process.role)) == 1
    hosts = {host for host, port in urls if (alone or port == process.number("port")) and not _is_here(host)}
    return None if len(hosts) > 1 else hosts.pop() if hosts else ""


def _is_here(host: str) -> bool:
    """An address that every machine has."""
    return host in ("", "0.0.0.0", "::", "[::]") or is_loopback(host)
