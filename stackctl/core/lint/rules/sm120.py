"""The RTX PRO 6000 and its kin (compute capability 12.x): attention and the FP4 indexer.

SM120 is called Blackwell and lacks what datacenter Blackwell (SM100) has, tcgen05 and TMEM: kernels built for one
stop or are missing on the other. These rules speak only where the host's card is known.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from stackctl.core.lint.known.asked import BASE, at_flag, is_v4, said
from stackctl.core.lint.known.evidence import issue, pull, source
from stackctl.core.lint.known.wording import engine
from stackctl.core.lint.setup import Process, Setup
from stackctl.core.lint.values import Hit, Rule

MISSING_DSA = ("trtllm", "flashmla_sparse", "flashmla_kv", "flashmla_auto", "fa3")
TILELANG = "write tilelang for --dsa-prefill-backend and --dsa-decode-backend, and --kv-cache-dtype bfloat16"
OTHER_GLM = re.compile(r"glm[-_ ]?5[.]3", re.I)  # its attention is not the one that sglang has a backend for here


def _trtllm_mla(setup: Setup) -> Iterator[Hit]:
    for process in setup.on_sm120:
        for flag in ("attention-backend", "prefill-attention-backend", "decode-attention-backend"):
            if flag == "attention-backend" and setup.model.is_v4:
                continue  # it is replaced by dsv4
            if said(process, flag) == "trtllm_mla":
                message = "trtllm_mla has no kernels for SM120, although sglang lets it pass"
                yield Hit(message, at_flag(process, flag), "leave it out, or write triton or flashinfer")


def _trtllm_mha(setup: Setup) -> Iterator[Hit]:
    for process in setup.on_sm120:
        flag = "prefill-attention-backend"
        if not process.given(flag) and not setup.model.is_v4:
            flag = "attention-backend"
        if said(process, flag) != "trtllm_mha":
            continue
        place = at_flag(process, flag)
        if setup.at("<0.5.19"):
            message = f"{engine(setup)} stops at start: trtllm_mha prefills on SM100 only"
            yield Hit(message, place, "take another prefill backend")
        elif process.text("kv-cache-dtype") == "fp8_e4m3":
            message = f"{engine(setup)} stops at start: trtllm_mha on SM120 does not prefill with an fp8_e4m3 KV cache"
            yield Hit(message, place, "take another prefill backend, or another KV cache dtype")


def _version(setup: Setup) -> Iterator[Hit]:
    if setup.model.family == "deepseek-v4" and setup.on_sm120:
        message = f"{engine(setup)} has no SM120 kernels for DeepSeek-V4"
        yield Hit(message, BASE, "take a base from 0.5.13 on, or patches that bring them")


def _fp4_indexer(setup: Setup) -> Iterator[Hit]:
    flag = "enable-deepseek-v4-fp4-indexer"
    for process in setup.on_sm120 if is_v4(setup) else ():
        if not process.on(flag):
            continue
        if setup.at("<0.5.17"):
            yield Hit(f"{engine(setup)} has no FP4 indexer for SM120", at_flag(process, flag), "leave it out")
        else:
            message = "the FP4 indexer may cost accuracy: 95.5 to 93.0 on GSM8K was reported"
            hint = "leave it out; it also needs a DeepGEMM with SM120 kernels"
            yield Hit(message, at_flag(process, flag), hint, "warning")


def _dsv4_backend(setup: Setup) -> Iterator[Hit]:
    for process in setup.on_sm120 if is_v4(setup) else ():
        name = said(process, "dsv4-attn-backend")
        if name == "trtllm" or (name == "flashmla_mega" and setup.at(">=0.5.23")):  # no choice before
            message = f"{engine(setup)} stops at start: {name} is for SM100 and SM103"
            yield Hit(message, at_flag(process, "dsv4-attn-backend"), "write flashmla or auto")


def _dsa(setup: Setup) -> Iterator[Hit]:
    if setup.model.family not in ("glm-dsa", "deepseek-v3.2"):
        return
    for process in setup.on_sm120:
        taken = dict(_chosen(setup, process))
        lacking = sorted({name for name in taken.values() if name in MISSING_DSA})
        if lacking:
            message = f"left to itself sglang takes {' and '.join(lacking)} here, which SM120 may not have"
            yield Hit(message, at_flag(process, f"dsa-{min(taken)}-backend"), TILELANG)


def _dsa_trtllm(setup: Setup) -> Iterator[Hit]:
    for process in setup.on_sm120:
        for flag in (f"{kind}-{phase}-backend" for kind in ("dsa", "nsa") for phase in ("prefill", "decode")):
            option = process.given(flag)
            if said(process, flag) == "trtllm" and option is not None and option.name == flag:
                message = "trtllm's sparse attention was reported to end with `Unsupported architecture` on SM120"
                yield Hit(message, at_flag(process, flag), TILELANG)


def _chosen(setup: Setup, process: Process) -> Iterator[tuple[str, str]]:
    """The backends that sglang fills in, as `_dsa_split_backend_resolution` does on compute capability 12."""
    fp8 = (process.text("kv-cache-dtype") or "auto") in ("auto", "fp8_e4m3")
    own = fp8 and setup.model.family == "glm-dsa" and not OTHER_GLM.search(setup.model.path) and setup.at(">=0.5.17")
    if own:
        return
    for phase in ("prefill", "decode"):
        if not (said(process, f"dsa-{phase}-backend") or said(process, f"nsa-{phase}-backend")):
            yield phase, "trtllm" if fp8 or phase == "decode" else "flashmla_sparse"


RULES = (
    Rule(
        "SM120-TRTLLM-MLA",
        "error",
        _trtllm_mla,
        "trtllm_mla attention on SM120",
        "sglang lets it pass on every Blackwell card, but the trtllm-gen kernels behind it are built for SM100.",
        (issue(17880), issue(24633), source("0.5.15", "srt/arg_groups/overrides.py")),
    ),
    Rule(
        "SM120-TRTLLM-MHA-FP8",
        "error",
        _trtllm_mha,
        "trtllm_mha prefill on SM120",
        "Refused on SM120 before 0.5.19 whatever the KV cache; from then on with an fp8_e4m3 KV cache.",
        (source("0.5.15", "srt/server_args.py"), source("0.5.19", "srt/arg_groups/attention_hook.py")),
        versions=">=0.5.9",
    ),
    Rule(
        "SM120-DSV4-VERSION",
        "error",
        _version,
        "DeepSeek-V4 on SM120 with a base that has no kernels for it",
        "0.5.12 has the model; the split-K attention and the index logits for SM120 came with 0.5.13.",
        (pull(24692), source("0.5.13", "srt/layers/attention/flash_mla_sm120.py")),
        versions="<0.5.13",
    ),
    Rule(
        "SM120-FP4-INDEXER",
        "error",
        _fp4_indexer,
        "the FP4 indexer of DeepSeek-V4 on SM120",
        "Refused before 0.5.17; allowed after, with a DeepGEMM that has the kernels. A lower score was reported.",
        (
            pull(27059),
            source("0.5.15", "srt/server_args.py"),
            source("0.5.17", "srt/server_args.py"),
            source("0.5.23", "srt/arg_groups/serving_hook.py"),
        ),
        versions=">=0.5.12",
    ),
    Rule(
        "SM120-DSV4-ATTN",
        "error",
        _dsv4_backend,
        "an attention backend of DeepSeek-V4 that is for SM100 only",
        "trtllm and flashmla_mega are asserted to run on SM100 or SM103.",
        (
            source("0.5.20", "srt/arg_groups/deepseek_v4_hook.py"),
            source("0.5.23", "srt/arg_groups/deepseek_v4_hook.py"),
        ),
        versions=">=0.5.20",
    ),
    Rule(
        "SM120-DSA-AUTO",
        "warning",
        _dsa,
        "sparse attention of GLM 5 or DeepSeek-V3.2 left to sglang on SM120",
        "sglang takes trtllm on every card of compute capability 10 and above. From 0.5.17 GLM with an FP8 KV cache "
        "gets flashinfer_sparse_mla here, which GLM-5.3 does not fit.",
        (
            issue(37105),
            issue(39302),
            source("0.5.15", "srt/arg_groups/overrides.py"),
            source("0.5.23", "srt/arg_groups/overrides.py"),
        ),
        versions=">=0.5.13",
        doubt=True,
    ),
    Rule(
        "SM120-DSA-TRTLLM",
        "warning",
        _dsa_trtllm,
        "trtllm as a backend of sparse attention on SM120",
        "sglang lets it pass on every card of compute capability 10 and above; the trtllm-gen kernels behind it are "
        "built for SM100. Reports end in FlashInfer, while it tunes or when the first graph is captured.",
        (issue(40558), pull(29580)),
        doubt=True,
    ),
)
