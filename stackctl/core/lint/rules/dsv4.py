"""DeepSeek-V4 on any card: the base that has it, and the settings that sglang replaces or refuses for it.

sglang checks these in `apply_deepseek_v4_defaults`, minutes into a start, or only writes a line of log.
"""

from __future__ import annotations

from collections.abc import Iterator

from stackctl.core.lint.known.asked import BASE, at_env, at_flag, has_experts, is_v4, said, switch
from stackctl.core.lint.known.evidence import issue, pull, source
from stackctl.core.lint.known.wording import engine
from stackctl.core.lint.setup import Setup
from stackctl.core.lint.values import Hit, Place, Rule

HOOK = "srt/arg_groups/deepseek_v4_hook.py"
NATIVE_NAMES = ("dsv4", "compressed")  # the second is the old name of the first
FIRST_SM = 90


def _version(setup: Setup) -> Iterator[Hit]:
    if setup.model.family != "deepseek-v4":
        return
    if setup.at("<0.5.12"):
        yield Hit(f"{engine(setup)} does not know the architecture of DeepSeek-V4", BASE, "take a base from 0.5.12 on")
    elif setup.model.experts == "nvfp4":
        message = f"{engine(setup)} cannot load NVFP4 experts beside FP8 layers, as this checkpoint has them"
        yield Hit(message, BASE, "take a base from 0.5.14 on")


def _arch(setup: Setup) -> Iterator[Hit]:
    if not is_v4(setup):
        return
    for process in setup.engines:
        number = (process.card.arch or "" if process.card else "").removeprefix("sm_").rstrip("af")
        if number.isdigit() and int(number) < FIRST_SM:
            message = f"DeepSeek-V4 may have no kernels for compute capability {number[:-1]}.{number[-1]}"
            yield Hit(message, Place("key", "host", process.id), "take a card of compute capability 9.0 or newer")


def _attention(setup: Setup) -> Iterator[Hit]:
    if not is_v4(setup):
        return
    for process in setup.engines:
        name = said(process, "attention-backend")
        if name and name not in NATIVE_NAMES:
            message = f"{engine(setup)} replaces {name} by dsv4 for DeepSeek-V4"
            yield Hit(message, at_flag(process, "attention-backend"), "leave it out, or write dsv4")
        for flag in ("prefill-attention-backend", "decode-attention-backend"):
            name = said(process, flag)
            if name and name not in NATIVE_NAMES:
                message = f"{name} is not replaced by dsv4 here and may not serve DeepSeek-V4"
                yield Hit(message, at_flag(process, flag), "leave it out", "error")


def _page(setup: Setup) -> Iterator[Hit]:
    for process in setup.engines if is_v4(setup) else ():
        size = said(process, "page-size")
        if size and size != "256":
            message = f"{engine(setup)} replaces page size {size} by 256 for DeepSeek-V4"
            yield Hit(message, at_flag(process, "page-size"), "leave it out")


def _kv(setup: Setup) -> Iterator[Hit]:
    known = ("auto", "fp8_e4m3", "bfloat16") if setup.at(">=0.5.14") else ("auto", "fp8_e4m3")
    for process in setup.engines if is_v4(setup) else ():
        dtype = said(process, "kv-cache-dtype")
        place = at_flag(process, "kv-cache-dtype")
        if dtype and dtype not in known:
            yield Hit(
                f"{engine(setup)} stops at start: DeepSeek-V4 has no KV cache of {dtype}", place, "write fp8_e4m3"
            )
        elif dtype == "bfloat16" and process in setup.on_sm120:
            message = "the SM120 kernels read a packed FP8 KV cache: bfloat16 may fail or give wrong text"
            yield Hit(message, place, "write fp8_e4m3", "warning")


def _fp4_experts(setup: Setup) -> Iterator[Hit]:
    if not has_experts(setup, "mxfp4", "fp8"):
        return
    name = "SGLANG_DSV4_FP4_EXPERTS"
    stored = "FP4" if setup.model.experts == "mxfp4" else "FP8"
    for process in setup.engines:
        wanted = switch(process, name)
        if wanted is None or wanted == (stored == "FP4") or switch(process, "SGLANG_DSV4_FP4_DEQUANT") is not None:
            continue
        message = f"{name}={process.env[name]}, but the experts are stored as {stored}: shapes will not match at load"
        yield Hit(message, at_env(process, name), "leave it unset: sglang looks into the checkpoint")


RULES = (
    Rule(
        "DSV4-VERSION",
        "error",
        _version,
        "a base that is too old for DeepSeek-V4",
        "DeepseekV4ForCausalLM came with 0.5.12, checkpoints with FP8 layers and NVFP4 experts with 0.5.14. An older "
        "base stops at the architecture, or loads NVFP4 experts as something else.",
        (source("0.5.12", HOOK), source("0.5.14", "srt/layers/quantization/modelopt_quant.py")),
        versions="<0.5.14",
    ),
    Rule(
        "DSV4-ARCH",
        "error",
        _arch,
        "DeepSeek-V4 on a card older than compute capability 9.0",
        "FlashMLA, DeepGEMM and the FP4 experts want 9.0 or newer; reports from 8.9 needed a pull request that was "
        "not merged in any release read.",
        (issue(29747), pull(28620)),
        versions=">=0.5.12",
        doubt=True,
    ),
    Rule(
        "DSV4-ATTN",
        "warning",
        _attention,
        "an attention backend other than dsv4",
        "For DeepSeek-V4 sglang writes dsv4 over --attention-backend and says so in one line of its log. The separate "
        "backends of prefill and decode are not overwritten on CUDA: there the other one would really run.",
        (
            source("0.5.15", "srt/arg_groups/overrides.py"),
            source("0.5.23", "srt/arg_groups/model_overrides/deepseek_v4.py"),
        ),
        versions=">=0.5.12",
    ),
    Rule(
        "DSV4-PAGE",
        "warning",
        _page,
        "a page size other than 256",
        "For DeepSeek-V4 sglang writes 256 over --page-size. What else counts in pages (chunks, cache) then differs "
        "from what the stack says.",
        (
            source("0.5.15", "srt/arg_groups/overrides.py"),
            source("0.5.23", "srt/arg_groups/model_overrides/deepseek_v4.py"),
        ),
        versions=">=0.5.12",
    ),
    Rule(
        "DSV4-KV",
        "error",
        _kv,
        "a KV cache dtype that DeepSeek-V4 does not have",
        "sglang asserts fp8_e4m3 at 0.5.12 and 0.5.13, fp8_e4m3 or bfloat16 from 0.5.14 on; the spelling bf16 is "
        "among the flag's choices and still refused. The kernels for SM120 read the packed FP8 layout.",
        (
            source("0.5.13", HOOK),
            source("0.5.15", "srt/arg_groups/overrides.py"),
            source("0.5.23", "srt/arg_groups/overrides.py"),
        ),
        versions=">=0.5.12",
    ),
    Rule(
        "DSV4-FP4-EXPERTS-MISMATCH",
        "error",
        _fp4_experts,
        "SGLANG_DSV4_FP4_EXPERTS against what the checkpoint holds",
        "The variable wins over what sglang reads in the checkpoint's headers. A wrong one makes weights of other "
        "shapes than those on disk.",
        (source("0.5.15", "srt/configs/model_config.py"), pull(28620)),
        versions=">=0.5.12",
    ),
)
