from __future__ import annotations

import json

import pytest

from stackctl.core.doctor.jsonform import facts_from_json, facts_to_json
from stackctl.core.doctor.read import Times, bridges, look_of
from stackctl.core.doctor.summary import card_rows
from stackctl.core.doctor.values import Limit
from tests.core.doctor.outputs import answer, case, command, eight, look


def test_a_machine_with_eight_cards() -> None:
    facts = look().facts
    assert [card.index for card in facts.cards] == list(range(8))
    assert (facts.cards[0].compute, facts.cards[0].numa, facts.cards[1].numa) == ("12.0", 0, None)
    assert (facts.driver.version, facts.driver.cuda, facts.driver.module) == ("580.95.05", "13.0", "580.95.05")
    assert facts.links.ways["0-4"] == "SYS" and facts.links.p2p["6-7"] == "OK" and facts.links.bridges is None
    assert facts.limits == {"nofile": Limit(1024, 1048576), "memlock": Limit(None, None)}
    assert facts.python.packages["torch-cuda"] == "13.0"
    assert facts.kernel_log is None
    assert facts.missing == ("docker", "nvidia-ctk")
    assert facts.clock.source == "chrony, C0A80101 (192.168.1.1)"
    assert facts_from_json(json.loads(json.dumps(facts_to_json(facts)))) == facts


def test_the_clock_allows_for_the_way() -> None:
    """Asked at 100.0, answered at 101.2; there it took from 110.1 to 111.1: 10 s ahead, and 0.2 s were on the way."""
    clock = look(begin=110.1, end=111.1).facts.clock
    assert clock.offset == pytest.approx(10.0, abs=0.01) and clock.error == pytest.approx(0.1)


def test_rows_are_found_by_uuid_not_by_place() -> None:
    rows = case("rtx-pro-6000-x8.csv").splitlines()
    facts = look(eight(nvidia_smi_query=command("nvidia-smi-query", "\n".join([rows[0], *reversed(rows[1:])])))).facts
    assert [card.index for card in facts.cards] == list(range(8))


def test_without_the_query_cards_keep_their_order() -> None:
    cards = look(eight(nvidia_smi_query=None)).facts.cards
    assert [card.index for card in cards] == list(range(8)) and cards[0].compute is None


@pytest.mark.parametrize(("said", "fault"), [("mismatch.txt", "version mismatch"), ("no-driver.txt", "has failed")])
def test_a_driver_that_fails_is_told_in_its_words(said: str, fault: str) -> None:
    facts = look(eight(nvidia_smi=command("nvidia-smi", case(said), code=9))).facts
    assert fault in facts.driver.fault and facts.cards == ()


def test_nvidia_smi_that_hangs() -> None:
    facts = look(eight(nvidia_smi=command("nvidia-smi", code=None, cut=60.0))).facts
    assert facts.driver.fault == "nvidia-smi did not answer within 60 s"


def test_a_driver_that_is_not_loaded_and_none_at_all() -> None:
    assert look({}, module="").facts.driver.fault == "the kernel has not loaded the driver"
    nothing = look({}, module="", smi=False).facts.driver
    assert (nothing.installed, nothing.fault) == (False, "")


def test_a_card_without_a_handle_is_a_lost_card() -> None:
    text = case("rtx-pro-6000-x8.xml")
    lost = command("nvidia-smi", text.replace("00000000:61:00.0", "00000000:62:00.0"), case("no-handle.txt"), 15)
    cards = look(eight(nvidia_smi=lost)).facts.cards
    assert (len(cards), cards[-1].index, cards[-1].bus_id) == (9, -1, "0000:61:00.0")


def test_processes_get_their_owners() -> None:
    about = {"4000": {"pid": 4000, "user": "ops", "command": "sglang::scheduler_TP0", "ours": True, "stack": "prod"}}
    busy = eight(nvidia_smi=command("nvidia-smi", case("busy-x8.xml")))
    seen = look(busy, on_cards=about).facts
    first, second = seen.cards[0].processes
    assert (first.user, first.ours, second.user, second.ours) == ("ops", True, "", False)
    assert card_rows(seen)[0][-1] == "4000 (ours), 9000"
    foreign = look(busy, on_cards={"9000": {**about["4000"], "user": "eve", "ours": False}}).facts
    assert card_rows(foreign)[0][-1] == "4000, 9000 (eve)"


def test_bridges_above_cards() -> None:
    found = bridges(case("lspci-acs.txt"), {"0000:00:01.1"})
    assert [(one.bus_id, one.above, one.acs) for one in found] == [
        ("00:01.1", True, ("SrcValid", "ReqRedir", "CmpltRedir", "UpstreamFwd")),
        ("20:01.1", False, ()),
        ("c0:05.2", False, ("SrcValid", "ReqRedir", "CmpltRedir", "UpstreamFwd")),
    ]


def test_docker() -> None:
    version = {"Client": {"Version": "28.2.2"}, "Server": {"Version": "28.2.2"}}
    info = {"DockerRootDir": "/var/lib/docker", "Driver": "overlay2", "Runtimes": {"runc": {}, "nvidia": {}}}
    info |= {"DefaultRuntime": "runc", "CgroupDriver": "systemd", "CgroupVersion": "2"}
    commands = eight(
        docker_version=command("docker-version", json.dumps(version)),
        docker_info=command("docker-info", json.dumps(info)),
        nvidia_ctk=command("nvidia-ctk", "NVIDIA Container Toolkit CLI version 1.17.8\ncommit: x\n"),
    )
    commands["docker-image a:1"] = command("docker-image a:1", '{"io.stackctl.image": "1"}\n')
    commands["docker-image b:2"] = command("docker-image b:2", stderr="No such image", code=1)
    commands["docker-image c:3"] = command("docker-image c:3", "null\n")
    commands["docker-image label=x=y"] = command("docker-image label=x=y", "prod:1 f00d\nprod:2 beef\n")
    docker = look(commands).facts.docker
    assert docker.ours == ("prod:1 f00d", "prod:2 beef")
    assert (docker.version, docker.fault, docker.runtimes, docker.toolkit) == (
        "28.2.2",
        "",
        ("nvidia", "runc"),
        "1.17.8",
    )
    assert docker.images == {"a:1": {"io.stackctl.image": "1"}, "c:3": {}}


def test_a_docker_whose_daemon_is_away() -> None:
    away = command("docker-version", '{"Client":{},"Server":null}', "\nCannot connect to the Docker daemon\n", 1)
    docker = look(eight(docker_version=away, docker_info=command("docker-info", "no json", code=1))).facts.docker
    assert docker.installed and docker.fault == "Cannot connect to the Docker daemon"


@pytest.mark.parametrize("part", ["system", "commands", "shm", "limits", "clock", "places"])
def test_an_answer_with_a_hole_raises(part: str) -> None:
    said = answer(eight())
    del said[part]
    with pytest.raises((KeyError, ValueError, TypeError)):
        look_of("gpu1", said, Times(0, 1))
