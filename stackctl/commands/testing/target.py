"""What a test is run against: the server, its release and variant, and the spec of the test."""

from __future__ import annotations

from dataclasses import dataclass

from stackctl.core.names import Secret
from stackctl.core.stack.resolved import TestSpec
from stackctl.core.verify.report import TestReport, Verdict


@dataclass(frozen=True)
class Target:
    """`url` has no /v1. `health`: URLs to ask when nothing moves. `workspace`: where evidence goes."""

    spec: TestSpec
    url: str
    workspace: str
    model: str | None = None
    token: Secret | None = None
    stack: str | None = None
    release: str | None = None
    variant: str = ""
    start_seconds: float | None = None
    health: tuple[str, ...] = ()

    def report(self, verdict: Verdict, reason: str, hint: str | None = None) -> TestReport:
        """A report that says who was tested, without any count yet."""
        return TestReport(
            test=self.spec.name,
            kind=self.spec.kind,
            verdict=verdict,
            reason=reason,
            hint=hint,
            url=self.url,
            stack=self.stack,
            release=self.release,
            variant=self.variant,
            concurrency=self.spec.concurrency,
            confidence=self.spec.confidence,
            max_rate=self.spec.max_rate,
        )
