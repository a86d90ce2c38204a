from __future__ import annotations

import json

import pytest

from stackctl.core.doctor.jsonform import facts_from_json, facts_to_json
from stackctl.core.doctor.values import Bridge, Card, CardProcess, Clock, Disk, Engine, Facts, Limit, Links, Listener

FULL = Facts(
    host="gpu1",
    when=1.5,
    cards=(Card(0, "RTX", "GPU-1", compute="12.0", slowed=("sw_power_cap",), processes=(CardProcess(7, memory=3),)),),
    links=Links({"0-1": "PIX"}, {"0-1": "OK"}, (Bridge("00:01.0", acs=("SrcValid",)),)),
    disks=(Disk("/models", free=1 << 40),),
    limits={"memlock": Limit(None, None), "nofile": Limit(1024, 1 << 20)},
    clock=Clock(0.25, 0.01, True, "chrony"),
    ports=(Listener(30000, "0.0.0.0", 12),),
    engines=(Engine(12, argv=("python", "-m", "x"), env={"NCCL_P2P_LEVEL": "SYS"}),),
    kernel_log=(),
)


def through(value: dict[str, object]) -> Facts | None:
    return facts_from_json(json.loads(json.dumps(value)))


def test_facts_survive_json() -> None:
    assert through(facts_to_json(FULL)) == FULL
    assert through(facts_to_json(Facts())) == Facts()


def test_what_an_older_or_newer_version_wrote_is_read() -> None:
    said = facts_to_json(FULL)
    del said["numa_balancing"]
    said["moon"] = "full"
    assert through(said) == FULL


def test_a_whole_number_is_a_time_too() -> None:
    read = through({"format": 1, "when": 3})
    assert read is not None and read.when == 3.0


@pytest.mark.parametrize("value", [None, [], {"format": 2}, {}])
def test_what_is_no_look_is_none(value: object) -> None:
    assert facts_from_json(value) is None


@pytest.mark.parametrize(
    ("part", "place"),
    [
        ({"cards": {}}, "cards is dict"),
        ({"cards": [3]}, "cards[0] is no object"),
        ({"cards": [{"index": "0"}]}, "cards[0].index is str"),
        ({"cards": [{"index": True}]}, "cards[0].index is no number"),
        ({"cards": [{}]}, "cards[0]: "),
        ({"links": {"ways": {"0-1": 3}}}, "links.ways.0-1 is int"),
        ({"disks": 3}, "disks is int"),
    ],
)
def test_a_broken_look_says_where(part: dict[str, object], place: str) -> None:
    with pytest.raises(ValueError) as error:
        facts_from_json({"format": 1, **part})
    assert place in str(error.value)
