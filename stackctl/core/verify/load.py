"""What to send: the control's requests one after the other, and the bursts of the load, arm by arm.

A plan only: the streams of a burst with their starts and cancellations, and the case that each of them carries.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from stackctl.core.names import Secret
from stackctl.core.stack.resolved import TestSpec
from stackctl.core.verify import cases, expected
from stackctl.core.verify.cases import Case, Recipe
from stackctl.core.verify.nonces import number
from stackctl.core.verify.wire import HttpRequest, StreamRequest

ABORTED = 0.4  # share of an abort burst that is cancelled and sent anew
EARLY = (0.010, 0.020)  # seconds: while prefill still writes
MID = (0.3, 0.7)  # of the time that an answer takes alone


@dataclass(frozen=True)
class Sent:
    """One stream to send and what is known about it."""

    stream: StreamRequest
    case: Case


@dataclass(frozen=True)
class Source:
    """Where requests come from: a recipe for generated ones, or entries of a file of known answers."""

    spec: TestSpec
    recipe: Recipe
    url: str
    token: Secret | None = None
    entries: Sequence[Mapping[str, Any]] = ()

    def control(self, name: str, first: int, count: int) -> list[list[Sent]]:
        """The control in bursts of its own small concurrency; `first`: number of its first request in the run."""
        arms = self.spec.arms
        sent = [self._one(arms[n % len(arms)], first + n, f"{name}-{n:03}", n) for n in range(count)]
        size = self.spec.control_concurrency
        return [sent[i : i + size] for i in range(0, len(sent), size)]

    def burst(self, index: int, first: int, latency: float) -> list[Sent]:
        """Burst `index` of the load. `latency`: seconds that an answer takes alone, to cancel in its middle."""
        arm = self.spec.arms[index % len(self.spec.arms)]
        count = self.spec.concurrency
        sent = [self._one(arm, first + n, f"b{index + 1:03}-{n:03}", index + 7 * n) for n in range(count)]
        sent = [self._started(s, first + n) for n, s in enumerate(sent)]
        if arm != "abort":
            return sent
        return self._with_aborts(sent, first + count, latency)

    def _one(self, arm: str, counter: int, request_id: str, entry: int) -> Sent:
        if self.entries:
            case = expected.case(self.entries[entry % len(self.entries)], self.recipe.model, request_id)
        else:
            case = cases.case(self.recipe, arm, counter, request_id)
        headers = {
            "Content-Type": "application/json",
            "Accept": "text/event-stream",
            "X-Request-ID": f"{self.recipe.seed}-{request_id}",
        }
        request = HttpRequest("POST", f"{self.url}/v1/chat/completions", headers, case.body, self.token)
        return Sent(StreamRequest(request_id, request), case)

    def _chance(self, counter: int, purpose: str) -> float:
        return number(self.recipe.seed, counter, purpose) % 10_000 / 10_000

    def _started(self, sent: Sent, counter: int) -> Sent:
        return replace(sent, stream=replace(sent.stream, start_at=self.spec.stagger * self._chance(counter, "start")))

    def _with_aborts(self, sent: list[Sent], first: int, latency: float) -> list[Sent]:
        """Cancel some of them, early or in their middle, and send a new request in the place of each at once."""
        victims = round(ABORTED * len(sent))
        result = sent[victims:]
        for n, victim in enumerate(sent[:victims]):
            low, high = EARLY if n % 2 else (MID[0] * latency, MID[1] * latency)
            after = low + (high - low) * self._chance(first + n, "cancel")
            result.append(replace(victim, stream=replace(victim.stream, cancel_after=after)))
            refill = self._one("abort", first + n, f"{victim.stream.id}r", first + n)
            result.append(replace(refill, stream=replace(refill.stream, start_at=victim.stream.start_at + after)))
        return result


def control_size(spec: TestSpec, quick: bool, entries: int) -> int:
    """Five in a bisect: its session has had the long one. With known answers every prompt is asked once."""
    if quick:
        return min(5, spec.control_requests)
    return max(spec.control_requests, entries)
