"""Rules on what processes of one machine share: ports, cards, and what a container or the bus gives them.

Two processes count as neighbours only when their machine is known to be the same. Equal `port` and `gpus` keys of a
stack are refused when it is read (core/stack/layout.py), so they are not told again here.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Final

from stackctl.core.lint.known.asked import at_env, at_flag
from stackctl.core.lint.known.evidence import source
from stackctl.core.lint.known.machines import is_together, neighbours
from stackctl.core.lint.known.pairs import called
from stackctl.core.lint.known.ports import Claim, claims
from stackctl.core.lint.setup import Process, Setup
from stackctl.core.lint.values import Hit, Place, Rule

GIB: Final = 1 << 30
SHM: Final = 32 * GIB
OWN_MEMORY: Final = ("private", "shareable")  # of --ipc: the container has a /dev/shm of its own
POD, OPEN = "pod", "open"  # of what is known of a container: it is one of Kubernetes; it may have more options
FULL: Final = 0.95  # of a card's memory that two engines may take together
NCCL: Final = "https://github.com/NVIDIA/nccl/"


def _ports(setup: Setup) -> Iterator[Hit]:
    for one, two in neighbours(setup):
        if _ports_apart(one) or _ports_apart(two):
            continue
        for mine in claims(one):
            for theirs in claims(two):
                if not mine.meets(theirs) or (setup.stack is not None and mine.is_key and theirs.is_key):
                    continue
                last, first, whose, other = (
                    (mine, theirs, one, two) if _says(mine, theirs) else (theirs, mine, two, one)
                )
                yield Hit(
                    f"{called(setup, whose)}'s {last} and {called(setup, other)}'s {first} collide",
                    at_flag(whose, last.flag),
                    last.remedy,
                )


def _ports_apart(process: Process) -> bool:
    """A container has ports of its own unless it takes the machine's."""
    return process.container is not None and process.container.get("network") != "host"


def _says(mine: Claim, theirs: Claim) -> bool:
    """Which of the two the message begins with: what nobody wrote down, since it is what has to be explained."""
    return mine.derived and not theirs.derived


def _rendezvous(setup: Setup) -> Iterator[Hit]:
    """Engines that meet at one address become one group; that is right for the nodes of one engine."""
    for one, two in combinations(setup.engines if is_together(setup) else (), 2):
        address = one.text("dist-init-addr")
        nodes = (
            one.role == two.role and (one.number("nnodes") or 1) > 1 and one.number("nnodes") == two.number("nnodes")
        )
        if address is not None and address == two.text("dist-init-addr") and not nodes:
            yield Hit(
                f"{called(setup, one)} and {called(setup, two)} both meet their ranks at {address}",
                at_flag(two, "dist-init-addr"),
                "one address for each engine",
            )


def _check_ports(setup: Setup) -> Iterator[Hit]:
    yield from _ports(setup)
    yield from _rendezvous(setup)


def cards(process: Process) -> frozenset[int] | None:
    """The cards of an engine, as nvidia-smi counts them; None when they are not known."""
    if process.gpus:
        return frozenset(process.gpus)
    visible = process.env.get("CUDA_VISIBLE_DEVICES")
    if process.container is not None and process.container.get("gpus") != "all":
        return None  # it counts those that it was given
    ids = None if visible is None else [one.strip() for one in visible.split(",")]
    if process.text("device") not in (None, "cuda") or (ids is not None and not all(one.isdigit() for one in ids)):
        return None
    base, step = process.number("base-gpu-id") or 0, process.number("gpu-id-step") or 1
    taken = [int(base + step * at) for at in range(ranks(process))]
    if ids is None:
        return frozenset(taken)
    return frozenset(int(ids[at]) for at in taken if at < len(ids))


def ranks(process: Process) -> int:
    """Processes that each take a card, on one node."""
    replicas = 1 if process.on("enable-dp-attention") else process.number("dp-size") or 1
    sizes = (process.number("tp-size") or 1, process.number("pp-size") or 1, replicas)
    return max(1, int(sizes[0] * sizes[1] * sizes[2] / (process.number("nnodes") or 1)))


def _overlap(setup: Setup) -> Iterator[Hit]:
    for one, two in neighbours(setup):
        if "router" in (one.role, two.role) or (setup.stack is not None and one.gpus and two.gpus):
            continue
        first, second = cards(one), cards(two)
        shared = sorted(first & second) if first is not None and second is not None else []
        if not shared:
            continue
        together = [process.number("mem-fraction-static") for process in (one, two)]
        fits = None not in together and sum(part or 0 for part in together) <= FULL
        yield Hit(
            f"{called(setup, one)} and {called(setup, two)} both take card{'s'[: len(shared) != 1]} "
            f"{', '.join(map(str, shared))}",
            _placed(two),
            "give each its own cards (in a stack `gpus`, else --base-gpu-id or CUDA_VISIBLE_DEVICES)",
            "warning" if fits else None,
        )


def _placed(process: Process) -> Place:
    if "CUDA_VISIBLE_DEVICES" in process.env:
        return at_env(process, "CUDA_VISIBLE_DEVICES")
    return at_flag(
        process, "tp-size" if process.given("tp-size") and not process.given("base-gpu-id") else "base-gpu-id"
    )


def _count(setup: Setup) -> Iterator[Hit]:
    """Against the visible cards; a host's number counts only where a stack says it, as a command may be for several."""
    for process in setup.engines:
        visible = process.env.get("CUDA_VISIBLE_DEVICES")
        stated = process.card.count if process.card is not None and setup.stack is not None else None
        there = stated if visible is None else len([one for one in visible.split(",") if one.strip()])
        base, step = process.number("base-gpu-id") or 0, process.number("gpu-id-step") or 1
        wanted = int(base + step * (ranks(process) - 1)) + 1
        if there and wanted > there and process.text("device") in (None, "cuda"):
            yield Hit(
                f"{ranks(process)} ranks want cards 0 to {wanted - 1}, and {there} "
                f"{'is' if there == 1 else 'are'} visible: stops at start",
                at_flag(process, "tp-size"),
                "lower --tp-size, or give the engine more cards",
            )


def _preflight(setup: Setup) -> Iterator[Hit]:
    """Only of a stack: what a lone command's machine has decided about its bus is not known."""
    if setup.stack is None:
        return
    told = set()
    for process in setup.on_sm120:
        decided = any(name.startswith("NCCL_P2P_") for name in process.env)
        if ranks(process) > 1 and not decided and process.host not in told:
            told.add(process.host)
            yield Hit(
                f"the cards of {process.host} talk over PCIe: with ACS or an IOMMU in between, the first all_reduce "
                "may hang",
                Place("key", f"hosts.{process.host}"),
                "look with `stackctl doctor`, and write down what it says as NCCL_P2P_LEVEL or NCCL_P2P_DISABLE under "
                f"hosts.{process.host}.env",
            )


def _shm(setup: Setup) -> Iterator[Hit]:
    for process in setup.engines:
        box = process.container
        if box is None or OPEN in box or box.get("ipc", "private") not in OWN_MEMORY or ranks(process) < 2:
            continue
        given = box.get("shm-size")
        if given is None or (_bytes(given) or SHM) < SHM:
            yield Hit(
                f"its ranks share {given or 'the 64 MB'} of /dev/shm"
                f"{'' if given else ' that a container has unless told'}: NCCL may fail or hang",
                at_flag(process, "shm-size"),
                "mount an emptyDir with medium: Memory as /dev/shm" if POD in box else "--ipc=host, or --shm-size 32g",
            )


def _bytes(text: str) -> int | None:
    """As docker reads it: b, k, m, g."""
    number, unit = text[:-1], text[-1:].lower()
    if text.isdigit():
        return int(text)
    try:
        return int(float(number) * {"b": 1, "k": 1 << 10, "m": 1 << 20, "g": GIB}[unit])
    except (KeyError, ValueError):
        return None


def _memlock(setup: Setup) -> Iterator[Hit]:
    for process in (*setup.of_role("prefill"), *setup.of_role("decode")):
        box = process.container
        if box is not None and not {POD, OPEN} & set(box) and "memlock" not in box.get("ulimit", ""):
            yield Hit(
                "a container may lock little memory unless told: the transfer backend cannot register the cache then",
                at_flag(process, "ulimit"),
                "--ulimit memlock=-1",
            )


RULES = (
    Rule(
        "PD-PORTS",
        "error",
        _check_ports,
        "ports that two processes of one machine take, written down or not",
        "With DP attention and without --dist-init-addr an engine takes --port + 233 and the six above it. "
        "--nccl-port, --dist-init-addr and bootstrap ports are each one process's own. Keep --port values 250 apart.",
        (source("0.5.15", "srt/server_args.py#L7252"),),
    ),
    Rule(
        "PD-GPU-OVERLAP",
        "error",
        _overlap,
        "two engines on the same card",
        "--base-gpu-id counts inside CUDA_VISIBLE_DEVICES: set one of the two. Where both say by "
        "--mem-fraction-static that they share a card, it is a warning.",
        (source("0.5.15", "srt/entrypoints/engine.py#L627"),),
    ),
    Rule(
        "GPU-COUNT",
        "error",
        _count,
        "more ranks than cards",
        "Ranks are --tp-size x --pp-size, times --dp-size without DP attention, over --nnodes; the first takes card "
        "--base-gpu-id.",
        (source("0.5.15", "srt/entrypoints/engine.py#L627"),),
    ),
    Rule(
        "NCCL-PREFLIGHT",
        "warning",
        _preflight,
        "cards on PCIe, and nothing that says whether they can talk to each other",
        "RTX PRO 6000 cards have no NVLink. ACS or an IOMMU between them lets NCCL hang in its first all_reduce, "
        "after the model has loaded. Asked of stacks only.",
        (f"{NCCL}issues/2079", f"{NCCL}issues/1999"),
        doubt=True,
    ),
    Rule(
        "SHM",
        "warning",
        _shm,
        "a container with little shared memory",
        "NCCL's ranks of one machine talk through /dev/shm, of which a container has 64 MB unless told.",
        ("https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html",),
        doubt=True,
    ),
    Rule(
        "ULIMIT",
        "warning",
        _memlock,
        "a container in which little memory can be locked",
        "Transfer backends register the whole cache with the network card or the other process, which locks it.",
        (f"{NCCL}issues/2079",),
        doubt=True,
    ),
)
