"""What is kept of a run, as bytes: raw streams with their times, request bodies, health answers, the report.

Kept are every stream that is not clean and 2 % of the others. Headers of requests, and with them tokens, are never
part of it; of response headers cookies are not.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from stackctl.core.verify.judge import Judged
from stackctl.core.verify.load import Sent
from stackctl.core.verify.nonces import number
from stackctl.core.verify.report import TestReport
from stackctl.core.verify.wire import HttpAnswer, Probe, Stream

FORMAT = 1
OTHERS = 0.02  # share of the good streams that is kept too
_NEVER = {"set-cookie", "authorization"}


def folder_name(now: float, test: str, release: str | None) -> str:
    """`20260131T120000Z-c60-toolcalls-0123456789ab`; `now` in seconds since the epoch."""
    stamp = datetime.fromtimestamp(now, UTC).strftime("%Y%m%dT%H%M%SZ")
    safe = "".join(c if c.isalnum() or c in "-_." else "-" for c in test)
    return f"{stamp}-{safe}-{release or 'url'}"


def report(value: TestReport, client: Mapping[str, object]) -> bytes:
    """report.json. `client`: facts about this side: seed, limits, lag."""
    fields = {"format": FORMAT, "client": dict(client), **dataclasses.asdict(value), "exit": value.exit}
    return json.dumps(fields, indent=2, ensure_ascii=False).encode() + b"\n"


def corpus(sent: Sequence[Sent]) -> str:
    """One line a request: its body byte for byte, its arm, when it started and when it was cancelled."""
    return "\n".join(
        json.dumps(
            {
                "id": s.stream.id,
                "arm": s.case.arm,
                "start_at": round(s.stream.start_at, 4),
                "cancel_after": s.stream.cancel_after,
                "body": s.case.body.decode(),
            },
            ensure_ascii=False,
        )
        for s in sent
    )


def raw(judged: Judged, seed: str) -> dict[str, bytes]:
    """File name -> bytes, for the streams to keep: `ID.sse` as received, `ID.json` with times, head and findings."""
    files: dict[str, bytes] = {}
    for judgement, stream in zip(judged.judgements, judged.result.streams, strict=True):
        lucky = number(seed, 0, f"keep {stream.id}") % 1000 < OTHERS * 1000
        if judgement.verdict == "clean" and not lucky:
            continue
        body = b"".join(chunk for _, chunk in stream.chunks)
        about = _about(stream, body) | {"findings": [dataclasses.asdict(f) for f in judgement.findings]}
        files[f"{stream.id}.sse"] = body
        files[f"{stream.id}.json"] = json.dumps(about, indent=1, ensure_ascii=False).encode() + b"\n"
    return files


def _about(stream: Stream, body: bytes) -> dict[str, object]:
    return {
        "status": stream.status,
        "headers": {k: v for k, v in stream.headers.items() if k.lower() not in _NEVER},
        "started_at": round(stream.started_at, 4),
        "head_at": stream.head_at,
        "end": stream.end,
        "end_at": stream.end_at,
        "error": stream.error,
        "sha256": hashlib.sha256(body).hexdigest(),
        "chunks": [[round(at, 4), len(chunk)] for at, chunk in stream.chunks],
    }


def probes(health: Sequence[Probe], canaries: Mapping[str, HttpAnswer | None]) -> str:
    """One line an answer, of the moment when nothing moved."""
    lines = [_answer(p.url, p.answer) for p in health]
    return "\n".join(lines + [_answer(name, answer) for name, answer in canaries.items() if answer])


def _answer(name: str, answer: HttpAnswer) -> str:
    fields = {
        "url": name,
        "status": answer.status,
        "seconds": round(answer.seconds, 4),
        "error": answer.error,
        "body": answer.body.decode("utf-8", "replace"),
    }
    return json.dumps(fields, ensure_ascii=False)
