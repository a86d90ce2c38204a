"""Experts on SM120: runners whose kernels are for other cards, and what DeepSeek-V4's experts need of them.

trtllm-gen, MegaMoE and (up to 0.5.19) DeepGEMM are not for SM120. What runs there is marlin, triton, FlashInfer's
CUTLASS, and from 0.5.16 flashinfer_mxfp4 by way of CUTLASS.
"""

from __future__ import annotations

from collections.abc import Iterator

from stackctl.core.lint.known.asked import at_flag, count, has_experts, patched, runner, said
from stackctl.core.lint.known.evidence import issue, pull, source
from stackctl.core.lint.known.wording import engine
from stackctl.core.lint.setup import Process, Setup
from stackctl.core.lint.values import Hit, Rule, Severity

MOE = "moe-runner-backend"
QUANT = "srt/layers/quantization/modelopt_quant.py"


def _trtllm(setup: Setup) -> Iterator[Hit]:
    hint = "write marlin" if setup.model.is_v4 else "write triton, or flashinfer_cutlass for NVFP4, or leave it out"
    for process in setup.on_sm120:
        for flag in (MOE, "speculative-moe-runner-backend"):
            name = said(process, flag)
            if name in ("flashinfer_trtllm", "flashinfer_trtllm_routed"):
                yield Hit(f"{name} has kernels for SM100 only", at_flag(process, flag), hint)


def _megamoe(setup: Setup) -> Iterator[Hit]:
    for process in setup.on_sm120:
        for flag, none in ((MOE, "write marlin or auto"), ("moe-a2a-backend", "write none")):
            name = said(process, flag)
            if name == "megamoe":
                yield Hit("MegaMoE is for SM90 and SM100 only", at_flag(process, flag), none)
            elif name == "flashinfer_megamoe":
                message = "FlashInfer's MegaMoE may need a pull request for SM120"
                yield Hit(message, at_flag(process, flag), none, "warning")


def _deepgemm(setup: Setup) -> Iterator[Hit]:
    old = setup.at("<0.5.20")
    for process in setup.on_sm120:
        for flag in (MOE, "fp8-gemm-backend"):
            if said(process, flag) != "deep_gemm":
                continue
            if old:
                message = f"{engine(setup)} has no DeepGEMM on SM120"
                yield Hit(message, at_flag(process, flag), "write triton")
            else:
                message = "DeepGEMM on SM120 needs a build that has its kernels, else sglang switches it off"
                yield Hit(message, at_flag(process, flag), "write triton, or install such a build", "warning")


def _fp8_cutlass(setup: Setup) -> Iterator[Hit]:
    if setup.model.experts != "fp8":
        return
    for process in setup.on_sm120:
        if runner(process) == "cutlass":
            message = "the grouped blockwise FP8 kernel of cutlass may be missing on SM120"
            yield Hit(message, at_flag(process, MOE), "write triton")


def _marlin_ep(setup: Setup) -> Iterator[Hit]:
    if setup.model.experts not in ("mxfp4", "nvfp4"):
        return
    for process in setup.on_sm120:
        auto = runner(process) == "auto" and has_experts(setup, "mxfp4")
        if (count(process, "ep-size") or 1) > 1 and (runner(process) == "marlin" or auto):
            surely = setup.model.experts == "mxfp4"
            crash = "crashes" if surely else "may crash"
            message = (
                f"marlin with {'MXFP4' if surely else 'NVFP4'} experts {crash} on those that no token is routed to"
            )
            yield Hit(message, at_flag(process, "ep-size"), "write 1", None if surely else "warning")


def _mxfp4(setup: Setup) -> Iterator[Hit]:
    for process in setup.on_sm120 if has_experts(setup, "mxfp4") else ():
        if runner(process) == "flashinfer_mxfp4":
            message = f"at {engine(setup)} flashinfer_mxfp4 takes the SM100 kernels on SM120"
            yield Hit(message, at_flag(process, MOE), "write marlin, or take a base from 0.5.16 on")


def _nvfp4_auto(setup: Setup) -> Iterator[Hit]:
    if patched(setup, "sm120-moe-runner"):
        return
    for process in setup.on_sm120 if has_experts(setup, "nvfp4") else ():
        if runner(process) == "auto":
            message = f"{engine(setup)} takes flashinfer_trtllm_routed for these experts, which SM120 does not have"
            yield Hit(message, at_flag(process, MOE), f"write --{MOE} marlin")


def _nvfp4_mtp(setup: Setup) -> Iterator[Hit]:
    if patched(setup, "sm120-moe-runner"):
        return
    sure = setup.stack is not None and setup.at("==0.5.15")  # the base that the patch is for: it is not applied
    severity: Severity | None = "error" if sure else None
    for process in setup.on_sm120 if has_experts(setup, "nvfp4") else ():
        if (said(process, "speculative-algorithm") or "").upper() in ("EAGLE", "NEXTN"):
            message = "the MTP layer of this checkpoint takes an SM100 method, so speculation may fail on SM120"
            hint = "leave speculation out, or add the patch nvfp4/sm120-moe-runner"
            yield Hit(message, at_flag(process, "speculative-algorithm"), hint, severity)


def _clamp(setup: Setup) -> Iterator[Hit]:
    for process in setup.engines if has_experts(setup, "nvfp4") else ():
        name = runner(process)
        place = at_flag(process, MOE)
        if name == "flashinfer_cutlass" and setup.at("<0.5.21") and not patched(setup, "sm120-moe-runner"):
            message = (
                f"flashinfer_cutlass drops the SwiGLU clamp of NVFP4 experts at {engine(setup)}: outputs quietly differ"
            )
            yield Hit(message, place, "write marlin")
        elif name in ("triton", "cutlass") and setup.at("<0.5.16"):
            message = (
                f"{name} means the direct CUTLASS FP4 path here, which drops the SwiGLU clamp: outputs quietly differ"
            )
            yield Hit(message, place, "write marlin", "error")
        elif name in ("triton", "cutlass"):
            yield Hit(f"{engine(setup)} has no {name} for NVFP4 experts", place, "write marlin", "error")


def _deepep(setup: Setup) -> Iterator[Hit]:
    for process in setup.on_sm120:
        if said(process, "moe-a2a-backend") == "deepep":
            message = "the official image builds DeepEP without compute capability 12.0"
            yield Hit(message, at_flag(process, "moe-a2a-backend"), "write none, or bring your own build")


def _deepep_buffer(setup: Setup) -> Iterator[Hit]:
    name = "SGLANG_DEEPEP_NUM_MAX_DISPATCH_TOKENS_PER_RANK"
    for process in setup.engines:
        running, drafts = count(process, "max-running-requests"), _drafts(process)
        limit = process.env.get(name, "128")
        eager = said(process, "deepep-mode") == "normal" or process.role == "prefill"
        if eager or said(process, "moe-a2a-backend") != "deepep" or not (running and drafts and limit.isdecimal()):
            continue
        needed = -(-running // _ranks(process)) * drafts
        if needed > int(limit):
            message = f"{needed} tokens a rank may be dispatched at once, and DeepEP's buffer has room for {limit}"
            yield Hit(
                message, at_flag(process, "max-running-requests"), f"set {name}={needed}, or allow fewer requests"
            )


def _drafts(process: Process) -> int | None:
    """Tokens that one request decodes in a step."""
    return count(process, "speculative-num-draft-tokens") if process.given("speculative-algorithm") else 1


def _ranks(process: Process) -> int:
    """Ranks that share the running requests: all, since tokens are scattered over the ranks before dispatch."""
    return max(count(process, "tp-size") or 1, 1)


RULES = (
    Rule(
        "SM120-MOE-TRTLLM",
        "error",
        _trtllm,
        "trtllm-gen experts on SM120",
        "sglang's own comment: trtllm-gen MoE kernels are SM100-only.",
        (issue(17880), source("0.5.15", "srt/arg_groups/overrides.py")),
    ),
    Rule(
        "SM120-DSV4-NVFP4-AUTO",
        "error",
        _nvfp4_auto,
        "the runner of NVFP4 experts of DeepSeek-V4 left to sglang on SM120",
        "For this checkpoint `auto` becomes flashinfer_trtllm_routed before sglang looks at the card, from 0.5.14 to "
        "0.5.23, and the fallback for SM120 asks for `auto`.",
        (
            source("0.5.15", "srt/arg_groups/overrides.py"),
            source("0.5.23", "srt/arg_groups/model_overrides/deepseek_v4.py"),
        ),
        versions=">=0.5.14",
    ),
    Rule(
        "SM120-MEGAMOE",
        "error",
        _megamoe,
        "MegaMoE on SM120",
        "It runs DeepGEMM kernels over symmetric memory, for SM90 and SM100; 0.5.23 refuses other cards.",
        (pull(38321), source("0.5.23", "srt/arg_groups/mega_moe_hook.py")),
        versions=">=0.5.12",
    ),
    Rule(
        "SM120-DEEPGEMM",
        "error",
        _deepgemm,
        "DeepGEMM by name on SM120",
        "Switched off from 0.5.13 to 0.5.19, so a backend of that name stops the start; from 0.5.20 it is used when "
        "the installed build has the kernels.",
        (
            source("0.5.15", "srt/layers/deep_gemm_wrapper/configurer.py"),
            source("0.5.20", "srt/layers/deep_gemm_wrapper/configurer.py"),
        ),
        versions=">=0.5.9",
    ),
    Rule(
        "SM120-FP8-BLOCK-MOE",
        "warning",
        _fp8_cutlass,
        "FP8 experts with runner cutlass on SM120",
        "sglang lets it pass; a missing grouped blockwise kernel was reported.",
        (pull(28125), source("0.5.15", "srt/layers/quantization/fp8.py")),
        doubt=True,
    ),
    Rule(
        "SM120-MXFP4-MARLIN-EP",
        "error",
        _marlin_ep,
        "marlin experts with expert parallelism on SM120 before 0.5.16",
        "The cache that masked experts share was not zeroed before 0.5.16. For native DeepSeek-V4 `auto` is marlin.",
        (pull(30272), source("0.5.15", "srt/layers/moe/fused_moe_triton/fused_marlin_moe.py")),
        versions="<0.5.16",
    ),
    Rule(
        "DEEPEP-SM120",
        "warning",
        _deepep,
        "DeepEP on SM120",
        "The Dockerfile that was read builds DeepEP for 9.0, 10.0 and 10.3.",
        ("https://github.com/sgl-project/sglang/blob/v0.5.15/docker/Dockerfile",),
        doubt=True,
    ),
    Rule(
        "DEEPEP-BUFFER",
        "error",
        _deepep_buffer,
        "more tokens a rank than DeepEP's low-latency buffer holds",
        "Requests in a step times draft tokens, shared out over the ranks, against the buffer, which is 128 tokens a "
        "rank when unset. sglang's recipes set it to requests times draft tokens.",
        (source("0.5.15", "srt/layers/moe/token_dispatcher/deepep.py"), source("0.5.15", "srt/environ.py")),
        doubt=True,
    ),
    Rule(
        "SM120-MXFP4-FLASHINFER",
        "error",
        _mxfp4,
        "flashinfer_mxfp4 for native DeepSeek-V4 on SM120 before 0.5.16",
        "The choice of kernels asks for SM90 and else takes trtllm-gen; 0.5.16 takes CUTLASS on SM120.",
        (
            source("0.5.15", "srt/layers/quantization/fp8.py"),
            source("0.5.16", "srt/layers/quantization/fp8.py"),
            pull(30272),
        ),
        versions=">=0.5.12,<0.5.16",
    ),
    Rule(
        "DSV4-NVFP4-MTP",
        "warning",
        _nvfp4_mtp,
        "speculation with NVFP4 experts of DeepSeek-V4 on SM120",
        "The MTP layer stays MXFP4 and gets Mxfp4FlashinferTrtllmMoEMethod whatever the runner and the card, from "
        "0.5.14 to 0.5.23. That it fails on SM120 is inferred.",
        (source("0.5.15", QUANT), source("0.5.23", QUANT)),
        versions=">=0.5.14",
        doubt=True,
    ),
    Rule(
        "NVFP4-CUTLASS-CLAMP",
        "warning",
        _clamp,
        "NVFP4 experts of DeepSeek-V4 with a runner that drops the SwiGLU clamp, or that is none",
        "DeepSeek-V4 limits its activations. marlin and trtllm apply the limit; FlashInfer's CUTLASS gets it from "
        "0.5.21 on. Up to 0.5.15 other names end in the direct CUTLASS path, from 0.5.16 they are refused.",
        (source("0.5.15", QUANT), source("0.5.16", QUANT), source("0.5.21", QUANT), pull(28326)),
        versions=">=0.5.14",
    ),
)
