"""The ports that a process takes: those that were written, those that have a default, and those that sglang derives.

The formula of the derived ones is `PortArgs.init_new` in `srt/server_args.py`, read in 0.5.9, 0.5.15 and 0.5.23.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from stackctl.core.lint.setup import Process

DELTA, DERIVED, LAST = 233, 6, 65535  # ports above --port; how many above that; the last port there is
ROUTER_PORT, ROUTER_METRICS = 30000, 29000
APART: Final = "keep --port values 250 apart, or give --dist-init-addr"
OWN: Final = "each process needs ports of its own"


@dataclass(frozen=True)
class Claim:
    """Ports from `first` to `last`. `flag`: what they come from; `is_key`: a stack file has it as a key of its own."""

    flag: str
    first: int
    last: int
    is_key: bool = False
    derived: bool = False

    def meets(self, other: Claim) -> bool:
        return self.first <= other.last and other.first <= self.last

    @property
    def remedy(self) -> str:
        return APART if self.derived else OWN

    def __str__(self) -> str:
        if not self.derived:
            return f"--{self.flag} {self.first}"
        return f"ports {self.first} to {self.last} (DP attention takes them above --{self.flag})"


def claims(process: Process) -> Iterator[Claim]:
    if process.role == "router":
        yield _one("port", process.number("port") or ROUTER_PORT, is_key=True)
        yield _one("prometheus-port", process.number("prometheus-port") or ROUTER_METRICS, is_key=True)
        return
    port = process.number("port")
    if port is not None:
        yield _one("port", port, is_key=True)
    bootstrap = process.number("disaggregation-bootstrap-port")
    if process.role == "prefill" and bootstrap is not None:
        yield _one("disaggregation-bootstrap-port", bootstrap, is_key=True)
    if process.given("nccl-port") and (nccl := process.number("nccl-port")) is not None:
        yield _one("nccl-port", nccl)
    yield from _derived(process, port)


def _one(flag: str, port: float, *, is_key: bool = False) -> Claim:
    return Claim(flag, int(port), int(port), is_key)


def _derived(process: Process, port: float | None) -> Iterator[Claim]:
    """Those of DP attention; with --dist-init-addr they begin at its port, on the first node only."""
    address = process.text("dist-init-addr")
    if address is not None and (process.number("node-rank") or 0) == 0:
        first = address.rpartition(":")[2]
        if first.isdigit():
            above = DERIVED if attention_dp(process) else 0
            yield Claim("dist-init-addr", int(first), int(first) + above, derived=above > 0)
    elif address is None and port is not None and attention_dp(process):
        first_port = int(port) + DELTA if port + DELTA <= LAST else int(port) - DELTA
        yield Claim("port", first_port, first_port + DERIVED, derived=True)


def attention_dp(process: Process) -> bool:
    """Whether data parallelism of attention is on: with one rank it is switched off again."""
    if process.given("attn-dp-size") is not None:
        return (process.number("attn-dp-size") or 1) > 1
    return process.on("enable-dp-attention") and (process.number("dp-size") or 1) > 1
