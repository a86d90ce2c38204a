from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackctl.core.bisect.hypotheses import hypotheses
from stackctl.core.bisect.posterior import Model, Posterior, Rate, unknown_p, unknown_q
from stackctl.core.bisect.space import Member, make_space

SPACE = make_space(
    (Member("patch:a"), Member("patch:b"), Member("patch:c"), Member("flag:x")), {"patch:c": ["patch:a"]}
)


@given(st.integers(0, 40), st.integers(0, 40))
def test_evidence_is_the_mean_over_the_grid(fails: int, passes: int) -> None:
    rate = unknown_p()
    wanted = sum(r**fails * (1 - r) ** passes for r in rate.grid) / len(rate.grid)
    assert math.isclose(rate.log_evidence(fails, fails + passes), math.log(wanted), rel_tol=1e-9, abs_tol=1e-9)


def test_hundreds_of_runs_do_not_underflow() -> None:
    assert math.isfinite(unknown_p().log_evidence(0, 2000))
    assert 0.0 < unknown_q().predictive(0, 2000) < 0.001


def test_a_given_rate_is_its_own_prediction_and_interval() -> None:
    assert Rate((0.6,)).interval(3, 17) == pytest.approx((0.6, 0.6, 0.6))


@given(st.lists(st.tuples(st.integers(0, 15), st.booleans()), max_size=30), st.randoms())
def test_the_order_of_the_runs_does_not_matter(runs: list[tuple[int, bool]], shuffle: object) -> None:
    closed = [(SPACE.close(mask), failed) for mask, failed in runs]
    other = list(closed)
    shuffle.shuffle(other)  # type: ignore[attr-defined]
    weights = []
    for series in (closed, other):
        posterior = Posterior(hypotheses(SPACE), Model())
        for mask, failed in series:
            posterior.observe(mask, failed)
        weights.append(posterior.weights())
    assert weights[0] == pytest.approx(weights[1])
    assert sum(weights[0]) == pytest.approx(1.0)


def test_the_posterior_is_prior_times_likelihood() -> None:
    """By hand: p and q given, one failure of {a, b}, one pass of {a}."""
    posterior = Posterior(hypotheses(SPACE), Model(Rate((0.8,)), Rate((0.1,))))
    posterior.observe(0b0011, True)
    posterior.observe(0b0001, False)
    likelihood = {"none": 0.1 * 0.9, "base": 0.8 * 0.2, (0,): 0.8 * 0.2, (1,): 0.8 * 0.9, (0, 1): 0.8 * 0.9}
    raw = []
    for h in posterior.candidates:
        key = h.kind if h.kind in ("none", "base") else h.members
        raw.append(math.exp(h.log_prior) * likelihood.get(key, 0.1 * 0.9))  # type: ignore[call-overload]
    assert posterior.weights() == pytest.approx([value / sum(raw) for value in raw])
