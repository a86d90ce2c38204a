from __future__ import annotations

import math
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stackctl.core.bisect.choose import Question, _Point, _Tables, choose, entropy
from stackctl.core.bisect.hypotheses import hypotheses
from stackctl.core.bisect.posterior import Model, Posterior
from stackctl.core.bisect.space import Member, make_space
from tests.core.bisect.simulate import World, space_of

SPACE = space_of(World(5, 2, "single"), "3")
Runs = list[tuple[int, bool]]
runs_of = st.lists(st.tuples(st.integers(0, 127), st.booleans()), max_size=8)


def _posterior(runs: Runs) -> Posterior:
    posterior = Posterior(hypotheses(SPACE), Model())
    for mask, failed in runs:
        posterior.observe(SPACE.close(mask), failed)
    return posterior


def _information(posterior: Posterior, mask: int) -> float:
    """By the definition, one hypothesis after the other."""
    fail = stays = 0.0
    for h, weight, inside, outside in zip(
        posterior.candidates, posterior.weights(), *posterior.predictives(), strict=True
    ):
        rate = inside if h.mask & mask == h.mask else outside
        fail += weight * rate
        stays += weight * entropy(rate)
    return entropy(fail) - stays


@given(runs_of, st.integers(0, 127), st.integers(0, 6))
def test_the_tables_give_what_the_definition_gives(runs: Runs, start: int, member: int) -> None:
    posterior = _posterior(runs)
    mask = SPACE.close(start)
    point = _Point(_Tables(SPACE, posterior), mask)
    assert point.information == pytest.approx(_information(posterior, mask), abs=1e-9)
    flip = SPACE.dependents[member] & mask if mask >> member & 1 else SPACE.closure[member] & ~mask
    assert point.after(flip) == pytest.approx(_information(posterior, mask ^ flip), abs=1e-9)
    point.switch(flip)
    assert point.information == pytest.approx(_information(posterior, mask ^ flip), abs=1e-9)


@settings(max_examples=40)
@given(runs_of)
def test_the_choice_is_closed_and_near_the_best_of_all(runs: Runs) -> None:
    posterior = _posterior(runs)
    choice = choose(SPACE, posterior, Question("s", 1))
    assert choice is not None and SPACE.is_closed(choice.mask)
    best = max(_information(posterior, mask) for mask in range(128) if SPACE.is_closed(mask))
    assert choice.bits >= 0.89 * best - 1e-9


@given(runs_of, st.integers(1, 50))
def test_the_same_events_give_the_same_choice(runs: Runs, number: int) -> None:
    assert choose(SPACE, _posterior(runs), Question("s", number)) == choose(
        SPACE, _posterior(runs), Question("s", number)
    )


def test_what_is_to_be_avoided_is_not_chosen() -> None:
    posterior = _posterior([(127, True), (127, True)])
    seen: set[int] = set()
    closed = {mask for mask in range(128) if SPACE.is_closed(mask)}
    while (choice := choose(SPACE, posterior, Question("s", 1, frozenset(seen)))) is not None and len(seen) < 20:
        assert choice.mask not in seen
        seen.add(choice.mask)
    assert seen <= closed and len(seen) >= 10


def test_nothing_is_chosen_when_all_is_avoided() -> None:
    space = make_space((Member("patch:a"),), {})
    posterior = Posterior(hypotheses(space), Model())
    assert choose(space, posterior, Question("s", 1, frozenset({0, 1}))) is None


@pytest.mark.parametrize(("patches", "flags", "most"), [(8, 3, 0.25), (60, 6, 4.0)])
def test_a_choice_is_quick(patches: int, flags: int, most: float) -> None:
    """Measured: 3 ms and 45 ms; the limits only catch another order of growth."""
    space = space_of(World(patches, flags, "single"), "1")
    posterior = Posterior(hypotheses(space), Model())
    posterior.observe(space.full, True)
    began = time.process_time()
    choice = choose(space, posterior, Question("s", 1))
    assert time.process_time() - began < most
    assert choice is not None and math.isfinite(choice.bits) and choice.bits > 0.3
