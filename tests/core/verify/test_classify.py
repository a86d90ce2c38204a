"""Forty recorded streams with the exact findings that each must give, however their bytes are chunked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stackctl.core.verify import nonces
from stackctl.core.verify.classify import Judgement, classify
from stackctl.core.verify.known import Control, ExpectedCall, Known, Others
from stackctl.core.verify.wire import Stream

CASES = sorted(p for p in (Path(__file__).parents[2] / "cases" / "toolcalls").iterdir() if p.is_dir())
SOMEBODY = frozenset({"another"})


def known_of(request: dict[str, Any]) -> Known:
    return Known(
        id=request["case"],
        expected=tuple(ExpectedCall(c["name"], c["arguments"]) for c in request["expected"]),
        tools=tuple(request["tools"]),
        max_tokens=request["max_tokens"],
        include_usage=request["include_usage"],
        nonce=request["nonce"],
        nonce_at=request["nonce_at"],
        scripts=frozenset(request["scripts"]),
        ttft=request["limits"]["ttft_s"],
        gap=request["limits"]["gap_s"],
        others_progress=request["others_progress"],
        control=Control(
            request["control"]["runs"],
            frozenset(request["control"]["classes"]),
            request["control"]["prompt_tokens"],
            request["control"]["completion_tokens"],
        ),
    )


def others_of(request: dict[str, Any]) -> Others:
    return Others(
        live=frozenset(map(nonces.key, request["live_nonces"])),
        past=frozenset(map(nonces.key, request["past_nonces"])),
        response_ids=dict.fromkeys(request["other_response_ids"], SOMEBODY),
        call_ids=dict.fromkeys(request["other_tool_call_ids"], SOMEBODY),
    )


def stream_of(folder: Path) -> Stream:
    lines = [json.loads(line) for line in (folder / "wire.jsonl").read_text("utf-8").splitlines()]
    head = next((line["head"] for line in lines if "head" in line), {"status": None, "headers": {}, "reused": False})
    chunks = [
        (line["t"], bytes.fromhex(line["hex"]) if "hex" in line else line["text"].encode())
        for line in lines
        if "text" in line or "hex" in line
    ]
    last = lines[-1]
    return Stream(
        "x", head["status"], head["headers"], None, tuple(chunks), last["end"], last["t"], reused=head["reused"]
    )


def judged(folder: Path, stream: Stream) -> Judgement:
    request = json.loads((folder / "request.json").read_text("utf-8"))
    return classify(stream, known_of(request), others_of(request))


def as_set(judgement: Judgement) -> set[tuple[str, str | None, str | None]]:
    return {(f.cls, f.where, f.sub) for f in judgement.findings}


@pytest.mark.parametrize("folder", CASES, ids=lambda p: p.name)
def test_exactly_the_expected_findings(folder: Path) -> None:
    expect = json.loads((folder / "expect.json").read_text("utf-8"))
    judgement = judged(folder, stream_of(folder))
    wanted = {(f["class"], f.get("where"), f.get("sub")) for f in expect["findings"]}
    assert as_set(judgement) == wanted
    assert judgement.primary == expect["primary"]
    assert judgement.verdict == expect["verdict"]


@settings(max_examples=200)
@given(st.sampled_from(CASES), st.data())
def test_chunk_borders_mean_nothing(folder: Path, data: st.DataObject) -> None:
    stream = stream_of(folder)
    whole = b"".join(chunk for _, chunk in stream.chunks)
    cuts = sorted(data.draw(st.sets(st.integers(0, len(whole)), max_size=12)))
    pieces = [whole[a:b] for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
    last = stream.chunks[-1][0] if stream.chunks else 0.0
    again = Stream(
        "x", stream.status, stream.headers, None, tuple((last, p) for p in pieces), stream.end, stream.end_at,
        reused=stream.reused,
    )  # fmt: skip
    assert as_set(judged(folder, again)) == as_set(judged(folder, stream))


def test_there_are_forty() -> None:
    assert len(CASES) == 40
