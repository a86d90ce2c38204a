"""A whole burst: faults that show only when streams are compared, controls, accounts, evidence."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from stackctl.core.names import Secret
from stackctl.core.stack.resolved import TestSpec
from stackctl.core.verify import control, evidence, judge
from stackctl.core.verify.cases import Recipe
from stackctl.core.verify.control import Controls, count
from stackctl.core.verify.judge import Seen
from stackctl.core.verify.ledger import Ledger
from stackctl.core.verify.load import Sent, Source
from stackctl.core.verify.wire import BurstResult, End, HttpAnswer, Probe, Stream

SPEC = TestSpec("t", "toolcalls", concurrency=4)
SOURCE = Source(SPEC, Recipe("seed", "m"), "http://h", Secret("sk-very-secret"))


def wire(sent: Sent, identity: str | None = None, **changed: object) -> bytes:
    call = sent.case.known.expected[0]
    arguments = json.dumps({**call.arguments, **changed})
    name = identity or f"chatcmpl-{sent.stream.id.ljust(24, 'x').replace('-', 'y')}"
    piece: dict[str, Any] = {"index": 0, "id": None, "function": {"name": call.name, "arguments": arguments}}
    events: list[dict[str, Any]] = [
        {"id": name, "choices": [{"index": 0, "delta": {"tool_calls": [piece]}, "finish_reason": None}]},
        {"id": name, "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]},
        {"id": name, "choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 30, "total_tokens": 39}},
    ]
    return b"".join(b"data: " + json.dumps(e).encode() + b"\n\n" for e in events) + b"data: [DONE]\n\n"


def stream(sent: Sent, data: bytes, end: End = "eof", at: float = 0.2, status: int | None = 200) -> Stream:
    return Stream(sent.stream.id, status, {"set-cookie": "a=b", "x-request-id": "7"}, 0.1, ((at, data),), end, 1.0)


def controls() -> Controls:
    return Controls(gap=30.0, ttft=60.0, trusted=20)


def good(sent: list[Sent]) -> list[Stream]:
    return [stream(s, wire(s)) for s in sent]


def verdicts(judged: judge.Judged) -> list[str | None]:
    return [j.primary for j in judged.judgements]


def test_a_good_burst() -> None:
    sent = SOURCE.burst(0, 0, 1.0)
    judged = judge.judge(sent, BurstResult(tuple(good(sent))), Seen(), controls())
    assert verdicts(judged) == [None] * 4
    ledger = Ledger()
    ledger.add(judged, 0)
    assert (ledger.tally.requests, ledger.tally.failed, ledger.tally.bad_bursts) == (4, 0, 0)
    assert ledger.timings(2.0).tokens_per_second == pytest.approx(120.0)
    assert ledger.line(4).startswith("burst 1/4  4/4 ok  leak 0  contamination 0  stall 0")


def test_anothers_nonce_and_anothers_id() -> None:
    sent = SOURCE.burst(0, 0, 1.0)
    streams = good(sent)
    streams[1] = stream(sent[1], wire(sent[1], nonce=sent[3].case.known.nonce))
    streams[2] = stream(sent[2], wire(sent[2], identity=json.loads(wire(sent[0])[6:].split(b"\n")[0])["id"]))
    seen = Seen()
    judged = judge.judge(sent, BurstResult(tuple(streams)), seen, controls())
    assert verdicts(judged) == ["contamination", "contamination", "contamination", None]
    assert judge.confirmed(judged, seen) == 3


def test_the_nonce_of_an_earlier_burst_and_of_an_earlier_run() -> None:
    seen = Seen(past=frozenset({"abcdefghjkm"}))
    first = SOURCE.burst(0, 0, 1.0)
    judge.judge(first, BurstResult(tuple(good(first))), seen, controls())
    later = SOURCE.burst(1, 8, 1.0)
    streams = good(later)
    streams[0] = stream(later[0], wire(later[0], nonce=first[2].case.known.nonce))
    streams[1] = stream(later[1], wire(later[1], city="N-abcdefghjkm"))
    judged = judge.judge(later, BurstResult(tuple(streams)), seen, controls())
    subs = [f.sub for j in judged.judgements for f in j.findings if f.cls == "contamination"]
    assert subs == ["live", "past"]


def test_silence_of_one_is_a_stall_silence_of_all_is_not() -> None:
    sent = SOURCE.burst(0, 0, 1.0)
    begin = wire(sent[0])[: wire(sent[0]).index(b"\n\n") + 2]
    silent = stream(sent[0], begin, "open", at=0.1)
    one = judge.judge(sent, BurstResult((silent, *good(sent)[1:])), Seen(), controls())
    assert [(f.cls, f.sub, f.verdict) for f in one.judgements[0].findings] == [("stall", "open", "bad")]
    all_silent = tuple(replace(silent, id=s.stream.id) for s in sent)
    everyone = judge.judge(sent, BurstResult(all_silent), Seen(), controls())
    assert {f.verdict for j in everyone.judgements for f in j.findings if f.cls == "stall"} == {"inconclusive"}


def test_a_lagging_client_is_believed_about_bytes_only() -> None:
    sent = SOURCE.burst(0, 0, 1.0)
    begin = wire(sent[0])[: wire(sent[0]).index(b"\n\n") + 2]
    streams = [stream(sent[0], begin, "open", at=0.1), stream(sent[1], wire(sent[1], count=7)), *good(sent)[2:]]
    judged = judge.judge(sent, BurstResult(tuple(streams), loop_lag_p99=0.5), Seen(), controls())
    assert judged.lagged
    assert [j.verdict for j in judged.judgements] == ["inconclusive", "bad", "clean", "clean"]
    ledger = Ledger()
    ledger.add(judged, 0)
    assert (ledger.tally.requests, ledger.tally.failed, ledger.tally.lagged) == (1, 1, 1)
    assert (ledger.signature, dict(ledger.tally.unclear)) == ("wrong_args", {"stall": 1})


def test_refused_by_a_server_that_was_up() -> None:
    sent = SOURCE.burst(0, 0, 1.0)
    refused = tuple(replace(stream(s, b"", "refused", status=None), chunks=()) for s in sent)
    down = judge.judge(sent, BurstResult(refused), Seen(), controls(), crashed=False)
    crashed = judge.judge(sent, BurstResult(refused), Seen(), controls(), crashed=True)
    assert [j.verdict for j in down.judgements] == ["inconclusive"] * 4
    assert [j.verdict for j in crashed.judgements] == ["bad"] * 4


def test_without_a_control_a_fault_of_the_models_own_proves_nothing() -> None:
    sent = SOURCE.burst(0, 0, 1.0)
    streams = (stream(sent[0], wire(sent[0], count=7)), *good(sent)[1:])
    none = judge.judge(sent, BurstResult(streams), Seen(), Controls(30.0, 60.0))
    assert none.judgements[0].verdict == "inconclusive"
    known = controls()
    known.add(sent, none.judgements, streams)
    again = judge.judge(sent, BurstResult(streams), Seen(), known)
    assert again.judgements[0].verdict == "warn"


def test_when_a_control_has_failed() -> None:
    assert not control.Count(20, 0, 0).failed
    assert not control.Count(20, 0, 2).failed
    assert control.Count(20, 0, 3).failed
    assert control.Count(20, 1, 0).failed
    sent = SOURCE.burst(0, 0, 1.0)
    streams = [stream(sent[0], b"", "eof"), stream(sent[1], wire(sent[1], count=7)), *good(sent)[2:]]
    judged = judge.judge(sent, BurstResult(tuple(streams)), Seen(), Controls(30.0, 60.0))
    counted = count(judged.judgements)
    assert (counted.runs, counted.bad, counted.maybe, str(counted)) == (4, 1, 1, "2/4 clean")


def test_a_wedge_says_what_health_said() -> None:
    sent = SOURCE.burst(0, 0, 1.0)
    open_streams = tuple(stream(s, b"", "open") for s in sent)
    healthy = HttpAnswer(200, {}, b"ok", 0.01)
    result = BurstResult(
        open_streams, wedged_at=30.0, canary=HttpAnswer(None, {}, b"", 15.0, "no answer within 15 s"),
        canary_after=healthy, health=(Probe("http://r/health", healthy), Probe("http://w/metrics", healthy)),
    )  # fmt: skip
    ledger = Ledger()
    ledger.add(judge.judge(sent, result, Seen(), controls()), 0)
    first = ledger.findings[0]
    assert (first.cls, first.sub, first.request, ledger.signature) == ("wedge", "health_ok", None, "wedge")
    for words in ("http://r/health said 200", "no answer within 15 s", "recovers after abort: yes"):
        assert words in first.detail
    lines = evidence.probes(result.health, {"canary": result.canary}).splitlines()
    assert [json.loads(line)["status"] for line in lines] == [200, 200, None]


def test_what_is_kept() -> None:
    sent = SOURCE.burst(0, 0, 1.0)
    streams = [stream(sent[0], wire(sent[0], count=7)), *good(sent)[1:]]
    judged = judge.judge(sent, BurstResult(tuple(streams)), Seen(), controls())
    files = evidence.raw(judged, "seed")
    assert files[f"{sent[0].stream.id}.sse"] == wire(sent[0], count=7)
    about = json.loads(files[f"{sent[0].stream.id}.json"])
    assert about["findings"][0]["cls"] == "wrong_args" and about["headers"] == {"x-request-id": "7"}
    lines = [json.loads(line) for line in evidence.corpus(sent).splitlines()]
    assert [line["body"].encode() for line in lines] == [s.stream.request.body for s in sent]
    assert "secret" not in evidence.corpus(sent) and "secret" not in repr(sent)


def test_about_two_percent_of_the_good_ones_are_kept() -> None:
    source = Source(replace(SPEC, concurrency=2000), Recipe("s", "m"), "http://h")
    sent = source.burst(0, 0, 1.0)
    judged = judge.judge(sent, BurstResult(tuple(good(sent))), Seen(), controls())
    kept = [name for name in evidence.raw(judged, "s") if name.endswith(".sse")]
    assert 20 <= len(kept) <= 64


def test_names_of_folders() -> None:
    assert evidence.folder_name(0.0, "c60/x", None) == "19700101T000000Z-c60-x-url"
