from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from stackctl.core.bisect.hypotheses import hypotheses
from stackctl.core.bisect.space import Clause, Member, Space, bits, draw, make_space

NAMES = [f"patch:p{i}" for i in range(7)]


@st.composite
def spaces(draws: st.DrawFn) -> Space:
    needs = draws(st.dictionaries(st.sampled_from(NAMES), st.lists(st.sampled_from(NAMES), max_size=2)))
    return make_space(tuple(Member(name) for name in NAMES), needs)


@given(spaces(), st.integers(0, 127))
def test_a_closure_is_the_smallest_closed_set(space: Space, mask: int) -> None:
    closed = space.close(mask)
    assert closed & mask == mask
    assert space.is_closed(closed)
    smaller = [s for s in range(128) if s & mask == mask and space.is_closed(s)]
    assert min(smaller, key=int.bit_count).bit_count() == closed.bit_count()


@given(spaces(), st.integers(0, 127), st.integers(0, 6))
def test_dropping_one_leaves_a_closed_set_without_it(space: Space, mask: int, gone: int) -> None:
    left = space.drop(space.close(mask), 1 << gone)
    assert space.is_closed(left)
    assert not left >> gone & 1


@given(spaces())
def test_hypotheses_are_told_apart_by_some_closed_set(space: Space) -> None:
    closed = [s for s in range(128) if space.is_closed(s)]
    seen = [tuple(h.mask & s == h.mask for s in closed) for h in hypotheses(space)]
    assert len(set(seen)) == len(seen)


@given(spaces(), st.sampled_from(["weighted", "uniform"]))
def test_the_masses_of_all_hypotheses_sum_to_one(space: Space, prior: str) -> None:
    import math

    assert math.isclose(sum(math.exp(h.log_prior) for h in hypotheses(space, prior)), 1.0)  # type: ignore[arg-type]


def test_a_pair_with_what_it_needs_is_the_single() -> None:
    space = make_space((Member("patch:a"), Member("patch:b")), {"patch:b": ["patch:a"]})
    names = {h.members: h.alike for h in hypotheses(space)}
    assert names == {(): (), (0,): (), (1,): ((0, 1),)}


def test_names_and_masks_are_inverse() -> None:
    space = make_space(tuple(Member(name) for name in NAMES), {})
    assert space.mask(space.names(0b1010011)) == 0b1010011
    assert space.without(space.left_out(0b1010011)) == 0b1010011
    assert list(bits(0b1010011)) == [0, 1, 4, 6]


def test_a_clause_of_one_against_one_is_a_need_and_others_are_forbidden() -> None:
    members = tuple(Member(name) for name in NAMES[:3])
    need = make_space(members, {}, [Clause(on=("patch:p1",), off=("patch:p0",))])
    assert need.close(0b010) == 0b011 and not need.forbidden
    wider = make_space(members, {}, [Clause(on=("patch:p1", "patch:p2"), off=("patch:p0",))])
    assert not wider.allows(0b110)
    assert wider.allows(0b111) and wider.allows(0b010)


def test_draws_depend_on_their_arguments_only() -> None:
    assert draw("a", 1, 2) == draw("a", 1, 2)
    assert len({draw("a", i) for i in range(100)}) == 100
    assert all(0.0 <= draw("a", i) < 1.0 for i in range(100))
