"""Flags that went away before the first release whose table is known (0.5.9), as their deprecation said: old scripts
still have them. What replaces one is only told where the base has it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

OLDER: Final[Mapping[str, str]] = {
    "--enable-ep-moe": "--ep-size with the value of --tp-size",
    "--enable-deepep-moe": "--moe-a2a-backend deepep",
    "--enable-flashinfer-cutlass-moe": "--moe-runner-backend flashinfer_cutlass",
    "--enable-flashinfer-cutedsl-moe": "--moe-runner-backend flashinfer_cutedsl",
    "--enable-flashinfer-trtllm-moe": "--moe-runner-backend flashinfer_trtllm",
    "--enable-flashinfer-mxfp4-moe": "--moe-runner-backend flashinfer_mxfp4",
    "--enable-triton-kernel-moe": "--moe-runner-backend triton_kernel",
    "--enable-flashmla": "--attention-backend flashmla",
    "--enable-flashinfer-mla": "--attention-backend flashinfer",
    "--impl": "--model-impl",
}


def older(word: str, table: Mapping[str, object]) -> str:
    """What to write for it; empty when nobody knows."""
    use = OLDER.get(word, "")
    return f"it went away before 0.5.9: write {use}" if use.partition(" ")[0] in table else ""
