"""What counts as a change of a host, what never does, and that equal hosts save equal facts."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from stackctl.core.doctor.drift import changes, lasting, runs
from stackctl.core.doctor.points import TOPICS, points
from stackctl.core.doctor.read import Times, look_of
from stackctl.core.doctor.saved import Moment, line, parse
from stackctl.core.doctor.values import Bridge, Card, Clock, Disk, Docker, Driver, Facts, Limit, Listener
from tests.core.doctor.hosts import BUSY, card, engine, host
from tests.core.doctor.outputs import answer, case, command, eight

CARDS = {
    "cards": ({"uuid": "GPU-other"}, "card 1: card"),
    "card memory": ({"memory_total": 48 << 30}, "card 1: memory"),
    "power cap": ({"power_limit": 450.0}, "card 1: power limit"),
    "ecc": ({"ecc": False}, "card 1: ECC"),
    "mig": ({"mig": True}, "card 1: MIG"),
    "persistence": ({"persistence": False}, "card 1: persistence mode"),
    "link": ({"pcie": "gen 5 x8"}, "card 1: lanes"),
    "numa": ({"numa": 1}, "card 1: node"),
}


@pytest.mark.parametrize(("topic", "changed", "what"), [(topic, *pair) for topic, pair in CARDS.items()])
def test_each_property_of_a_card(topic: str, changed: dict[str, object], what: str) -> None:
    (found,) = changes(host(), host(cards=(card(0), card(1, **changed))))
    assert (found.topic, found.what) == (topic, what) and found.why == TOPICS[topic].why


LINKS, PYTHON = host().links, host().python
WHOLE = [
    ({"kernel": "6.8.0-48-generic"}, "kernel", "kernel", "6.8.0-45-generic", "6.8.0-48-generic"),
    ({"driver": Driver("590.1", "13.0", "580.95.05")}, "driver", "driver", "580.95.05", "590.1"),
    ({"driver": Driver("580.95.05", "13.1", "580.95.05")}, "cuda", "newest CUDA of the driver", "13.0", "13.1"),
    ({"hostname": "gpu2"}, "host", "name", "gpu1", "gpu2"),
    ({"governor": "powersave"}, "processors", "governor", "performance", "powersave"),
    ({"numa": {"0": "0-63", "1": "64-127"}}, "numa", "processors of node 0", "0-127", "0-63"),
    ({"numa_balancing": True}, "numa", "balancing", "off", "on"),
    ({"limits": {"memlock": Limit(8 << 20, 8 << 20)}}, "limits", "memlock", "unlimited", "8388608"),
    ({"shm_total": 64 << 20}, "memory", "/dev/shm", "251 GiB", "64 MiB"),
    ({"variables": {}}, "variables", "NCCL_P2P_LEVEL of a login", "SYS", "(none)"),
    ({"nccl_conf": {"NCCL_DEBUG": "WARN", "NCCL_IB": "1"}}, "variables", "NCCL_IB of nccl.conf", "(none)", "1"),
    ({"links": replace(LINKS, iommu_cmdline=())}, "iommu", "words of the kernel's command line", "iommu=pt", "none"),
    ({"links": replace(LINKS, iommu_type="DMA")}, "iommu", "type of the cards' groups", "identity", "DMA"),
    ({"links": replace(LINKS, p2p={"0-1": "CNS"})}, "topology", "P2P 0-1", "OK", "CNS"),
    (
        {"links": replace(LINKS, bridges=(Bridge("00:01.1", "", ("ReqRedir",)), Bridge("40:01.1")))},
        "acs", "bridges with ACS on", "none", "00:01.1",
    ),
    ({"links": replace(LINKS, kernel_parameters={"RegistryDwords": "x"})}, "module", "RegistryDwords", '""', "x"),
    ({"docker": Docker(True, "28.0", driver="overlay2", toolkit="1.17.0")}, "docker", "docker", "27.3.1", "28.0"),
    ({"python": replace(PYTHON, packages={"torch": "2.10", "new": "1"})}, "packages", "torch", "2.9.1", "2.10"),
    ({"python": replace(PYTHON, version="3.11.9")}, "python", "interpreter", "3.11.7", "3.11.9"),
]  # fmt: skip


@pytest.mark.parametrize(("changed", "topic", "what", "then", "now"), WHOLE)
def test_each_property_of_a_host(changed: dict[str, object], topic: str, what: str, then: str, now: str) -> None:
    found = changes(host(), host(**changed))
    assert (topic, what, then, now) in [(one.topic, one.what, one.then, one.now) for one in found]
    assert {one.topic for one in found} == {topic}


def test_the_moment_is_never_a_difference() -> None:
    warm = tuple(
        replace(
            one, memory_used=90 << 30, clock_sm=2400, clock_memory=12481, temperature=80, slowed=("sw_power_cap",),
            processes=(BUSY,), pcie="gen 1 x16", ecc_uncorrected=3,
        )
        for one in host().cards
    )  # fmt: skip
    later = host(
        cards=warm, when=1.8e9, boot=1.79e9, memory_free=1, shm_free=1, memory_total=540_000_100_000,
        disks=(Disk("/models"),), clock=Clock(3.0), ports=(Listener(31000, pid=5),), engines=(engine("decode-0"),),
        kernel_log=("Xid 79",), missing=(),
    )  # fmt: skip
    assert changes(host(), later) == ()
    assert lasting(host()) == lasting(replace(later, memory_total=540_000_000_000))
    assert points(lasting(later)) == points(later)  # what is saved is all that is compared


def test_what_one_look_did_not_see_is_no_difference() -> None:
    blind = Facts(
        kernel="6.8.0-45-generic",
        hostname="gpu1",
        driver=Driver(fault="nvidia-smi did not answer within 60 s", installed=True),
        links=replace(LINKS, ways={}, p2p={}, bridges=None, iommu_units=None, iommu_type=None, kernel_parameters={}),
        variables=host().variables,
        nccl_conf=host().nccl_conf,
    )
    assert changes(host(), blind) == () == changes(blind, host())
    other = replace(PYTHON, path="/opt/other", version="3.12.1", packages={"torch": "2.10"})
    assert changes(host(), host(python=other)) == ()  # of another interpreter
    lost = host(cards=(card(0), Card(1, fault="GPU is lost")))
    assert [one.what for one in changes(host(), lost)] == ["card 1: card"]


@pytest.mark.parametrize(
    ("then", "now", "differs"),
    [
        (23.4, 23.6, False),  # rounds another way
        (3.99, 4.01, False),
        (64 / 1024, 0.0, False),
        (0.5, 0.25, True),
        (24.0, 16.0, True),
        (4.2, 3.5, True),
    ],
)
def test_memory_is_compared_as_large_as_modules_are(then: float, now: float, differs: bool) -> None:
    one, other = (host(memory_total=int(value * (1 << 30))) for value in (then, now))
    assert bool(changes(one, other)) is differs


def test_a_card_that_is_gone_or_came_is_one_change() -> None:
    (gone,) = changes(host(), host(cards=(card(0),)))
    assert gone.what == "card 1: card" and gone.now == "(none)" and "GPU-00000001" in gone.then
    (came,) = changes(host(cards=(card(0),)), host())
    assert came.then == "(none)"


def test_cards_that_changed_alike_are_one_line_and_the_most_important_comes_first() -> None:
    before = host(cards=tuple(card(n) for n in range(8)))
    after = host(
        cards=tuple(card(n, power_limit=450.0 if n != 5 else 300.0) for n in range(8)),
        os="Ubuntu 24.04.3 LTS",
        driver=Driver("590.1", "13.0", "590.1"),
    )
    assert [(one.what, one.then, one.now) for one in changes(before, after)] == [
        ("driver", "580.95.05", "590.1"),
        ("kernel module", "580.95.05", "590.1"),
        ("cards 0-4, 6-7: power limit", "600 W", "450 W"),
        ("card 5: power limit", "600 W", "300 W"),
        ("system", "Ubuntu 24.04.1 LTS", "Ubuntu 24.04.3 LTS"),
    ]


@pytest.mark.parametrize(
    ("numbers", "text"), [([], ""), ([3], "3"), ([0, 1], "0-1"), ([7, 0, 1, 2, 5], "0-2, 5, 7"), ([1, 3], "1, 3")]
)
def test_runs_of_cards(numbers: list[int], text: str) -> None:
    assert runs(numbers) == text


def test_what_nvidia_smi_said_is_saved_whole_and_compared() -> None:
    before = facts_of(eight())
    row, known = line(Moment(1.0, "deploy", "0123456789ab", "ops@here"), before)
    text = json.dumps({**row, "facts": known})
    assert len(text) < 16_000  # it travels as one argument
    (saved,) = parse(text)
    passing = dict.fromkeys(("chronyc", "dmesg", "docker_info"))  # what a quick look leaves out
    assert changes(saved.facts, facts_of(eight(**passing))) == ()
    busy = facts_of(eight(nvidia_smi=command("nvidia-smi", case("busy-x8.xml"))))
    assert {one.topic for one in changes(saved.facts, busy)} <= {"power cap"}
    lost = changes(saved.facts, facts_of(eight(nvidia_smi=command("nvidia-smi", case("one-lost-of-8.xml")))))
    assert [one.topic for one in lost] == ["cards"] and lost[0].now == "(none)"
    cut = facts_of(eight(nvidia_smi_p2p=command("nvidia-smi-p2p", case("topo-p2p-cns-x8.txt"))))
    assert {(one.topic, one.then, one.now) for one in changes(saved.facts, cut)} == {("topology", "OK", "CNS")}
    away = eight(nvidia_smi=command("nvidia-smi", case("mismatch.txt"), code=18))
    assert "cards" not in {one.topic for one in changes(saved.facts, facts_of(away))}


def facts_of(commands: dict[str, dict[str, Any]]) -> Facts:
    return look_of("gpu1", answer(commands), Times(1.0, 2.0)).facts
