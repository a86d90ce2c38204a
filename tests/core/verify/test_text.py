"""Measures on text: cut JSON, loops, foreign scripts, distances, quotes."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackctl.core.verify import text as texts

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-999, 999) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(st.text(max_size=5), VALUES, max_size=4), st.booleans(), st.data())
def test_every_prefix_of_an_object_is_cut_not_garbled(
    value: dict[str, object], ascii_: bool, data: st.DataObject
) -> None:
    text = json.dumps(value, ensure_ascii=ascii_)
    cut = text[: data.draw(st.integers(0, len(text) - 1))]
    assert not texts.is_json_object(cut) or cut == text
    assert texts.is_cut_object(cut), cut


@pytest.mark.parametrize(
    "text", ['{"a": "b": 1', "[1, 2", '{"a" 1', "{'a': 1}", '{"a": 1}}', "null", '{"a": nul!', '{"a": NaN}']
)
def test_garbled(text: str) -> None:
    assert not texts.is_json_object(text)
    assert not texts.is_cut_object(text)


@pytest.mark.parametrize(
    ("text", "loops"),
    [
        ("the count is recorded and " * 9, True),
        ("yes no maybe so " * 8, True),
        ("a b c d " * 8, True),
        ("ha" * 200, True),
        ("the count is recorded and " * 4, False),
        ("One sentence, then another one that says something else entirely.", False),
        ("", False),
    ],
)
def test_loops(text: str, loops: bool) -> None:
    assert texts.is_loop(text) is loops


def test_foreign_scripts() -> None:
    latin = frozenset({"LATIN"})
    assert texts.is_gibberish("Recorded жтгм ขคง", latin)
    assert texts.is_gibberish("\ufffd\ufffd\ufffd fine", latin)
    assert not texts.is_gibberish("naïve café – 😀 «ok» º ª", latin)
    assert not texts.is_gibberish("山城夜景", texts.scripts("山"))
    assert not texts.is_gibberish("жт" + "a" * 10, latin)


def test_distance() -> None:
    assert texts.distance("abc", "abd", 2) == 1
    assert texts.distance("abc", "acb", 2) == 2
    assert texts.distance("abc", "xyzabc", 2) > 2


def test_a_quote_points_at_its_place() -> None:
    text = "x" * 40 + "<marker>" + "\n" + "y" * 40
    quote, (start, end) = texts.quote(text, 40, 48)
    assert quote[start:end] == "<marker>" and "\n" not in quote and quote.startswith("…")
