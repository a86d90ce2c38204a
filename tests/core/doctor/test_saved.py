"""What is saved of a moment, and which moment a word means."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackctl.core.doctor.drift import changes, lasting
from stackctl.core.doctor.saved import Moment, Saved, is_release, line, parse, since
from stackctl.core.doctor.values import Limit
from stackctl.errors import StackctlError
from tests.core.doctor.hosts import host

OLD, NEW = "0123456789ab", "0129999999ab"


def moment(time: float = 1.0, release: str = OLD, **more: str) -> Moment:
    return Moment(time, more.pop("event", "deploy"), release, "ops@here", **more)  # type: ignore[arg-type]


def written(one: Moment, *, facts: bool = True, **changed: object) -> str:
    row, known = line(one, host(**changed))
    return json.dumps({**row, **({"facts": known} if facts else {})})


def test_facts_come_back_as_they_were_compared() -> None:
    (found,) = parse(written(moment(variant="without flag:x"), limits={"memlock": Limit(None, 5)}))
    assert found.moment == moment(variant="without flag:x")
    assert found.facts == lasting(host(limits={"memlock": Limit(None, 5)}))
    assert changes(found.facts, host(limits={"memlock": Limit(None, 5)})) == ()


def test_a_line_may_name_the_facts_of_an_earlier_one() -> None:
    rows = [written(moment(1.0)), written(moment(2.0, event="test", test="c60"), facts=False)]
    first, second = parse("\n".join(rows))
    assert first.facts == second.facts and str(second.moment) == f"clean test c60 of {OLD}"
    assert parse(rows[1]) == ()  # whose facts nobody knows


def test_the_digest_is_of_what_lasts_only() -> None:
    quiet, busy = line(moment(1.0), host())[0], line(moment(9.0), host(memory_free=1, when=5.0))[0]
    assert quiet["digest"] == busy["digest"] != line(moment(), host(kernel="6.9"))[0]["digest"]


@pytest.mark.parametrize(
    "bad", ["", "{", "[]", "null", "3", '{"time": 1}', '{"time": "x", "digest": "a", "facts": {}}']
)
def test_a_line_that_is_not_whole_costs_itself_only(bad: str) -> None:
    good = written(moment())
    assert [one.moment for one in parse(f"{bad}\n{good}\n{bad}\n{good[:200]}")] == [moment()]


def test_facts_of_another_format_are_passed_over() -> None:
    row = json.loads(written(moment()))
    assert parse(json.dumps({**row, "facts": {**row["facts"], "format": 99}})) == ()
    assert parse(json.dumps({**row, "facts": {**row["facts"], "cpus": "many"}})) == ()
    assert len(parse(json.dumps({**row, "facts": {**row["facts"], "of-a-later-version": 1}}))) == 1


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    assert parse(text) == ()


def saves() -> tuple[Saved, ...]:
    moments = (
        moment(1.0),
        moment(2.0, event="test", test="c60"),
        moment(3.0, NEW),
        moment(4.0, "abcabcabcabc", event="rollback"),
    )
    return tuple(Saved(one, host()) for one in moments)


def test_a_release_means_its_last_moment() -> None:
    assert since(saves(), "01234", "gpu1").moment.time == 2.0
    assert since(saves(), "last-clean", "gpu1").moment.time == 2.0
    assert since(saves(), "abca", "gpu1").moment.event == "rollback"


@pytest.mark.parametrize(
    ("word", "message", "hint"),
    [
        ("012", "gpu1: 012 begins several releases: 0123456789ab, 0129999999ab", "Write more"),
        (
            "ffff",
            "gpu1: nothing was saved there with release ffff",
            "abcabcabcabc, 0129999999ab, 0123456789ab, last-clean",
        ),
    ],
)
def test_each_word_that_means_nothing_says_what_there_is(word: str, message: str, hint: str) -> None:
    with pytest.raises(StackctlError, match=message) as refused:
        since(saves(), word, "gpu1")
    assert hint in (refused.value.hint or "")


@pytest.mark.parametrize("word", ["last-clean", "0123"])
def test_nothing_saved_yet_says_when_it_will_be(word: str) -> None:
    with pytest.raises(StackctlError, match="gpu1: no") as refused:
        since((), word, "gpu1")
    assert "each deploy and each clean test" in (refused.value.hint or "")


def test_what_is_a_release() -> None:
    assert is_release("0123456789ab") and is_release("0") and not is_release("0123456789abc") and not is_release("x")
