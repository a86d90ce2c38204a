"""The facts of a host in a dozen lines, the same for a terminal and for an issue. What is not known is left out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from stackctl.core.doctor.findings_cards import arch
from stackctl.core.doctor.findings_host import absent
from stackctl.core.doctor.values import Card, CardProcess, Facts
from stackctl.core.doctor.wanted import TORCH

GIB = 1 << 30
SHOWN = 4


def rows(facts: Facts) -> list[tuple[str, str]]:
    """(what, how it is)"""
    found = (
        ("system", _system(facts)),
        ("memory", _memory(facts)),
        (
            "cards",
            "; ".join(_cards(facts.cards)) or facts.driver.fault or ("none" if facts.driver.installed else "no driver"),
        ),
        ("driver", _driver(facts)),
        ("links", _links(facts)),
        ("docker", _docker(facts)),
        (
            "disk",
            ", ".join(_disks(facts)),
        ),
        ("limits", _limits(facts)),
        ("clock", _clock(facts)),
        ("python", _python(facts)),
        ("variables", " ".join(f"{name}={value}" for name, value in {**facts.variables, **facts.nccl_conf}.items())),
        ("serves", "; ".join(_engines(facts))),
    )
    return [(name, text) for name, text in found if text]


def card_rows(facts: Facts) -> list[tuple[str, ...]]:
    """A row for each card: index, name, memory, power, clock, temperature, ECC, link, who uses it."""
    return [
        (
            str(card.index) if card.index >= 0 else "?",
            card.fault or card.name,
            _used(card),
            f"{card.power_limit:g} W" if card.power_limit is not None else "-",
            f"{card.clock_sm} MHz" if card.clock_sm is not None else "-",
            f"{card.temperature} C" if card.temperature is not None else "-",
            {True: "on", False: "off", None: "-"}[card.ecc],
            card.pcie or "-",
            ", ".join(map(_process, card.processes)) or "-",
        )
        for card in facts.cards
    ]


CARD_COLUMNS = ("card", "name", ">memory MiB", ">power", ">SM clock", ">temp", "ECC", "link", "processes")


def _process(one: CardProcess) -> str:
    whose = "ours" if one.ours else one.user
    return f"{one.pid} ({whose})" if whose else str(one.pid)


def _used(card: Card) -> str:
    if card.memory_used is None or card.memory_total is None:
        return "-"
    return f"{card.memory_used >> 20} / {card.memory_total >> 20}"


def _system(facts: Facts) -> str:
    numa = f", {len(facts.numa)} NUMA nodes" if len(facts.numa) > 1 else ""
    return f"{facts.os}, kernel {facts.kernel} {facts.machine}, {facts.cpus} processors{numa}, cgroup {facts.cgroup}"


def _memory(facts: Facts) -> str:
    if facts.memory_total is None or facts.memory_free is None:
        return ""
    shm = f", /dev/shm {facts.shm_total / GIB:.1f} GiB" if facts.shm_total is not None else ""
    return f"{facts.memory_free / GIB:.1f} GiB free of {facts.memory_total / GIB:.1f}{shm}"


def _cards(cards: Sequence[Card]) -> Iterator[str]:
    """Those alike together."""
    kinds: dict[str, list[Card]] = {}
    for card in cards:
        memory = f", {card.memory_total / GIB:.0f} GiB" if card.memory_total else ""
        capability = f", {arch(card.compute)}" if arch(card.compute) else ""
        kinds.setdefault(f"{card.fault or card.name}{memory}{capability}", []).append(card)
    for kind, alike in kinds.items():
        yield f"{len(alike)} x {kind}"


def _driver(facts: Facts) -> str:
    driver = facts.driver
    if driver.version is None:
        return f"kernel module {driver.module}" if driver.module else ""
    return f"{driver.version}, for CUDA up to {driver.cuda}" if driver.cuda else driver.version


def _links(facts: Facts) -> str:
    if len(facts.cards) < 2:
        return ""
    words = sorted(set(facts.links.ways.values()))
    p2p = sorted(set(facts.links.p2p.values()))
    above = [one for one in facts.links.bridges or () if one.above]
    acs = (
        "ACS not known"
        if facts.links.bridges is None
        else f"ACS on for {sum(bool(one.acs) for one in above)} of {len(above)}"
    )
    parts = [", ".join(words), f"peer access {', '.join(p2p)}" if p2p else "", acs]
    parts.append(f"IOMMU {facts.links.iommu_type}" if facts.links.iommu_type else "")
    return "; ".join(part for part in parts if part)


def _docker(facts: Facts) -> str:
    docker = facts.docker
    if not docker.installed:
        return "not installed"
    if docker.fault:
        return "installed, its daemon does not answer"
    toolkit = f", toolkit {docker.toolkit}" if docker.toolkit else ""
    return f"{docker.version}, runtimes {', '.join(docker.runtimes) or '?'}{toolkit}"


def _disks(facts: Facts) -> Iterator[str]:
    for one in facts.disks:
        if absent(one):
            yield f"no {one.path}"
        elif one.free is not None:
            yield f"{one.free // GIB} GiB free for {one.path}"


def _limits(facts: Facts) -> str:
    words = []
    for name, unit in (("nofile", 1), ("memlock", 1 << 20)):
        limit = facts.limits.get(name)
        if limit is not None:
            hard = "unlimited" if limit.hard is None else f"{limit.hard // unit}{' MiB' if unit > 1 else ''}"
            words.append(f"{name} {hard}")
    return ", ".join(words)


def _clock(facts: Facts) -> str:
    clock = facts.clock
    if clock.offset is None:
        return ""
    kept = {True: ", synchronized", False: ", not synchronized", None: ""}[clock.synchronized]
    source = f" ({clock.source})" if clock.source else ""
    return f"{clock.offset:+.3f} s from here (± {clock.error or 0:.3f}){kept}{source}"


def _python(facts: Facts) -> str:
    python = facts.python
    if python.fault or not python.version:
        return python.fault and f"{python.path}: {python.fault}"
    packages = [f"{name} {version}" for name, version in python.packages.items() if name != TORCH]
    cuda = python.packages.get(TORCH)
    return ", ".join([f"{python.path}, {python.version}", *packages, *([f"torch for CUDA {cuda}"] if cuda else [])])


def _engines(facts: Facts) -> Iterator[str]:
    for one in facts.engines[:SHOWN]:
        if one.instance:
            yield f"{one.instance} of {one.stack} {one.release} (pid {one.pid})"
        else:
            yield f"pid {one.pid} ({one.user}) {one.command[:100]}"
    if len(facts.engines) > SHOWN:
        yield f"and {len(facts.engines) - SHOWN} more"
