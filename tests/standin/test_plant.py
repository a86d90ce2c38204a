"""Plants do what they declare: served with and without the flag, alone and sixty at once."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.bench import plant
from tests.standin import client, fleet


@pytest.mark.parametrize("seed", range(10))
def test_a_plant_applies_in_its_order_and_tells_its_truth(seed: int, tmp_path: Path) -> None:
    truth = plant.plant(tmp_path / "planted", seed)
    assert truth.queue == plant.queue_of(tmp_path / "planted")
    assert sorted(truth.queue) == sorted(plant.queue_of(plant.WORKSPACE))
    assert (truth.queue == plant.queue_of(plant.WORKSPACE)) == (seed == 0)
    plant.apply(tmp_path / "planted", truth.queue, tmp_path / "tree")
    everything = [f"patch:{name}" for name in truth.queue] + [plant.FLAG]
    assert truth.is_bad(everything) == (truth.kind != "none")
    assert not truth.is_bad([element for element in everything if element not in truth.elements])


def test_ten_seeds_hold_every_kind_twice_and_ten_orders(tmp_path: Path) -> None:
    assert Counter(plant.kind_of(seed) for seed in range(10)) == dict.fromkeys(plant.KINDS, 2)
    queue = plant.queue_of(plant.WORKSPACE)
    assert len({plant.shuffled(queue, seed) for seed in range(10)}) == 10


def test_the_plant_of_the_demo_is_the_demo(tmp_path: Path) -> None:
    plant.plant(tmp_path / "planted", 0)
    for name in plant.queue_of(plant.WORKSPACE):
        file = f"patches/{name}.patch"
        assert (tmp_path / "planted" / file).read_bytes() == (plant.WORKSPACE / file).read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("tier", [True, False], ids=["tier", "no-tier"])
@pytest.mark.parametrize("kind", [kind for kind in plant.KINDS if kind != "marks"])  # test_demo.py has that one
def test_a_plant_is_bad_exactly_where_it_says(kind: str, tier: bool, tmp_path: Path) -> None:
    truth = plant.plant(tmp_path / "planted", 1, kind=kind)
    tree = plant.apply(tmp_path / "planted", truth.queue, tmp_path / "tree")
    present = [f"patch:{name}" for name in truth.queue] + [plant.FLAG] * tier
    with fleet.pair(tree, (fleet.TIER,) if tier else ()) as served:
        assert client.bursts(served.url, [1] * 10) == [Counter(ok=1)] * 10
        assert client.bursts(served.url, [4] * 5) == [Counter(ok=4)] * 5  # as many as a gate asks at once
        found = client.bursts(served.url, [60] * 3)
    if truth.is_bad(present):
        assert max(burst["ok"] for burst in found) < 45
    else:
        assert found == [Counter(ok=60)] * 3
