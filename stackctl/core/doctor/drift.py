"""What changed on a host between two looks, and why each change matters to what serves there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from stackctl.core.doctor.points import TOPICS, Point, known, lanes, mebibytes, points
from stackctl.core.doctor.values import Card, Facts, Severity

ABSENT = "(none)"


@dataclass(frozen=True)
class Change:
    """`what`: `cards 0-7: power limit`; `then` and `now` as text, `(none)` for what was not, or is no more, there."""

    topic: str
    severity: Severity
    what: str
    then: str
    now: str
    why: str


def changes(then: Facts, now: Facts) -> tuple[Change, ...]:
    """Those that matter most first; what is the same for several cards is one change."""
    found: dict[tuple[str, str, str, str], list[int]] = {}
    for point, before, after in _differing(then, now):
        cards = found.setdefault((point.topic, point.name, before, after), [])
        cards += [] if point.card is None else [point.card]
    order = list(TOPICS)
    rows = sorted(found.items(), key=lambda item: order.index(item[0][0]))
    return tuple(_change(topic, name, pair, cards) for (topic, name, *pair), cards in rows)


def _differing(then: Facts, now: Facts) -> Iterator[tuple[Point, str, str]]:
    was, there = points(then), points(now)
    for point in dict.fromkeys((*was, *there)):
        missing = _missing(point, then, now)
        if point.topic in ("python", "packages") and then.python.path != now.python.path:
            continue  # of two interpreters: the release names one of them
        before, after = was.get(point, missing), there.get(point, missing)
        if before is not None and after is not None and before != after and not _alike(point, before, after):
            yield point, before, after


def _alike(point: Point, before: str, after: str) -> bool:
    """A kernel keeps a little more or less memory for itself, which may round another way: that is no other machine."""
    if point.topic != "memory":
        return False
    was, there = mebibytes(before), mebibytes(after)
    return abs(was - there) <= (1024 if max(was, there) > 4096 else 64)


def _missing(point: Point, then: Facts, now: Facts) -> str | None:
    whole = TOPICS[point.topic].whole and known(then, point.topic) and known(now, point.topic)
    # of a card that is gone only itself is told, not each of its properties
    return ABSENT if whole and (point.topic != "cards" or point.name == "card") else None


def _change(topic: str, name: str, pair: Iterable[str], cards: list[int]) -> Change:
    before, after = pair
    numbers = sorted(cards)
    where = f"card{'s' * (len(numbers) > 1)} {runs(numbers)}: " if numbers else ""
    return Change(topic, TOPICS[topic].severity, f"{where}{name}", before, after, TOPICS[topic].why)


def runs(numbers: Iterable[int]) -> str:
    """`0-3, 6`"""
    return ", ".join(_runs(sorted(numbers)))


def _runs(numbers: list[int]) -> Iterator[str]:
    first = 0
    for index, number in enumerate(numbers):
        if index + 1 == len(numbers) or numbers[index + 1] != number + 1:
            yield str(number) if first == index else f"{numbers[first]}-{number}"
            first = index + 1


LASTING = (
    "host", "hostname", "kernel", "os", "machine", "cpus", "numa", "numa_balancing", "memory_total", "swap_total",
    "shm_total", "governor", "cgroup", "driver", "links", "limits", "variables", "nccl_conf", "python",
)  # fmt: skip
OF_A_CARD = (
    "index", "name", "uuid", "bus_id", "compute", "memory_total", "power_limit", "clock_sm_max", "clock_memory_max",
    "clock_app_sm", "ecc", "persistence", "mig", "pcie_max", "numa", "fault",
)  # fmt: skip


def lasting(facts: Facts) -> Facts:
    """What is worth to be saved: only what `changes` reads, so that a host that is as it was saves the same again."""
    cards = tuple(
        Card(**{name: getattr(card, name) for name in OF_A_CARD}, pcie=lanes(card.pcie) or "") for card in facts.cards
    )
    docker = replace(facts.docker, fault="", images={})
    return Facts(**{name: getattr(facts, name) for name in LASTING}, cards=cards, docker=docker)
