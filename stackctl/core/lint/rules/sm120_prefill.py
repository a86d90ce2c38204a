"""DeepSeek-V4's prefill on SM120 up to 0.5.15: a kernel that the card lacks, and memory for the index logits.

Both are settled by patches, and sglang 0.5.16 settles them itself. Of a raw command nobody knows what its image was
patched with, so there they are information; in a stack the queue says it.
"""

from __future__ import annotations

from collections.abc import Iterator

from stackctl.core.lint.known.asked import (
    at_env,
    at_flag,
    count,
    is_v4,
    patched,
    prefill_cp,
    switch,
    unless_patched,
    unpatched,
)
from stackctl.core.lint.known.evidence import issue, pull, source
from stackctl.core.lint.known.wording import engine
from stackctl.core.lint.setup import Process, Setup
from stackctl.core.lint.values import Hit, Place, Rule

SPARSE = "SGLANG_OPT_FLASHMLA_SPARSE_PREFILL"
MOST_ROWS = 11673  # _LARGE_INDEXER_QUERY_THRESHOLD: above it the sparse kernel is taken whatever the variable says
KEY_BYTES = 512  # an index key as 128 float32
TOKENS_A_KEY = 4
PAGE_KEYS = 64
GIB = 1 << 30


def _sparse(setup: Setup) -> Iterator[Hit]:
    if not is_v4(setup) or patched(setup, "prefill-dispatch"):
        return
    default = setup.at("==0.5.15")
    for process in setup.on_sm120:
        if process.role != "decode":
            yield from _sparse_of(setup, process, default)


def _sparse_of(setup: Setup, process: Process, default: bool) -> Iterator[Hit]:
    variable = switch(process, SPARSE)
    on = default if variable is None else variable
    if default and prefill_cp(process):
        on = False  # sglang sets it itself
    hint = f"add the patch sm120/prefill-dispatch, or set {SPARSE}=0 and chunks of at most {MOST_ROWS} tokens"
    if on:
        place = at_env(process, SPARSE) if SPARSE in process.env else Place("key", "patches")
        why = "by default" if variable is None else "with this variable"
        kernel = f"{engine(setup)} prefills DeepSeek-V4 {why} with a kernel of SM90 and SM100"
        message = f"{kernel}: no prompt works on SM120{unless_patched(setup)}"
        yield Hit(message, place, hint, unpatched(setup))
    elif (rows := _rows(process)) is not None and not 0 < rows <= MOST_ROWS:
        many = "chunks without a limit" if rows <= 0 else f"chunks above {MOST_ROWS} tokens"
        message = f"{many} go to a kernel of SM90 and SM100, whatever {SPARSE} says{unless_patched(setup)}"
        yield Hit(message, at_flag(process, "chunked-prefill-size"), hint, unpatched(setup))


def _rows(process: Process) -> int | None:
    """Rows of a prefill batch, as far as the command says; DP attention divides the chunk."""
    chunk = count(process, "chunked-prefill-size")
    if chunk is None or chunk <= 0 or not process.on("enable-dp-attention"):
        return chunk
    return chunk // max(count(process, "dp-size") or 1, 1)


def _logits(setup: Setup) -> Iterator[Hit]:
    if not is_v4(setup) or patched(setup, "paged-logits-triton"):
        return
    for process in setup.on_sm120:
        context, memory = count(process, "context-length"), process.card.memory if process.card else None
        share = process.number("mem-fraction-static")
        flag = "max-running-requests" if process.role == "decode" else "chunked-prefill-size"
        rows = count(process, flag) if process.role == "decode" else _rows(process)
        if not (context and memory and share and 0 < share < 1 and rows and rows > 0) or switch(
            process, "SGLANG_OPT_USE_TILELANG_INDEXER"
        ):
            continue
        needed, free = index_logits(rows, context), (1 - share) * memory
        if needed > free:
            message = (
                f"index logits of {rows} rows at {context} tokens gather up to {needed / GIB:.1f} GiB as float32, and "
                f"mem-fraction-static {share:g} leaves {free / GIB:.1f} GiB of a card"
                f"{unless_patched(setup)}"
            )
            hint = "add the patch index-k/paged-logits-triton, or take a smaller chunk or context-length"
            yield Hit(message, at_flag(process, flag), hint, unpatched(setup))


def index_logits(rows: int, context: int) -> int:
    """Bytes of all index keys that one layer gathers: one key for four tokens, padded to pages of 64 keys."""
    keys = -(-context // TOKENS_A_KEY)
    return rows * -(-keys // PAGE_KEYS) * PAGE_KEYS * KEY_BYTES


RULES = (
    Rule(
        "SM120-SPARSE-PREFILL",
        "error",
        _sparse,
        "sparse prefill of DeepSeek-V4 on SM120",
        "flash_mla_sparse_fwd exists for SM90a and SM100f. At 0.5.15 it is the default and the dispatch does not look "
        "at the card; at 0.5.13 and 0.5.14 it is off until the variable or a long chunk takes it. 0.5.16 looks.",
        (
            source("0.5.15", "srt/layers/attention/deepseek_v4_backend.py"),
            source("0.5.15", "srt/environ.py"),
            issue(31578),
            pull(30272),
        ),
        versions=">=0.5.13,<0.5.16",
    ),
    Rule(
        "INDEX-LOGITS-MEMORY",
        "warning",
        _logits,
        "index logits of DeepSeek-V4 that do not fit beside the pools on SM120",
        "Up to 0.5.15 the torch path gathers every index key of every row as float32: rows x context / 4 x 512 bytes "
        "in a layer. What mem-fraction-static leaves is for activations and graphs too. 0.5.16 goes by chunks of rows.",
        (
            source("0.5.15", "srt/layers/attention/dsv4/indexer.py"),
            source("0.5.16", "srt/layers/attention/dsv4/indexer.py"),
        ),
        versions=">=0.5.13,<0.5.16",
    ),
)
