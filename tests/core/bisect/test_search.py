from __future__ import annotations

from stackctl.core.bisect.search import Done, Outcome, Plan, Run, Search, Try, calibrate, judge, starts_to_exclude
from stackctl.core.bisect.space import Member, make_space

SPACE = make_space((*(Member(f"patch:p{i}") for i in range(4)), Member("flag:f")), {})
BAD = Outcome("bad", signature="leak", classes={"leak": 9, "missing": 2, "stall": 1})
CLEAN = Outcome("clean")
LOST = Outcome("inconclusive", "did not come up")


def _search(*outcomes: Outcome, min_rate: float = 0.5) -> Search:
    """These outcomes, in the order that the search asks for runs."""
    search = Search(Plan(SPACE, min_rate=min_rate))
    for number, outcome in enumerate(outcomes, 1):
        step = search.next()
        assert isinstance(step, Try), step
        search.feed(Run(number, step.phase, step.mask, outcome))
    return search


def test_a_run_counts_only_when_it_shows_the_calibrated_fault() -> None:
    assert judge(BAD, "leak") == "fail"
    assert judge(BAD, "missing") == "fail"  # two requests: the fault is there, if not the most frequent
    assert judge(BAD, "stall") == "other"  # one request is not enough
    assert judge(Outcome("bad", signature="http"), "leak") == "other"
    assert judge(CLEAN, "leak") == "pass"
    assert judge(LOST, "leak") == "neither"
    assert judge(Outcome("unbuildable"), "leak") == "unbuildable"


def test_a_hang_is_a_failure_only_when_a_hang_is_looked_for() -> None:
    hang = Outcome("bad", signature="stall", classes={"stall": 60, "leak": 5}, wedge=True)
    assert judge(hang, "wedge") == "fail"
    assert judge(hang, "leak") == "other"


def test_the_fault_is_what_two_failures_share() -> None:
    assert calibrate([BAD]) is None
    assert calibrate([BAD, BAD]) == "leak"
    other = Outcome("bad", signature="missing", classes={"missing": 7, "leak": 3})
    assert calibrate([BAD, other]) == "leak"
    assert calibrate([BAD, Outcome("bad", signature="http")]) is None
    assert calibrate([Outcome("bad"), CLEAN, Outcome("bad")]) == "bad"  # a command tells no more


def test_starts_that_exclude_a_rate() -> None:
    assert [starts_to_exclude(rate) for rate in (1.0, 0.5, 0.2, 0.1)] == [1, 5, 14, 29]


def test_the_full_stack_is_run_until_it_failed_twice() -> None:
    search = _search(BAD)
    assert search.next() == Try("full", SPACE.full)
    search.feed(Run(2, "full", SPACE.full, BAD))
    step = search.next()
    assert isinstance(step, Try) and step.phase == "search"


def test_a_stack_that_never_fails_ends_after_the_starts_that_say_so() -> None:
    step = _search(*[CLEAN] * 5).next()
    assert isinstance(step, Done) and step.kind == "NEVER FAILS" and "50%" in step.reason
    assert isinstance(_search(*[CLEAN] * 13, min_rate=0.2).next(), Try)


def test_one_failure_doubles_the_starts() -> None:
    assert isinstance(_search(BAD, *[CLEAN] * 4).next(), Try)
    step = _search(BAD, *[CLEAN] * 9).next()
    assert isinstance(step, Done) and step.kind == "NEVER FAILS"


def test_no_answer_is_asked_once_more_and_then_rests() -> None:
    search = _search(BAD, BAD, LOST)
    asked = search.runs[-1].mask
    assert search.next() == Try("search", asked)
    search.feed(Run(4, "search", asked, LOST))
    for number in range(5, 12):
        step = search.next()
        assert isinstance(step, Try) and step.mask != asked
        search.feed(Run(number, step.phase, step.mask, CLEAN))
        if search.confirmation:
            break


def test_another_fault_is_not_asked_again_at_once() -> None:
    search = _search(BAD, BAD, Outcome("bad", signature="http"))
    step = search.next()
    assert isinstance(step, Try) and step.mask != search.runs[-1].mask


def test_too_many_without_answer_pause_and_going_on_is_possible() -> None:
    search = _search(BAD, BAD, LOST, LOST, LOST, LOST)
    step = search.next()
    assert isinstance(step, Done) and step.kind == "INFRA"
    search.paused()
    assert isinstance(search.next(), Try)


def test_unbuildable_says_nothing_and_is_not_tried_again() -> None:
    search = _search(BAD, BAD)
    before = search.posterior.weights()
    step = search.next()
    assert isinstance(step, Try)
    search.feed(Run(3, step.phase, step.mask, Outcome("unbuildable", "does not apply")))
    assert search.posterior.weights() == before
    after = search.next()
    assert isinstance(after, Try) and after.mask != step.mask


def _world(truth: int, *, lies: dict[str, int] | None = None, third: int = 0) -> Search:
    """Deterministic; `lies`: so many runs of an arm show the contrary; `third`: another set that fails as well."""
    search, number, lies = Search(Plan(SPACE)), 0, dict(lies or {})
    while isinstance(step := search.next(), Try):
        number += 1
        bad = step.mask & truth == truth or bool(third and step.mask & third == third)
        if lies.get(step.phase):
            lies[step.phase] -= 1
            bad = not bad
        search.feed(Run(number, step.phase, step.mask, BAD if bad else CLEAN))
        assert number < 150
    search.end = step  # type: ignore[attr-defined]
    return search


def test_a_pair_is_confirmed_by_all_three_arms() -> None:
    search = _world(0b10010)
    assert search.end.kind == "CONFIRMED" and search.top.mask == 0b10010  # type: ignore[attr-defined]
    assert {run.phase for run in search.runs} == {"full", "search", "A", "A'", "B"}


def test_one_false_alarm_in_the_confirmation_does_not_lose_the_culprit() -> None:
    search = _world(0b00010, lies={"A": 1})
    assert search.end.kind == "CONFIRMED" and search.top.mask == 0b00010  # type: ignore[attr-defined]
    assert search.contradictions == ["not the only cause"]


def test_two_culprits_are_never_confirmed_as_one() -> None:
    search = _world(0b00010, third=0b01000)
    assert search.end.kind != "CONFIRMED"  # type: ignore[attr-defined]


def test_three_that_fail_only_together_are_found_when_no_pair_explains_the_runs() -> None:
    search = _world(0b10011)
    assert search.end.kind == "CONFIRMED" and search.top.mask == 0b10011  # type: ignore[attr-defined]
    assert {run.phase for run in search.runs} == {"full", "search", "A", "A'", "A''", "B"}


def test_a_pair_that_does_not_fail_alone_is_kept_in_while_a_third_is_looked_for() -> None:
    search = _world(0b10010, lies={"B": 2})
    assert search.contradictions[0] == "not sufficient alone"
    assert search.fixed == 0b10010
    assert search.top.mask & 0b10010 == 0b10010
