"""Settings of SM120 that are not about one kernel's name: variables that sglang overwrites, shared memory, NGRAM."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from stackctl.core.lint.known.asked import at_env, at_flag, is_v4, said, switch
from stackctl.core.lint.known.evidence import issue, source
from stackctl.core.lint.known.wording import engine
from stackctl.core.lint.setup import Process, Setup
from stackctl.core.lint.values import Hit, Rule

SHARED_MEMORY = 101376  # bytes a block may have on SM120


@dataclass(frozen=True)
class Forced:
    """A variable that sglang sets itself for DeepSeek-V4 on SM120, and in which releases."""

    value: bool
    versions: str


FORCED = {
    "SGLANG_OPT_USE_TOPK_V2": Forced(False, ">=0.5.13"),
    "SGLANG_OPT_FP8_WO_A_GEMM": Forced(False, ">=0.5.13,<0.5.21"),
    "SGLANG_OPT_USE_TILELANG_MHC_PRE": Forced(False, ">=0.5.13,<0.5.20"),
    "SGLANG_OPT_DEEPGEMM_HC_PRENORM": Forced(False, ">=0.5.13,<0.5.20"),
    "SGLANG_FP8_PAGED_MQA_LOGITS_TORCH": Forced(True, ">=0.5.13,<0.5.20"),
    "SGLANG_OPT_USE_TILELANG_INDEXER": Forced(True, ">=0.5.16,<0.5.20"),
}


def _forced(setup: Setup) -> Iterator[Hit]:
    for process in setup.on_sm120 if is_v4(setup) else ():
        for name, forced in FORCED.items():
            wanted = switch(process, name)
            if wanted is not None and wanted != forced.value and setup.at(forced.versions):
                kept = "on" if forced.value else "off"
                message = f"{engine(setup)} overwrites {name}: {kept} for DeepSeek-V4 on SM120"
                yield Hit(message, at_env(process, name), "leave it out")


def _shared_memory(setup: Setup) -> Iterator[Hit]:
    for process in setup.on_sm120:
        stages, width = (_knob(process, f"SGLANG_GDN_CHUNK_H_{name}") for name in ("NUM_STAGES", "BV"))
        used = (stages or 2) * (2 * 2 * 64 * 64 * 2 + 2 * 64 * (width or 32))
        if used > SHARED_MEMORY:
            name = "SGLANG_GDN_CHUNK_H_NUM_STAGES" if (stages or 0) > 2 else "SGLANG_GDN_CHUNK_H_BV"
            message = f"these tiles may need {used} bytes of shared memory; a block has {SHARED_MEMORY} on SM120"
            yield Hit(message, at_env(process, name), "take fewer stages or a smaller tile")


def _knob(process: Process, name: str) -> int | None:
    text = process.env.get(name, "")
    return int(text) if text.isdecimal() else None


def _ngram(setup: Setup) -> Iterator[Hit]:
    for process in setup.on_sm120:
        flashinfer = said(process, "attention-backend") == "flashinfer"
        if said(process, "speculative-algorithm") == "NGRAM" and flashinfer and not process.on("disable-cuda-graph"):
            message = "an illegal memory access was reported for NGRAM with flashinfer and CUDA graphs"
            yield Hit(
                message, at_flag(process, "speculative-algorithm"), "write --disable-cuda-graph, or take another base"
            )


RULES = (
    Rule(
        "SM120-ENV-FORCED",
        "warning",
        _forced,
        "a variable that sglang overwrites for DeepSeek-V4 on SM120",
        "Up to 0.5.19 sglang sets them whatever you say, from 0.5.20 most of them only where nothing is set; top-k v2 "
        "stays off at 0.5.23 too, because it needs more shared memory than the card has.",
        (
            source("0.5.15", "srt/server_args.py"),
            source("0.5.20", "srt/arg_groups/model_hook.py"),
            source("0.5.23", "srt/arg_groups/model_hook.py"),
        ),
        versions=">=0.5.13",
    ),
    Rule(
        "SM120-SMEM",
        "warning",
        _shared_memory,
        "tiles that want more shared memory than SM120 has",
        "A block has 99 KiB on SM120 and 227 KiB on SM90. The estimate counts the tiles of keys, weights and values "
        "of the chunked delta rule, 16-bit and head size 128, once a stage; other kernels have no knob.",
        (
            "https://github.com/kvcache-ai/ktransformers/issues/1570",
            source("0.5.15", "srt/layers/attention/fla/chunk_delta_h.py"),
        ),
        doubt=True,
    ),
    Rule(
        "SM120-NGRAM",
        "warning",
        _ngram,
        "NGRAM speculation with flashinfer and CUDA graphs at 0.5.10",
        "One report, every few hours of load on an RTX PRO 6000.",
        (issue(24361),),
        versions="==0.5.10",
        doubt=True,
    ),
)
