"""Judges one recorded stream: which faults it has, which of them comes first, and what they are worth.

Pure: the same bytes give the same findings however they were chunked, so stored evidence can be judged again. An
interrupted stream is accused only of what it said; an honest length limit excuses what is merely missing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, cast

from stackctl.core.verify import calls, classes, markers, nonces
from stackctl.core.verify import text as texts
from stackctl.core.verify.calls import Found
from stackctl.core.verify.known import Known, Others
from stackctl.core.verify.reply import Reply, read_reply
from stackctl.core.verify.report import Finding
from stackctl.core.verify.wire import Stream

RequestVerdict = Literal["clean", "warn", "inconclusive", "bad"]
_RANDOM_ID = re.compile(r"[A-Za-z0-9]{16,}$")
_SHORT_LOOP = 0.25  # of max_tokens: a control that needed less makes a full answer a loop


@dataclass(frozen=True)
class Judgement:
    id: str
    findings: tuple[Finding, ...]
    reply: Reply

    @property
    def primary(self) -> str | None:
        return classes.primary(self.findings)

    @property
    def verdict(self) -> RequestVerdict:
        return cast(RequestVerdict, classes.worst(self.findings))


@dataclass(frozen=True)
class _Piece:
    """Text of one channel, to be searched."""

    where: str
    text: str
    expected: bool = False  # equal to an expected leaf: never a leak


def classify(stream: Stream, known: Known, others: Others, reply: Reply | None = None) -> Judgement:
    """All findings of one stream; `reply`, when somebody has read the stream already."""
    reply = reply or read_reply(stream)
    transport = list(_transport(stream, reply, known))
    findings = [*transport]
    if not transport or transport[0].cls not in ("refused", "reset_reused", "http_status"):
        interrupted = stream.end == "cancelled" or any(_interrupts(f) for f in transport)
        findings += _said(reply, known, others)
        if not interrupted:
            findings += _missing(reply, known)
    unique = {(f.cls, f.where, f.sub): f for f in reversed(findings)}
    ordered = sorted(unique.values(), key=lambda f: (classes.rank(f.cls), f.where or "", f.sub or ""))
    return Judgement(known.id, tuple(ordered), reply)


def _finding(found: Found, known: Known, **more: object) -> Finding:
    verdict = _model_verdict(found.cls, known) if found.cls in classes.MAYBE_MODEL else "bad"
    fields = {"verdict": verdict, "detail": found.detail, "quote": found.quote, "mark": found.mark, **more}
    return Finding(found.cls, found.where, found.sub, known.id, **fields)  # type: ignore[arg-type]


def _model_verdict(cls: str, known: Known) -> str:
    control = known.control
    if cls in control.classes:
        return "warn"
    return "bad" if control.runs >= control.needed else "inconclusive"


def _interrupts(finding: Finding) -> bool:
    return finding.cls in ("sse_error", "reset_stream", "ttft_timeout") or finding.sub == "open"


def _transport(stream: Stream, reply: Reply, known: Known) -> Iterator[Finding]:
    """Faults of the connection; at most one of those that interrupt."""
    if stream.end == "refused":
        yield _finding(
            Found("refused", "http", None, stream.error or "no connection"),
            known,
            verdict="bad" if known.crashed else "inconclusive",
        )
    elif stream.end == "reset" and stream.status is None and stream.reused:
        yield _finding(Found("reset_reused", "http", None, stream.error or ""), known, verdict="inconclusive")
    elif stream.status is not None and stream.status != 200:
        yield _http_status(stream, known)
    elif reply.error is not None:
        mark = texts.quote(reply.error, 0, min(len(reply.error), 60), 0)
        yield _finding(
            Found("sse_error", "stream", None, "an error inside the stream"), known, quote=mark[0], mark=mark[1]
        )
    elif stream.end in ("eof", "reset") and reply.finish is None and not reply.done:
        detail = f"ended after {stream.end_at:.2f} s with neither finish_reason nor [DONE]"
        yield _finding(Found("reset_stream", "stream", None, detail), known)
    else:
        yield from _silence(stream, reply, known)


def _http_status(stream: Stream, known: Known) -> Finding:
    status = stream.status or 0
    server_fault = status >= 500 and status != 503
    code = stream.headers.get("x-smg-error-code", "")
    body = b"".join(chunk for _, chunk in stream.chunks)[:200].decode("utf-8", "replace")
    detail = f"HTTP {status} {code}".strip()
    sub = "5xx" if server_fault else str(status)
    verdict = "bad" if server_fault else "inconclusive"
    return _finding(
        Found("http_status", "http", sub, detail), known, verdict=verdict, quote=texts.quote(body, 0, 60, 0)[0]
    )


def _silence(stream: Stream, reply: Reply, known: Known) -> Iterator[Finding]:
    verdict = "bad" if known.others_progress else "inconclusive"
    last = reply.progress[-1] if reply.progress else None
    if stream.end == "open":
        if last is None:
            found = Found("ttft_timeout", "stream", None, f"no output in {stream.end_at:.1f} s")
            yield _finding(found, known, verdict=verdict)
            return
        detail = f"silent since {last:.1f} s, left at {stream.end_at:.1f} s"
        yield _finding(Found("stall", "stream", "open", detail), known, verdict=verdict)
        return
    gap = max((b - a for a, b in zip(reply.progress, reply.progress[1:], strict=False)), default=0.0)
    if gap > known.gap:
        yield _finding(Found("stall", "stream", "recovered", f"silent for {gap:.1f} s"), known, verdict="warn")


def _pieces(reply: Reply, known: Known) -> list[_Piece]:
    """What the client saw, by channel. Arguments leaf by leaf after JSON decoding; raw when they are no JSON."""
    exempt = {leaf for call in known.expected for leaf in calls.leaves(dict(call.arguments))}
    pieces = [_Piece("content", reply.content), _Piece("reasoning", reply.reasoning)]
    for call in reply.calls:
        value = calls.parsed(call)
        strings = [call.arguments] if value is None else list(calls.leaves(value))
        pieces.append(_Piece("name", call.name))
        pieces += [_Piece("arguments", text, text in exempt) for text in strings]
    return [piece for piece in pieces if piece.text]


def _said(reply: Reply, known: Known, others: Others) -> Iterator[Finding]:
    """Faults of what was said: they count even in a stream that was cut."""
    pieces = _pieces(reply, known)
    yield from _contamination(reply, pieces, known, others)
    for piece in pieces:
        if not piece.expected:
            yield from _marks(piece, known)
            if texts.is_gibberish(piece.text, known.scripts):
                detail = "characters that no prompt asked for"
                yield _finding(Found("gibberish", piece.where, None, detail), known, quote=_head(piece.text))
        if piece.where != "name" and texts.is_loop(piece.text) and not piece.expected:
            yield _finding(Found("loop", piece.where, None, "repeats itself"), known, quote=_head(piece.text))
    yield from (_finding(found, known) for found in calls.names(reply, known))
    for rule in reply.protocol:
        yield _finding(Found("protocol", "stream", rule, f"the stream breaks a rule: {rule}"), known)


def _head(text: str) -> str:
    return texts.quote(text, 0, min(len(text), 50), 0)[0]


def _marks(piece: _Piece, known: Known) -> Iterator[Finding]:
    hit, cls = markers.find_marker(piece.text), "leak"
    thought = markers.find_think(piece.text)
    for mark in (hit, thought):
        if mark is None:
            continue
        if mark is thought and piece.where in ("content", "reasoning"):
            cls = "reasoning_leak"
        quote, place = texts.quote(piece.text, mark.start, mark.end)
        found = Found(cls, piece.where, None, f"markup of {mark.family} in the {piece.where}")
        yield _finding(found, known, quote=quote, mark=place)


def _contamination(reply: Reply, pieces: list[_Piece], known: Known, others: Others) -> Iterator[Finding]:
    for piece in pieces:
        for sub, keys in (("live", others.live), ("past", others.past)):
            hit = nonces.foreign(piece.text, keys, known.key)
            if hit:
                detail = f"nonce N-{hit} of {'another' if sub == 'live' else 'an earlier'} request"
                place = nonces.place(piece.text, hit)
                quote, mark = texts.quote(piece.text, *place)
                yield _finding(Found("contamination", piece.where, sub, detail, quote, mark), known)
    for identity in reply.response_ids:
        yield from _foreign_id(identity, others.response_ids, known)
    for call in reply.calls:
        if call.id.startswith("call_"):
            yield from _foreign_id(call.id, others.call_ids, known)
    for where, said in [("content", reply.content.strip()), *(("arguments", calls.canonical(c)) for c in reply.calls)]:
        owner = others.answers.get(said)
        if owner is not None and owner != known.case:
            yield _finding(
                Found("contamination", where, "live", f"the answer of case {owner}"), known, quote=_head(said)
            )


def _foreign_id(identity: str, owners: object, known: Known) -> Iterator[Finding]:
    seen = cast("dict[str, frozenset[str]]", owners).get(identity, frozenset()) - {known.id}
    if seen and _RANDOM_ID.search(identity):
        yield _finding(Found("contamination", "id", "live", f"id {identity} is that of {min(seen)} too"), known)


def _missing(reply: Reply, known: Known) -> Iterator[Finding]:
    """Faults of what should be there: only for a stream that came to its end."""
    wanted_finish = known.answer.finish if known.answer else None
    used = (reply.usage or {}).get("completion_tokens")
    at_limit = reply.finish == "length" and wanted_finish != "length"
    honest = at_limit and (used is None or used >= known.max_tokens)
    yield from (_finding(found, known) for found in calls.arguments(reply, known, cut=honest))
    excused = False
    if honest:
        needed = known.control.completion_tokens
        looping = any(texts.is_loop(piece.text) for piece in _pieces(reply, known))
        if not looping and needed is not None and needed < _SHORT_LOOP * known.max_tokens:
            detail = f"{known.max_tokens} tokens where {needed} were enough alone"
            yield _finding(Found("loop", _longest(reply), None, detail), known)
        elif not looping:
            excused = True
            detail = f"cut at the test's own limit of {known.max_tokens} tokens"
            yield _finding(Found("length_cut", None, None, detail), known, verdict="inconclusive")
    if not excused:
        yield from (_finding(found, known) for found in calls.number_of_calls(reply, known))
        yield from _known_answer(reply, known)
    yield from _finish(reply, known, early=at_limit and not honest)
    yield from _usage(reply, known)


def _longest(reply: Reply) -> str:
    sizes = {
        "content": len(reply.content),
        "reasoning": len(reply.reasoning),
        "arguments": sum(len(c.arguments) for c in reply.calls),
    }
    return max(sizes, key=sizes.__getitem__)


def _known_answer(reply: Reply, known: Known) -> Iterator[Finding]:
    wanted = known.answer.content if known.answer else None
    got = reply.content
    if known.expected and wanted is not None:  # parsers differ in the blanks between text and call
        wanted, got = wanted.strip(), got.strip()
    if wanted is None or got == wanted or (not got.strip() and not reply.calls):
        return
    sub = "lost" if not got.strip() else "cut" if wanted.startswith(got.rstrip()) else "differs"
    same = next((n for n, (a, b) in enumerate(zip(wanted, got, strict=False)) if a != b), min(len(wanted), len(got)))
    quote, mark = texts.quote(got, same, min(same + 1, len(got)))
    detail = f"expected {_head(wanted)!r}, got {_head(got)!r}"
    yield _finding(Found("wrong_text", "content", sub, detail), known, quote=quote, mark=mark)


def _finish(reply: Reply, known: Known, early: bool) -> Iterator[Finding]:
    wanted = known.answer.finish if known.answer else None
    sub = None
    if reply.finish is None:
        sub = "none"
    elif early:
        sub = "early_length"
    elif reply.finish == "tool_calls" and not reply.calls:
        sub = "tool_calls_without_call"
    elif reply.calls and reply.finish not in ("tool_calls", "length"):
        sub = "call_without_tool_calls"
    elif wanted and reply.finish != wanted and reply.finish != "length":
        sub = f"expected_{wanted}"
    if sub:
        yield _finding(Found("wrong_finish", "stream", sub, f"finish_reason is {reply.finish}"), known)
    if not reply.done:
        yield _finding(Found("protocol", "stream", "no_done", "no [DONE]"), known, verdict="warn")


def _usage(reply: Reply, known: Known) -> Iterator[Finding]:
    if not known.include_usage:
        return
    usage = reply.usage
    if usage is None:
        yield _finding(Found("usage_mismatch", "usage", "missing", "no usage event"), known, verdict="warn")
        return
    prompt, made, total = (usage.get(k, 0) for k in ("prompt_tokens", "completion_tokens", "total_tokens"))
    expected_made = known.answer.completion_tokens if known.answer else None
    tests = (
        ("sum", "total_tokens" in usage and prompt + made != total, f"{prompt} + {made} is not {total}"),
        ("zero", made == 0 and reply.visible > 0, "no completion tokens, but output"),
        ("too_few", 0 < made < reply.visible / 8, f"{made} tokens for {reply.visible} characters"),
    )
    for sub, wrong, detail in tests:
        if wrong:
            yield _finding(Found("usage_mismatch", "usage", sub, detail), known, verdict="warn")
    alone = known.control.prompt_tokens
    if alone is not None and prompt != alone:
        detail = f"{prompt} prompt tokens, {alone} alone: another prompt reached the engine"
        yield _finding(Found("usage_mismatch", "usage", "prompt_tokens", detail), known)
    if expected_made is not None and made != expected_made:
        detail = f"{made} completion tokens, {expected_made} are known to be right"
        yield _finding(Found("usage_mismatch", "usage", "completion_tokens", detail), known)
