"""Prompts: fresh nonces, one shape, the same seed gives the same bytes; and the file of known answers."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackctl.core.stack.resolved import TestSpec
from stackctl.core.verify import cases, expected, nonces
from stackctl.core.verify.cases import ARMS, Recipe
from stackctl.core.verify.load import Source, control_size
from stackctl.errors import InvalidFile

RECIPE = Recipe("seed", "m", 256, (50, 500))


def sent(case: cases.Case) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(case.body)
    return value


@given(st.text(max_size=8), st.integers(0, 10**6))
def test_a_nonce_checks_itself(seed: str, counter: int) -> None:
    nonce = nonces.nonce(seed, counter)
    assert re.fullmatch(f"N-[{nonces.ALPHABET}]{{11}}", nonce)
    assert nonces.is_nonce(nonce)
    for place in range(2, len(nonce)):
        broken = nonce[:place] + ("a" if nonce[place] != "a" else "b") + nonce[place + 1 :]
        assert not nonces.is_nonce(broken)


def test_nonces_do_not_repeat() -> None:
    assert len({nonces.nonce(seed, n) for seed in "ab" for n in range(5000)}) == 10_000


def test_a_foreign_nonce_is_found_in_any_dress() -> None:
    one, other = nonces.nonce("s", 1), nonces.nonce("s", 2)
    keys = frozenset({nonces.key(one), nonces.key(other)})
    dressed = f"reference {other[2:6].upper()}_{other[6:9]} {other[9:]}."
    assert nonces.foreign(dressed, keys, nonces.key(one)) == nonces.key(other)
    assert nonces.foreign(f"{one} {one}", keys, nonces.key(one)) is None
    start, end = nonces.place(dressed, nonces.key(other))
    assert nonces.normal(dressed[start:end]) == nonces.key(other)


@pytest.mark.parametrize("arm", ARMS)
@pytest.mark.parametrize("counter", range(8))
def test_the_prompt_asks_for_what_is_expected(arm: str, counter: int) -> None:
    case = cases.case(RECIPE, arm, counter, "r1")
    body, call = sent(case), case.known.expected[0]
    last = body["messages"][-1]["content"]
    order = re.search(r"Call record_nonce exactly once with (.*)\. Do not write any text\.$", last)
    assert order is not None
    pairs = re.findall(r'(\w+) (\[.*?\]|".*?"|\d+)', order[1])
    assert {key: json.loads(value) for key, value in pairs} == call.arguments
    assert re.fullmatch(r"(\w+ \S+, )*\w+ \S+ and \w+ \S+", order[1])
    assert case.known.nonce == call.arguments["nonce"]
    assert body["tool_choice"] == "auto" and body["stream"] and body["temperature"] == 0
    assert 3 <= len(body["tools"]) <= 5
    assert "<" not in "".join(m["content"] for m in body["messages"])


def test_where_the_nonce_stands() -> None:
    private = sent(cases.case(RECIPE, "private-prefix", 5, "r"))
    nonce = nonces.nonce("seed", 5)
    system = private["messages"][0]["content"]
    assert system.index(nonce) < 20 and system.count(nonce) == 2 and nonce in private["messages"][1]["content"]
    shared = [sent(cases.case(RECIPE, "shared-prefix", n, "r"))["messages"] for n in (1, 2)]
    assert shared[0][0] == shared[1][0] and len(shared[0][0]["content"]) > 2000
    assert nonces.nonce("seed", 1) in shared[0][1]["content"]
    sizes = {len(cases.case(RECIPE, "mixed-lengths", n, "r").body) for n in range(16)}
    assert max(sizes) > 2 * min(sizes)


def test_the_same_seed_gives_the_same_bytes() -> None:
    other = replace(RECIPE, seed="another")
    assert cases.case(RECIPE, "private-prefix", 9, "a") == cases.case(RECIPE, "private-prefix", 9, "a")
    assert cases.case(RECIPE, "private-prefix", 9, "a").body != cases.case(other, "private-prefix", 9, "a").body


def test_an_abort_burst_refills_at_once() -> None:
    spec = TestSpec("t", "toolcalls", concurrency=60, arms=("abort",), stagger=0.5)
    streams = {s.stream.id: s.stream for s in Source(spec, RECIPE, "http://h").burst(0, 100, 1.0)}
    victims = [s for s in streams.values() if s.cancel_after is not None]
    assert len(victims) == 24 and len(streams) == 84
    for victim in victims:
        assert victim.cancel_after is not None and 0.01 <= victim.cancel_after <= 0.7
        assert streams[f"{victim.id}r"].start_at == pytest.approx(victim.start_at + victim.cancel_after)
    bodies = [s.request.body for s in streams.values()]
    assert len(set(bodies)) == len(bodies)


def test_a_bisect_has_a_short_control() -> None:
    spec = TestSpec("t", "toolcalls", control_requests=20)
    assert (control_size(spec, True, 0), control_size(spec, False, 0), control_size(spec, False, 48)) == (5, 20, 48)


GOOD: dict[str, Any] = {
    "id": "one", "messages": [{"role": "user", "content": "hello"}], "max_tokens": 64,
    "expect": {"text": "Case one is 😀.", "finish": "stop", "completion_tokens": 7},
}  # fmt: skip


def test_a_known_answer_becomes_a_case() -> None:
    entries = expected.parse(json.dumps([GOOD]).encode(), "f.json")
    case = expected.case(entries[0], "m", "r")
    assert case.known.answer is not None and case.known.answer.content == "Case one is 😀."
    assert case.known.expected == () and "tools" not in sent(case)
    assert expected.answers(entries) == {"Case one is 😀.": "one"}
    twice = [*entries, {**GOOD, "id": "two"}]
    assert expected.answers(twice) == {}  # an answer of two cases accuses nobody


def test_all_mistakes_of_the_file_at_once() -> None:
    bad = [
        GOOD,
        GOOD,
        {**GOOD, "id": "b", "expect": {"finish": 4}},
        {"id": "c", "extra": 1},
        7,
    ]
    with pytest.raises(InvalidFile) as caught:
        expected.parse(json.dumps(bad).encode(), "f.json")
    text = str(caught.value)
    for words in ("the id 'one'", "either text or calls", "expect.finish", "unknown keys: extra", "max_tokens", "[4]"):
        assert words in text, text
    for data in (b"{", b"{}", b"[]"):
        with pytest.raises(InvalidFile):
            expected.parse(data, "f.json")
