"""Every spelling of every family is found, whole and damaged; prose about tools is not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackctl.core.verify.markers import BARS, FAMILIES, find_marker, find_think

SPELLINGS = [(family, marker) for family, markers in FAMILIES.items() for marker in markers]
PROSE = "The clerk wrote one line. "


@pytest.mark.parametrize(("family", "marker"), SPELLINGS)
def test_every_canonical_spelling(family: str, marker: str) -> None:
    hit = find_marker(PROSE + marker + " more")
    assert hit is not None
    assert hit.start == len(PROSE)


@pytest.mark.parametrize("marker", [m for _, m in SPELLINGS if "|" in m])
@pytest.mark.parametrize("bar", BARS)
def test_any_bar_and_doubled_ones(marker: str, bar: str) -> None:
    assert find_marker(PROSE + marker.replace("|", bar))
    assert find_marker(PROSE + marker.replace("|", bar * 2))


@pytest.mark.parametrize(
    "text",
    [
        "<｜DSML｜tool_calls>", "</｜DSML｜tool_calls>", "<｜DSML｜function_calls>", '<｜DSML｜invoke name="f">',
        '<｜DSML｜parameter name="p" string="true">', "<｜DSML｜ calls>", "<｜DSML｜ invoke ", "<|DSML|tool_calls>",
        "<‖DSML‖tool_calls>", "<││DSML││tool_calls>", "<DSMLtool_calls>", "</DSMLinvoke>", "｜DSML｜tool_calls>",
        "|DSML|tool_calls>", "DSMLtool_calls>", "<｜tool_calls>", "</｜invoke>", "<tool_calls>", "</function_calls>",
        '<invoke name="f">', '<parameter name="p">', "</parameter>", "<｜DSML", "<｜tool▁calls▁begin｜>",
        "<tool▁calls▁begin>", "｜tool▁sep｜>", "<｜User｜>", "<｜end▁of▁sentence｜>",
        "<｜GCML｜tool_calls>", "<function=record_nonce>", "<parameter=nonce>", "<|im_start|>", "[TOOL_CALLS]",
        "]<]minimax[>[<tool_call>", "<|tool_call_argument_begin|>", "<tool_call_begin>",
    ],
)  # fmt: skip
def test_real_and_damaged_markup(text: str) -> None:
    assert find_marker(text), text
    assert find_marker(PROSE + text + PROSE), text


@pytest.mark.parametrize(
    "text",
    [
        "a < b | c > d", "x||y", "<b>", "<｜", "｜", "DSML", "the words tool_call, function_calls, arg_key and DSML",
        "a tool_call | another", "if x < tool_calls and y > 2", "| a | b |", "| DSML | a table |", "山城｜夜景",
        "end | start", "[tool calls]", "<em>tool</em>", "p < 0.05 || q", "parameter name = 4", "a function = f",
    ],
)  # fmt: skip
def test_prose_is_no_markup(text: str) -> None:
    assert find_marker(text) is None


@given(st.text(alphabet=st.characters(codec="ascii", exclude_characters="<>|[]"), max_size=200))
def test_text_without_brackets_and_bars_is_no_markup(text: str) -> None:
    assert "DSML" in text or find_marker(text) is None


@given(st.sampled_from([m for _, m in SPELLINGS]), st.text(max_size=30), st.text(max_size=30))
def test_text_around_does_not_hide_it(marker: str, before: str, after: str) -> None:
    assert find_marker(f"{before} {marker} {after}")


def test_think_tags_are_their_own() -> None:
    assert find_marker("done</think> yes") is None
    assert find_think("done</think> yes") is not None
    assert find_think("I think < you") is None
