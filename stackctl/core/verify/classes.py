"""The closed list of finding classes, in the order in which the first one names a request's fault.

A class is a label for people and for comparing; the verdict rests on whether the request yielded what was asked.
"""

from __future__ import annotations

from stackctl.core.verify.report import Finding

ORDER = (
    "contamination", "refused", "reset_reused", "http_status", "sse_error", "reset_stream", "ttft_timeout", "stall",
    "leak", "reasoning_leak", "gibberish", "loop", "json_broken", "unknown_tool", "wrong_tool", "schema", "nonce",
    "wrong_args", "wrong_text", "empty", "missing_call", "dup_call", "extra_call", "wrong_finish", "length_cut",
    "protocol", "usage_mismatch", "wedge", "client_lag",
)  # fmt: skip

# could be the model itself: they count only against a control
MAYBE_MODEL = frozenset(
    {"loop", "wrong_tool", "schema", "wrong_args", "wrong_text", "missing_call", "dup_call", "extra_call"}
)
# a client that lags can make these up
TIMED = frozenset({"ttft_timeout", "stall", "refused"})

_WORST = {"bad": 3, "inconclusive": 2, "warn": 1}


def rank(cls: str) -> int:
    return ORDER.index(cls)


def primary(findings: tuple[Finding, ...]) -> str | None:
    """The class that comes first in the order, whatever its verdict."""
    return min((f.cls for f in findings), key=rank, default=None)


def worst(findings: tuple[Finding, ...]) -> str:
    """bad > inconclusive > warn > clean"""
    return max((f.verdict for f in findings), key=_WORST.__getitem__, default="clean")
