"""Judges a whole burst against all that the run has seen: foreign nonces and ids, others' progress, the control.

Given recorded bursts, answers with judgements. Remembers nonces and ids, because contamination shows only when
streams are compared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from stackctl.core.verify import classes, verdict
from stackctl.core.verify.classify import Judgement, classify
from stackctl.core.verify.control import Controls
from stackctl.core.verify.known import Known, Others
from stackctl.core.verify.load import Sent
from stackctl.core.verify.reply import Reply, read_reply
from stackctl.core.verify.wire import BurstResult, Stream


@dataclass(frozen=True)
class Judged:
    """A burst with its judgements, in the order of its streams. `lagged`: the client was too slow to measure it."""

    result: BurstResult
    judgements: tuple[Judgement, ...]
    known: tuple[Known, ...]
    lagged: bool = False


@dataclass
class Seen:
    """Nonces and ids of the whole run. `past`: nonce keys of earlier runs; `answers`: known answers and their cases."""

    past: frozenset[str] = frozenset()
    answers: Mapping[str, str] = field(default_factory=dict)
    live: set[str] = field(default_factory=set)
    response_ids: dict[str, frozenset[str]] = field(default_factory=dict)
    call_ids: dict[str, frozenset[str]] = field(default_factory=dict)

    def add(self, sent: Sent, reply: Reply) -> None:
        if sent.case.known.key:
            self.live.add(sent.case.known.key)
        mine = frozenset({sent.stream.id})
        for identity in reply.response_ids:
            self.response_ids[identity] = self.response_ids.get(identity, mine) | mine
        for call in reply.calls:
            self.call_ids[call.id] = self.call_ids.get(call.id, mine) | mine

    def others(self) -> Others:
        return Others(frozenset(self.live), self.past, self.response_ids, self.call_ids, self.answers)


def judge(sent: Sequence[Sent], result: BurstResult, seen: Seen, controls: Controls, crashed: bool = False) -> Judged:
    """Every stream of a burst. A lagging client is not believed about times."""
    by_id = {s.stream.id: s for s in sent}
    replies = {stream.id: read_reply(stream) for stream in result.streams}
    for stream in result.streams:
        seen.add(by_id[stream.id], replies[stream.id])
    others = seen.others()
    lagged = result.file_limit or verdict.is_lagged(result.loop_lag_p99, result.client_cpu, seconds(result))
    known = tuple(
        replace(
            by_id[stream.id].case.known,
            gap=controls.gap,
            ttft=controls.ttft,
            crashed=crashed,
            control=controls.of(by_id[stream.id]),
            others_progress=_others_moved(stream, result, replies),
        )
        for stream in result.streams
    )
    judgements = [classify(s, k, others, replies[s.id]) for s, k in zip(result.streams, known, strict=True)]
    return Judged(result, tuple(map(_unbelieved, judgements) if lagged else judgements), known, lagged)


def seconds(result: BurstResult) -> float:
    """From the burst's begin to its last end."""
    return max((s.started_at + s.end_at for s in result.streams), default=0.0)


def confirmed(judged: Judged, seen: Seen) -> int:
    """How many contaminations come out again when the stored bytes are judged once more, in one piece."""
    again = 0
    for stream, known, first in zip(judged.result.streams, judged.known, judged.judgements, strict=True):
        if first.primary == "contamination":
            whole = b"".join(chunk for _, chunk in stream.chunks)
            second = classify(replace(stream, chunks=((stream.end_at, whole),)), known, seen.others())
            again += second.primary == "contamination"
    return again


def _others_moved(stream: Stream, result: BurstResult, replies: Mapping[str, Reply]) -> bool:
    """Whether the engine went on while this stream was silent; silence of all is for the wedge rule."""
    answered = result.canary is not None and result.canary.status == 200
    if stream.end != "open" or (answered and result.wedged_at is None):
        return True
    own = replies[stream.id].progress
    silent_since = stream.started_at + (own[-1] if own else 0.0)
    return result.wedged_at is None and any(
        other.started_at + replies[other.id].progress[-1] > silent_since
        for other in result.streams
        if other.id != stream.id and replies[other.id].progress
    )


def _unbelieved(judgement: Judgement) -> Judgement:
    findings = tuple(
        replace(f, verdict="inconclusive") if f.cls in classes.TIMED and f.verdict == "bad" else f
        for f in judgement.findings
    )
    return replace(judgement, findings=findings)
