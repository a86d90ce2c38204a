"""Whole bisects against a world whose truth is known. Few trials; the full table is tests/bench/bisect_table.py."""

from __future__ import annotations

import pytest

from tests.core.bisect.simulate import Told, World, trial


def _trials(world: World, count: int, base_mass: float = 0.15, *, confirm: bool = True) -> list[Told]:
    return [trial(world, f"s{i}", base_mass=base_mass, confirm=confirm) for i in range(count)]


def _mean(told: list[Told]) -> float:
    return sum(t.runs for t in told) / len(told)


@pytest.mark.parametrize(
    ("truth", "kind", "most"),
    [("single", "CONFIRMED", 12), ("patch-flag", "CONFIRMED", 18), ("base", "BASE", 6), ("none", "NEVER FAILS", 5)],
)
def test_a_deterministic_fault_is_always_named(truth: str, kind: str, most: float) -> None:
    told = _trials(World(8, 3, truth), 30)
    assert {t.kind for t in told} == {kind}
    assert all(t.right for t in told)
    assert _mean(told) <= most


@pytest.mark.parametrize(("truth", "most"), [("single", 21), ("patch-flag", 46)])
def test_a_flaky_fault_is_named_within_the_runs_that_were_simulated_beforehand(truth: str, most: float) -> None:
    """p = .6, q = .02, 8 patches and 6 flags: 17 and 42 runs, at most 5 % wrong; here with the spread of 20 trials."""
    told = _trials(World(8, 6, truth, 0.6, 0.02), 20, 0.03, confirm=False)
    assert sum(not t.right for t in told) <= 2
    assert sum(t.searched for t in told) / len(told) <= most


def test_what_cannot_be_built_never_makes_a_wrong_verdict() -> None:
    told = _trials(World(8, 3, "patch-flag", unbuildable=0.1), 40)
    assert all(t.right for t in told if t.kind == "CONFIRMED")
    assert sum(t.right for t in told) >= 38


def test_false_alarms_alone_name_nobody() -> None:
    told = _trials(World(8, 3, "none", 0.6, 0.02), 60)
    assert sum(not t.right for t in told) <= 2
