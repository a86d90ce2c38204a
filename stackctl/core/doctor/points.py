"""What of a look at a host lasts and matters to what serves there, as named texts that two looks can be compared by.

A clock of this moment, a temperature, free memory, a pid, a boot: none is here. None means not known, and what is not
known is no difference.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from stackctl.core.doctor.values import Card, Facts, Limit, Severity

GIB = 1 << 30


class Topic(NamedTuple):
    """`whole`: a set is known as a whole, so that what is not in it is not there."""

    why: str
    severity: Severity = "warning"
    whole: bool = False


# in the order in which changes are told
TOPICS: Mapping[str, Topic] = {
    "host": Topic("it is another machine than the one that was looked at"),
    "cards": Topic("memory, placement and kernels were chosen for the cards that were there", whole=True),
    "driver": Topic("kernels, NCCL and CUDA graphs run by it: numbers, hangs and faults change with it"),
    "cuda": Topic("it bounds the CUDA that libraries may be built for"),
    "kernel": Topic("the driver's module is built for it; IOMMU, huge pages and scheduling change with it"),
    "power cap": Topic("a lower cap lowers the clocks under load: the release is slower, and cards of a group wait"),
    "clock cap": Topic("it bounds the speed of a card, and the slowest of a group sets the pace"),
    "ecc": Topic("it takes memory and bandwidth; without it a flipped bit goes unseen into the output"),
    "mig": Topic("a divided card has other devices and less memory than the stack was made for"),
    "persistence": Topic("without it the driver unloads between processes: starts are slow, and set caps are lost"),
    "card memory": Topic("the KV pool is sized by it"),
    "link": Topic("transfers between cards and from the host go over it: half the lanes are half the bandwidth"),
    "numa": Topic("memory and threads far from a card cost bandwidth, and each transfer pays it"),
    "acs": Topic("with it, traffic between cards goes up to the root complex, and P2P is slow or hangs NCCL"),
    "iommu": Topic("translated DMA slows P2P down, or hangs the first all_reduce"),
    "topology": Topic("NCCL and UCX choose their ways by it"),
    "module": Topic("parameters of the driver's modules switch P2P, power and memory features"),
    "variables": Topic("NCCL, UCX and CUDA read them: another transport, another algorithm, another speed", whole=True),
    "limits": Topic("pinned memory, sockets and threads are bounded by them"),
    "memory": Topic("the host tier of the KV cache, pinned buffers and /dev/shm are sized by it"),
    "processors": Topic("tokenizing, scheduling and the router run on them"),
    "docker": Topic("it hands cards, shared memory and limits to containers", "info"),
    "python": Topic("the host's own programs run by it", "info"),
    "packages": Topic("engine and router run by what is installed"),  # a later version may ask for more of them
    "os": Topic("libraries came with it", "info"),
}


class Point(NamedTuple):
    topic: str
    name: str
    card: int | None = None


def points(facts: Facts) -> dict[Point, str | None]:
    return {
        **{Point(topic, name): value for topic, name, value in _machine(facts)},
        **{Point(topic, name): value for topic, name, value in _links(facts)},
        **{Point(topic, name): value for topic, name, value in _software(facts)},
        **{
            Point(topic, name, card.index): value
            for card in facts.cards
            if not card.fault
            for topic, name, value in _card(card)
        },
    }


def known(facts: Facts, topic: str) -> bool:
    """Whether a set was seen as a whole: without an answer of the driver nobody knows which cards there are."""
    return topic != "cards" or bool(facts.cards) or not facts.driver.fault


Named = Iterator[tuple[str, str, str | None]]


def _machine(facts: Facts) -> Named:
    yield "host", "name", facts.hostname or None
    yield "kernel", "kernel", facts.kernel or None
    yield "os", "system", facts.os or None
    yield "processors", "processors", _text(facts.cpus)
    yield "processors", "governor", facts.governor or None
    yield "memory", "memory", _gib(facts.memory_total)
    yield "memory", "swap", _gib(facts.swap_total)
    yield "memory", "/dev/shm", _gib(facts.shm_total)
    for node, processors in facts.numa.items():
        yield "numa", f"processors of node {node}", processors
    yield "numa", "balancing", _switch(facts.numa_balancing)
    for name in ("memlock", "nofile", "stack"):
        if name in facts.limits:
            yield "limits", name, _limit(facts.limits[name])
    yield "limits", "cgroup", facts.cgroup or None


def _software(facts: Facts) -> Named:
    driver, docker = facts.driver, facts.docker
    yield "driver", "driver", driver.version
    yield "driver", "kernel module", driver.module
    yield "cuda", "newest CUDA of the driver", driver.cuda
    yield "docker", "docker", docker.version
    yield "docker", "toolkit", docker.toolkit
    yield "docker", "default runtime", docker.default_runtime or None
    yield "docker", "runtimes", ", ".join(sorted(docker.runtimes)) or None
    yield "docker", "storage", docker.driver or None
    yield "python", "interpreter", facts.python.version
    for name, version in facts.python.packages.items():
        yield "packages", name, version
    for name, value in facts.variables.items():
        yield "variables", f"{name} of a login", value
    for name, value in facts.nccl_conf.items():
        yield "variables", f"{name} of nccl.conf", value


def _links(facts: Facts) -> Named:
    links = facts.links
    for pair, way in links.ways.items():
        yield "topology", f"way {pair}", way
    for pair, state in links.p2p.items():
        yield "topology", f"P2P {pair}", state
    if links.bridges is not None:
        on = sorted(bridge.bus_id for bridge in links.bridges if bridge.acs)
        yield "acs", "bridges with ACS on", ", ".join(on) or "none"
    yield "iommu", "words of the kernel's command line", " ".join(links.iommu_cmdline) or "none"
    yield "iommu", "units", _text(links.iommu_units)
    yield "iommu", "type of the cards' groups", links.iommu_type
    for name, value in links.kernel_parameters.items():
        yield "module", name, value


def _card(card: Card) -> Named:
    yield "cards", "card", f"{card.name} {card.uuid}".strip()
    yield "cards", "compute capability", card.compute
    yield "card memory", "memory", None if card.memory_total is None else f"{card.memory_total >> 20} MiB"
    yield "power cap", "power limit", _unit(card.power_limit, "W")
    yield "clock cap", "application clock", _unit(card.clock_app_sm, "MHz")
    yield "clock cap", "highest clock", _unit(card.clock_sm_max, "MHz")
    yield "clock cap", "highest memory clock", _unit(card.clock_memory_max, "MHz")
    yield "ecc", "ECC", _switch(card.ecc)
    yield "mig", "MIG", _switch(card.mig)
    yield "persistence", "persistence mode", _switch(card.persistence)
    yield "link", "lanes", lanes(card.pcie)  # not the generation: an idle card lowers it
    yield "link", "most that the link can", card.pcie_max or None
    yield "numa", "node", _text(card.numa)


def lanes(pcie: str) -> str | None:
    """`gen 5 x16` -> x16"""
    return pcie.rpartition(" ")[2] or None


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _switch(value: bool | None) -> str | None:
    return None if value is None else "on" if value else "off"


def _unit(value: float | None, unit: str) -> str | None:
    return None if value is None else f"{value:g} {unit}"


def _gib(value: int | None) -> str | None:
    if value is None:
        return None
    return f"{round(value / GIB)} GiB" if value >= 4 * GIB else f"{round(value / GIB * 16) * 64} MiB"


def mebibytes(text: str) -> int:
    """Of a text as `_gib` writes it."""
    number, unit = text.split(" ")
    return int(number) * (1024 if unit == "GiB" else 1)


def _limit(limit: Limit) -> str:
    return "unlimited" if limit.soft is None else str(limit.soft)
