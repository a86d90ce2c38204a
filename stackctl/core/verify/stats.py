"""The little statistics that a verdict needs: exact bounds of a failure rate, and how many requests exclude one.

No approximation: failures are rare and counts small, where the normal one is worst.
"""

from __future__ import annotations

import math
from collections.abc import Sequence


def needed(max_rate: float, confidence: float) -> int:
    """Requests without a failure that exclude a rate of `max_rate` or more: ceil(ln risk / ln(1 - max_rate))."""
    return math.ceil(math.log(1 - confidence) / math.log(1 - max_rate) - 1e-9)


def upper_bound(failed: int, requests: int, confidence: float) -> float:
    """One-sided exact (Clopper-Pearson) upper bound of the failure rate: P(at most `failed`) = 1 - confidence."""
    if requests <= 0 or failed >= requests:
        return 1.0
    low, high = failed / requests, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        if _at_most(failed, requests, middle) > 1 - confidence:
            low = middle
        else:
            high = middle
    return high


def _at_most(failed: int, requests: int, rate: float) -> float:
    if rate <= 0:
        return 1.0
    if rate >= 1:
        return 0.0
    return math.fsum(math.exp(_log_choose(requests, k) + k * math.log(rate) + (requests - k) * math.log1p(-rate))
                     for k in range(failed + 1))  # fmt: skip


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def quantile(values: Sequence[float], share: float) -> float | None:
    """Nearest rank; None of nothing."""
    if not values:
        return None
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]
