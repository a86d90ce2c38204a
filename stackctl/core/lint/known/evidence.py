"""Where a rule's claim can be looked up: sglang's own source at a release, its issues, its pull requests.

Of a source file, the release is the one that was read; a rule that begins or ends between releases cites both sides.
"""

from __future__ import annotations

SGLANG = "https://github.com/sgl-project/sglang"


def source(version: str, path: str) -> str:
    """`path` below python/sglang/."""
    return f"{SGLANG}/blob/v{version}/python/sglang/{path}"


def issue(number: int) -> str:
    return f"{SGLANG}/issues/{number}"


def pull(number: int) -> str:
    return f"{SGLANG}/pull/{number}"
