"""Kind `toolcalls`: control, bursts until the counts decide, control again; all of it recorded.

Each step is a burst through the Http port, judged by core/verify; this module only decides what to send next.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from stackctl.commands.testing.evidence import Evidence
from stackctl.commands.testing.target import Target
from stackctl.core.verify import cases, control, expected, judge, verdict
from stackctl.core.verify.classify import Judgement
from stackctl.core.verify.control import Controls
from stackctl.core.verify.judge import Judged, Seen
from stackctl.core.verify.ledger import Ledger, wedge
from stackctl.core.verify.load import Sent, Source, control_size
from stackctl.core.verify.report import Finding, TestReport
from stackctl.core.verify.stats import upper_bound
from stackctl.core.verify.verdict import Decision, Rules
from stackctl.core.verify.wire import Burst, HttpRequest, Watch
from stackctl.errors import InvalidFile, Problem
from stackctl.ports import Ports

ENOUGH = 3  # bad ones end a control
REPLAYED = 3  # failed requests that are sent again alone
SECOND_PROBE = 10.0  # seconds


def run(ports: Ports, target: Target, quick: bool) -> TestReport:
    """To the verdict. Ctrl-C leaves evidence that says so, and goes on as KeyboardInterrupt."""
    running = _Run.begin(ports, target, quick)
    try:
        report = running.whole()
    except KeyboardInterrupt:
        report = replace(running.report(Decision("inconclusive", "interrupted")), interrupted=True)
        running.finish(report)
        raise
    return running.finish(report)


@dataclass
class _Run:
    ports: Ports
    target: Target
    rules: Rules
    source: Source
    seen: Seen
    controls: Controls
    evidence: Evidence
    began: float
    ledger: Ledger = field(default_factory=Ledger)
    said: dict[str, str] = field(default_factory=dict)  # of the controls
    failed: list[Sent] = field(default_factory=list)
    wedged_alone: Finding | None = None  # in a control
    counter: int = 0
    lag: float = 0.0

    @classmethod
    def begin(cls, ports: Ports, target: Target, quick: bool) -> _Run:
        spec = target.spec
        _check(target)
        entries = expected.parse(ports.files.read(spec.expect), spec.expect) if spec.expect else []
        moment = f"{ports.clock.now()!r} {ports.clock.monotonic()!r} {ports.who.pid()} {target.url}"
        seed = hashlib.sha256(moment.encode()).hexdigest()[:12]
        evidence = Evidence(ports, target)
        recipe = cases.Recipe(seed, target.model or "default", spec.max_tokens, spec.lengths)
        needed = min(20, spec.control_requests)
        return cls(
            ports=ports,
            target=target,
            rules=Rules(spec.concurrency, spec.bursts_min, spec.bursts_max, spec.max_rate, spec.confidence, quick),
            source=Source(spec, recipe, target.url, target.token, entries),
            seen=Seen(evidence.past(), expected.answers(entries)),
            controls=Controls(spec.gap, spec.ttft, needed if quick else 0, needed),
            evidence=evidence,
            began=ports.clock.monotonic(),
        )

    def whole(self) -> TestReport:
        spec = self.target.spec
        size = control_size(spec, self.rules.quick, len(self.source.entries))
        if self._control("before", size).failed:
            hint = "the model, its parser or the configuration: look at the findings of the control"
            return self.report(Decision("inconclusive", f"control failed: {self.said['before']} alone", hint))
        gap, ttft = self.controls.measured()
        self.controls.gap, self.controls.ttft = max(spec.gap, gap), max(spec.ttft, ttft)
        decision = self._load()
        if self.rules.quick or self.ledger.tally.wedged:
            return self.report(decision)
        self._replay()
        after = self._control("after", size)
        if self.wedged_alone:
            decision = Decision("bad", "wedge: after the load not even one request alone is answered")
        return self.report(_after(decision, after))

    def _control(self, name: str, size: int) -> control.Count:
        before = name == "before"
        judgements: list[Judgement] = []
        with self.ports.progress.step(
            f"control {name}: {size} requests, {self.target.spec.control_concurrency} at a time"
        ):
            for sent in self.source.control(name, self._numbers(size), size):
                judged = self._send(sent, f"control {name}")
                judgements += judged.judgements
                if before:
                    self.controls.add(sent, judged.judgements, judged.result.streams)
                if judged.result.wedged_at is not None:
                    self.wedged_alone = wedge(judged.result)
                if self.wedged_alone or control.count(judgements).bad >= ENOUGH:
                    break  # a server that hangs would cost minutes for each of the rest
        counted = control.count(judgements)
        self.ledger.findings += [self.wedged_alone] if self.wedged_alone else []
        if counted.failed:
            self.ledger.findings += [f for j in judgements for f in j.findings]
        self.said[name] = str(counted)
        return counted

    def _numbers(self, count: int) -> int:
        """Numbers for so many new requests; the first of them."""
        self.counter += count
        return self.counter - count

    def _load(self) -> Decision:
        decision, index = None, 0
        with self._load_step():
            while decision is None:
                spec = self.target.spec
                sent = self.source.burst(index, self._numbers(2 * spec.concurrency), self.controls.slowest)
                judged = self._send(sent, self.ledger.line(self.rules.planned))
                self.ledger.add(judged, judge.confirmed(judged, self.seen))
                by_id = {s.stream.id: s for s in sent}
                self.failed += [by_id[j.id] for j in judged.judgements if j.verdict == "bad"]
                decision = verdict.decide(self.ledger.tally, self.rules)
                if decision is None:
                    self.ports.progress.live(self.ledger.line(self.rules.planned))
                index += 1
        return decision

    @contextmanager
    def _load_step(self) -> Iterator[None]:
        spec = self.target.spec
        with self.ports.progress.step(f"load: bursts of {spec.concurrency}, {', '.join(spec.arms)}"):
            yield
        self.ports.progress.say(self.ledger.line(self.rules.planned))

    def _replay(self) -> None:
        """The first failed requests once more, alone and byte for byte: clean again means load, not content."""
        again = [replace(s, stream=replace(s.stream, id=f"{s.stream.id}-alone", start_at=0.0)) for s in self.failed]
        judgements = [j for s in again[:REPLAYED] for j in self._send([_renamed(s)], "replay").judgements]
        if judgements:
            self.said["failed ones alone"] = str(control.count(judgements))

    def _send(self, sent: Sequence[Sent], label: str) -> Judged:
        burst = Burst(tuple(s.stream for s in sent), self._watch())
        result = self.ports.http.burst(burst, _Labelled(self.ports, label))
        self.lag = max(self.lag, result.loop_lag_p99)
        crashed = any(s.end == "refused" for s in result.streams) and not self._answers()
        judged = judge.judge(sent, result, self.seen, self.controls, crashed)
        self.evidence.burst(sent, judged, self.source.recipe.seed)
        return judged

    def _answers(self) -> bool:
        """A second probe, after a refused connection: the server was up at warm-up, so silence now is a crash."""
        probe = HttpRequest("GET", f"{self.target.url}/v1/models", token=self.target.token)
        return self.ports.http.fetch(probe, SECOND_PROBE).status is not None

    def _watch(self) -> Watch:
        spec, url, token = self.target.spec, self.target.url, self.target.token
        model = self.source.recipe.model
        headers = {"Content-Type": "application/json"}
        return Watch(
            ttft=self.controls.ttft,
            gap=self.controls.gap,
            wedge=max(spec.wedge, self.controls.gap if self.controls.sent else 0.0),
            canary=HttpRequest("POST", f"{url}/v1/chat/completions", headers, cases.canary(model), token),
            canary_timeout=max(spec.probe, control.SLACK * self.controls.slowest),
            health=tuple(HttpRequest("GET", address, token=token) for address in self.target.health),
        )

    def report(self, decision: Decision) -> TestReport:
        tally = self.ledger.tally
        spec = self.target.spec
        return replace(
            self.target.report(decision.verdict, decision.reason, decision.hint),
            bursts=tally.bursts,
            bad_bursts=tally.bad_bursts,
            requests=tally.requests,
            failed=tally.failed,
            bound=upper_bound(tally.failed, tally.requests, spec.confidence) if tally.requests else None,
            classes=dict(self.ledger.failures.most_common()),
            signature=self._signature() if decision.verdict == "bad" else None,
            wedge=tally.wedged or self.wedged_alone is not None,
            control=dict(self.said),
            findings=tuple(self.ledger.findings),
            timings=self.ledger.timings(self.target.start_seconds),
            seconds=self.ports.clock.monotonic() - self.began,
            inconclusive=dict(tally.unclear),
            warnings=dict(self.ledger.warnings),
            needed=self.rules.needed,
        )

    def _signature(self) -> str | None:
        return self.ledger.signature or ("wedge" if self.wedged_alone else "lasting_damage")

    def finish(self, report: TestReport) -> TestReport:
        self.evidence.remember(self.source.recipe.seed, self.counter)
        client: dict[str, Any] = {
            "seed": self.source.recipe.seed,
            "loop_lag_p99": self.lag,
            "lagged_bursts": self.ledger.tally.lagged,
            "limits": {"gap": self.controls.gap, "ttft": self.controls.ttft, "wedge": self._watch().wedge},
        }
        return self.evidence.finish(report, client)


def _renamed(sent: Sent) -> Sent:
    known = replace(sent.case.known, id=sent.stream.id)
    return replace(sent, case=replace(sent.case, known=known), stream=replace(sent.stream, cancel_after=None))


def _after(decision: Decision, after: control.Count) -> Decision:
    """The trailing control: faults that stay when the load is gone are lasting damage."""
    if decision.verdict != "clean" or not (after.bad or after.maybe):
        return decision
    if after.bad + after.maybe >= 2:
        return Decision("bad", f"lasting damage: {after} alone after the load, which itself was clean")
    return Decision("inconclusive", "one request alone failed after the load", "run the test again")


def _check(target: Target) -> None:
    """What a spec may not say, whoever wrote it."""
    spec = target.spec
    rate, sure = 0 < spec.max_rate < 1, 0 < spec.confidence < 1
    unknown = [arm for arm in spec.arms if arm not in cases.ARMS]
    tests = (
        (spec.concurrency >= 1, "concurrency", "must be 1 or more"),
        (spec.control_requests >= 1 and spec.control_concurrency >= 1, "control", "needs 1 or more of each"),
        (rate, "max_rate", "must be between 0 and 100 %"),
        (sure, "confidence", "must be between 0 and 100 %"),
        (spec.arms and not unknown, "arms", f"unknown: {', '.join(unknown) or 'none is given'}"),
    )
    problems = [Problem(text, key=f"tests.{spec.name}.{key}") for good, key, text in tests if not good]
    if problems:
        raise InvalidFile(problems, f"arms: {', '.join(cases.ARMS)}")


@dataclass(frozen=True)
class _Labelled:
    """A burst's own live line behind the run's: `burst 3/10 … | 41/60 ended`."""

    ports: Ports
    label: str

    def step(self, text: str) -> Any:
        return self.ports.progress.step(f"{self.label} | {text}")

    def say(self, text: str) -> None:
        self.ports.progress.say(f"{self.label} | {text}")

    def live(self, text: str) -> None:
        self.ports.progress.live(f"{self.label} | {text}")
