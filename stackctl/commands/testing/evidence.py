"""Writes the evidence folder of a run while it goes on, so that an interrupted run has left what it saw.

A folder that cannot be written costs the evidence and is said, but never the verdict.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from stackctl.commands.testing.target import Target
from stackctl.core.verify import evidence as form
from stackctl.core.verify import nonces
from stackctl.core.verify.judge import Judged
from stackctl.core.verify.load import Sent
from stackctl.core.verify.report import TestReport
from stackctl.errors import StackctlError
from stackctl.ports import Ports

REMEMBERED = 20  # runs whose nonces are looked for: stale content betrays a poisoned cache


class Evidence:
    """One folder under `<workspace>/.stackctl/evidence`."""

    def __init__(self, ports: Ports, target: Target) -> None:
        self._ports = ports
        self._home = f"{target.workspace}/.stackctl/evidence"
        name = form.folder_name(ports.clock.now(), target.spec.name, target.release)
        number = next(n for n in range(1, 1000) if not ports.files.exists(self._path(name, n)))
        self.folder: str | None = self._path(name, number)

    def _path(self, name: str, number: int) -> str:
        return f"{self._home}/{name}" + (f"-{number}" if number > 1 else "")

    def write(self, name: str, data: bytes) -> None:
        self._guarded(lambda folder: self._ports.files.write(f"{folder}/{name}", data))

    def append(self, name: str, lines: str) -> None:
        if lines:
            self._guarded(lambda folder: self._ports.files.append_line(f"{folder}/{name}", lines))

    def burst(self, sent: Sequence[Sent], judged: Judged, seed: str) -> None:
        """Bodies of all requests, raw bytes of those to keep, and the health answers of a wedge."""
        self.append("corpus.jsonl", form.corpus(sent))
        for name, data in form.raw(judged, seed).items():
            self.write(f"raw/{name}", data)
        result = judged.result
        canaries = {"canary": result.canary, "canary after abort": result.canary_after}
        self.append("probes.jsonl", form.probes(result.health, canaries))

    def finish(self, report: TestReport, client: Mapping[str, object]) -> TestReport:
        """Write the report; the same report, naming the folder."""
        report = replace(report, evidence=self.folder)
        self.write("report.json", form.report(report, client))
        return replace(report, evidence=self.folder)

    def remember(self, seed: str, requests: int) -> None:
        """Of a run only its seed and size are stored: its nonces follow from them."""
        line = json.dumps({"seed": seed, "requests": requests})
        self._guarded(lambda _: self._ports.files.append_line(f"{self._home}/runs.jsonl", line))

    def past(self) -> frozenset[str]:
        """Nonce keys of the last runs in this workspace."""
        path = f"{self._home}/runs.jsonl"
        if not self._ports.files.exists(path):
            return frozenset()
        keys: set[str] = set()
        for line in self._ports.files.read(path).decode("utf-8", "replace").splitlines()[-REMEMBERED:]:
            try:
                run = json.loads(line)
                keys.update(nonces.key(nonces.nonce(run["seed"], n)) for n in range(run["requests"]))
            except (ValueError, KeyError, TypeError):
                continue  # a line that a killed run left half-written
        return frozenset(keys)

    def _guarded(self, write: Callable[[str], None]) -> None:
        if self.folder is None:
            return
        try:
            write(self.folder)
        except (StackctlError, OSError) as error:
            self._ports.progress.say(f"no evidence is kept: {error}")
            self.folder = None
