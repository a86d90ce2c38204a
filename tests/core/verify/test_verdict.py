"""Exact statistics, and the rules that make a verdict of counts."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackctl.core.verify import stats
from stackctl.core.verify.verdict import Rules, Tally, decide, is_lagged

RULES = Rules(concurrency=60, bursts_min=10, bursts_max=60, max_rate=0.02, confidence=0.99)
QUICK = replace(RULES, quick=True)


@pytest.mark.parametrize(
    ("rate", "at95", "at99"),
    [(0.2, 14, 21), (0.1, 29, 44), (0.05, 59, 90), (0.02, 149, 228), (0.01, 299, 459), (0.001, 2995, 4603)],
)
def test_requests_that_exclude_a_rate(rate: float, at95: int, at99: int) -> None:
    assert (stats.needed(rate, 0.95), stats.needed(rate, 0.99)) == (at95, at99)


@pytest.mark.parametrize(
    ("requests", "at95", "at99"), [(60, 4.87, 7.39), (180, 1.65, 2.53), (300, 0.99, 1.52), (1200, 0.25, 0.38)]
)
def test_bounds_without_a_failure(requests: int, at95: float, at99: float) -> None:
    assert 100 * stats.upper_bound(0, requests, 0.95) == pytest.approx(at95, abs=0.01)
    assert 100 * stats.upper_bound(0, requests, 0.99) == pytest.approx(at99, abs=0.01)


@given(st.integers(1, 400), st.data())
def test_the_bound_is_where_the_tail_is_the_risk(requests: int, data: st.DataObject) -> None:
    failed = data.draw(st.integers(0, requests - 1))
    bound = stats.upper_bound(failed, requests, 0.95)
    tail = math.fsum(math.comb(requests, k) * bound**k * (1 - bound) ** (requests - k) for k in range(failed + 1))
    assert tail == pytest.approx(0.05, rel=1e-6)
    assert bound > failed / requests


def test_a_known_bound_and_the_ends() -> None:
    assert 100 * stats.upper_bound(3, 3000, 0.95) == pytest.approx(0.2583, abs=1e-3)
    assert stats.upper_bound(5, 5, 0.99) == 1.0 and stats.upper_bound(0, 0, 0.99) == 1.0


def outcome(tally: Tally, rules: Rules = RULES) -> str | None:
    decision = decide(tally, rules)
    return decision.verdict if decision else None


@pytest.mark.parametrize(
    ("tally", "verdict"),
    [
        (Tally(requests=60, failed=2, bursts=1), "bad"),
        (Tally(requests=60, failed=1, bursts=1, contaminated=1), "bad"),
        (Tally(requests=0, failed=0, bursts=1, wedged=True), "bad"),
        (Tally(requests=60, failed=1, bursts=1), None),
        (Tally(requests=240, failed=0, bursts=4), None),
        (Tally(requests=600, failed=0, bursts=10), "clean"),
        (Tally(requests=227, failed=0, bursts=10), None),
        (Tally(requests=600, failed=1, bursts=10), "clean"),
        (Tally(requests=455, failed=1, bursts=10), None),
        (Tally(requests=455, failed=1, bursts=60), "inconclusive"),
        (Tally(requests=599, failed=0, bursts=10, unclear={"length_cut": 1}), "inconclusive"),
        (Tally(requests=0, failed=0, bursts=1, unclear={"refused": 60}), "inconclusive"),
        (Tally(requests=110, failed=0, bursts=2, unclear={"http_status": 10}), "inconclusive"),
        (Tally(requests=60, failed=0, bursts=3, lagged=2), None),
        (Tally(requests=60, failed=0, bursts=4, lagged=3), "inconclusive"),
        (Tally(requests=60, failed=2, bursts=4, lagged=3), "bad"),
    ],
)
def test_the_verdict(tally: Tally, verdict: str | None) -> None:
    assert outcome(tally) == verdict


def test_a_bisect_stops_at_the_count() -> None:
    assert outcome(Tally(requests=240, bursts=4), QUICK) == "clean"
    assert outcome(Tally(requests=240, failed=1, bursts=4), QUICK) is None
    assert outcome(Tally(requests=480, failed=1, bursts=8), QUICK) == "clean"
    assert (RULES.planned, QUICK.planned) == (10, 4)


def test_one_at_a_time_can_be_clean_too() -> None:
    alone = replace(RULES, concurrency=1)
    assert alone.last >= alone.needed == 228
    assert outcome(Tally(requests=228, bursts=228), alone) == "clean"


def test_every_inconclusive_says_what_to_do() -> None:
    for tally in (
        Tally(requests=1, bursts=60),
        Tally(bursts=1, unclear={"refused": 60}),
        Tally(requests=9, bursts=2, unclear={"length_cut": 1}),
        Tally(requests=9, bursts=4, lagged=3),
    ):
        decision = decide(tally, RULES)
        assert decision is not None and decision.verdict == "inconclusive" and decision.hint


def test_when_the_client_lags() -> None:
    assert is_lagged(0.2, 0.1, 1.0) and is_lagged(0.0, 0.9, 6.0)
    assert not is_lagged(0.05, 0.9, 1.0)  # a short burst is busy by nature
