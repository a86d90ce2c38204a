"""The model and its words: which calls a prompt asks for, their markup, and text in pieces."""

from __future__ import annotations

import json
from argparse import Namespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from standin import chat as chats
from standin.decode import Step
from standin.grammar import NO_CALL, answer_to, calls_of, render
from standin.prefill import Handover
from standin.tokens import LAYERS, MARK, Detokenizer, encode, layer_of, step_size

from tests.standin import client

PLAIN = st.text(st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="｜<"), min_size=1, max_size=20)
VALUES = PLAIN | st.integers(-(10**9), 10**9) | st.booleans() | st.none() | st.lists(PLAIN, max_size=3)
NAMES = st.from_regex(r"[a-z_]{1,12}", fullmatch=True).filter(lambda name: name not in ("and", "with"))


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        (
            'Call record_nonce exactly once with nonce "N-ab", count 42 and city "Paris". Do not write any text.',
            [("record_nonce", {"nonce": "N-ab", "count": 42, "city": "Paris"})],
        ),
        ('Call f with tags ["a", "b"] and on true.', [("f", {"tags": ["a", "b"], "on": True})]),
        ('Call f with deep {"x": [1]}, more 2', [("f", {"deep": {"x": [1]}, "more": 2})]),
        ("Call f with low -1.5 and none null", [("f", {"low": -1.5, "none": None})]),
        ('Call f with a 1. Then Call g with b "and".', [("f", {"a": 1}), ("g", {"b": "and"})]),
        ("Call f once.", [("f", {})]),
        ('Call f with a "open', [("f", {})]),
        ("Recall f with a 1", []),
        ("Say yes.", []),
    ],
)  # fmt: skip
def test_calls_of_a_text(text: str, calls: list[object]) -> None:
    assert calls_of(text) == calls


@given(st.dictionaries(NAMES, VALUES, min_size=1, max_size=4))
def test_calls_of_what_the_load_test_asks_for(values: dict[str, object]) -> None:
    assert calls_of(client.order(values)) == [("record_nonce", values)]


def chat_of(**more: object) -> chats.Chat:
    return chats.read(client.body(client.wanted("model", 3), **more), "m")


def test_only_the_last_turn_counts_and_only_offered_tools_are_called() -> None:
    prompt = chat_of().prompt
    assert answer_to(prompt) == render([("record_nonce", client.wanted("model", 3))])
    assert answer_to(prompt.replace("Call record_nonce", "Call another_tool")) == NO_CALL
    later = "<｜end▁of▁sentence｜><｜User｜>Thanks.<｜Assistant｜></think>"
    assert answer_to(prompt + later) == NO_CALL
    assert answer_to("no turn at all") == NO_CALL


def test_a_prompt_that_opens_reasoning_gets_some() -> None:
    answer = answer_to(chat_of(chat_template_kwargs={"thinking": True}).prompt)
    assert answer.startswith("The turn says which call to make.</think><｜DSML｜tool_calls>")


@given(st.dictionaries(NAMES, VALUES, min_size=1, max_size=4), st.text("0123456789abcdef", min_size=4, max_size=4))
def test_markup_in_pieces_through_the_parser_is_the_call(values: dict[str, object], seed: str) -> None:
    data = encode(render([("record_nonce", values)]))
    handover = Handover(10, len(data) // LAYERS, seed)
    args = Namespace(served_model_name="m", tool_call_parser="deepseekv4", reasoning_parser="deepseek-v4")
    answer = chats.Answer(chat_of(), "id", handover, args)
    detokenizer, at, number = Detokenizer(), 0, 0
    answer.begin()
    while at < len(data):
        size = LAYERS * step_size(seed, number)
        piece = data[at : at + size]
        at, number = at + size, number + 1
        answer.step(Step(detokenizer.feed(piece, at >= len(data)), len(piece) // LAYERS))
    answer.end()
    whole = answer.whole("w1")
    assert whole["metadata"] == {"weight_version": "w1"}
    (choice,) = whole["choices"]  # type: ignore[misc]
    (call,) = choice["message"]["tool_calls"]
    assert (call["function"]["name"], json.loads(call["function"]["arguments"])) == ("record_nonce", values)
    assert choice["finish_reason"] == "tool_calls"
    assert whole["usage"]["completion_tokens"] == handover.answer_tokens  # type: ignore[index]


@given(st.text(), st.lists(st.integers(1, 9), min_size=1, max_size=40))
def test_text_survives_any_cut_and_the_special_token_stays_whole(text: str, sizes: list[int]) -> None:
    text = (text + f"<{MARK}a>").replace("\0", "")
    data, detokenizer, pieces, at = encode(text), Detokenizer(), [], 0
    for size in [*sizes, len(data)]:
        step = data[at : at + size * LAYERS]
        at += len(step)
        pieces.append(detokenizer.feed(step, final=at == len(data)) if step else "")
    assert "".join(pieces) == text
    assert sum(piece.count(MARK) for piece in pieces) == text.count(MARK)


@given(st.binary(min_size=4, max_size=64))
def test_the_layers_together_are_the_bytes(data: bytes) -> None:
    data = data[: len(data) // LAYERS * LAYERS]
    again = bytearray(len(data))
    for layer in range(LAYERS):
        again[layer::LAYERS] = layer_of(data, layer)
    assert bytes(again) == data


@pytest.mark.parametrize("body", [[], {}, {"messages": "x"}, {"messages": [{"role": "user"}], "max_tokens": 0}])
def test_a_body_that_is_no_chat_is_refused(body: object) -> None:
    with pytest.raises(chats.BadRequest):
        chats.read(body, "m")
