"""Amounts as people write them: durations `45m`, sizes `64GiB`, shares `2%`.

A bare number is refused where its unit would be a guess.
"""

from __future__ import annotations

import re

SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
BYTES = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
BYTES |= {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_SIZE = re.compile(r"(\d+(?:\.\d+)?) ?([KMGT]i?B|B)")
_SHARE = re.compile(r"(\d+(?:\.\d+)?) ?%")


def duration(text: object) -> float:
    """Seconds of `45m`, `90s`, `1h30m`. Raises ValueError with what was expected."""
    whole = isinstance(text, str) and re.fullmatch(f"(?:{_DURATION.pattern})+", text)
    if not isinstance(text, str) or not whole:
        raise ValueError("expected a duration like 45m, 90s or 1h30m")
    return sum(float(number) * SECONDS[unit] for number, unit in _DURATION.findall(text))


def size(text: object) -> int:
    """Bytes of `64GiB`. Raises ValueError with what was expected."""
    match = _SIZE.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise ValueError("expected a size like 96GiB or 500MB")
    return int(float(match[1]) * BYTES[match[2]])


def share(text: object) -> float:
    """0.02 of `2%` or `0.02`. Raises ValueError with what was expected."""
    match = _SHARE.fullmatch(text) if isinstance(text, str) else None
    if match is not None:
        value = float(match[1]) / 100
    elif isinstance(text, str) and re.fullmatch(r"[01]\.\d+", text):
        value = float(text)
    else:
        raise ValueError("expected a share like 2% or 0.02")
    if not 0 < value < 1:
        raise ValueError("expected a share between 0% and 100%")
    return value


def duration_text(seconds: float) -> str:
    """The shortest way to write it, so that reading it back gives the same number."""
    for unit in ("h", "m", "s"):
        if seconds >= SECONDS[unit] and seconds % SECONDS[unit] == 0:
            return f"{int(seconds // SECONDS[unit])}{unit}"
    return f"{seconds!r}s" if seconds else "0s"


def size_text(count: int) -> str:
    for unit in ("TiB", "GiB", "MiB", "KiB"):
        if count and count % BYTES[unit] == 0:
            return f"{count // BYTES[unit]}{unit}"
    return f"{count}B"


def share_text(value: float) -> str:
    return f"{value * 100:.10g}%"
