"""DeepSeek-V4 with speculation, parallelism and the host cache: what sglang refuses, and what was reported.

The refusals are `apply_deepseek_v4_defaults` and `validate_deepseek_v4_cp`, which run before sglang fills values in.
"""

from __future__ import annotations

from collections.abc import Iterator

from stackctl.core.lint.known.asked import at_flag, count, is_v4, is_v41, prefill_cp, said
from stackctl.core.lint.known.evidence import issue, source
from stackctl.core.lint.known.wording import engine, listed
from stackctl.core.lint.setup import Option, Process, Setup
from stackctl.core.lint.values import Hit, Rule

HOOK = "srt/arg_groups/deepseek_v4_hook.py"
LONG_CHUNK = 16384
CP_A2A = ("none", "deepep", "megamoe", "mori")
CP_FORMS = {
    "cp-strategy": ("zigzag", "interleave"),
    "dsa-prefill-cp-mode": ("in-seq-split", "round-robin-split"),
    "nsa-prefill-cp-mode": ("in-seq-split", "round-robin-split"),
}


def _speculation(setup: Setup) -> Iterator[Hit]:
    if not is_v4(setup):
        return
    known = ("DSPARK",) if is_v41(setup) else ("EAGLE", "DSPARK") if setup.at(">=0.5.16") else ("EAGLE",)
    for process in setup.engines:
        name = said(process, "speculative-algorithm")
        if not name:
            continue
        if name not in known:
            same = " (a second name of EAGLE that is compared before it is resolved)" if name == "NEXTN" else ""
            message = f"{engine(setup)} refuses {name} for {_model(setup)}{same}"
            yield Hit(message, at_flag(process, "speculative-algorithm"), f"write {listed(known)}")
        elif name == "EAGLE" and said(process, "speculative-eagle-topk") != "1":
            topk = said(process, "speculative-eagle-topk")
            message = f"{engine(setup)} takes EAGLE for DeepSeek-V4 with topk 1 only, " + (
                f"not {topk}" if topk else "and does not fill it in before it looks"
            )
            flag = "speculative-eagle-topk" if topk else "speculative-algorithm"
            yield Hit(message, at_flag(process, flag), "write --speculative-eagle-topk 1")


def _model(setup: Setup) -> str:
    return "DeepSeek-V4.1" if is_v41(setup) else "DeepSeek-V4"


def _pd_pp(setup: Setup) -> Iterator[Hit]:
    for process in setup.engines if is_v4(setup) else ():
        pd = process.role in ("prefill", "decode") or said(process, "disaggregation-mode") in ("prefill", "decode")
        if pd and (count(process, "pp-size") or 1) > 1:
            message = f"{engine(setup)} refuses pipeline parallelism for DeepSeek-V4 under PD"
            yield Hit(message, at_flag(process, "pp-size"), "write 1, or take a base from 0.5.13 on")


def _cp(setup: Setup) -> Iterator[Hit]:
    for process in setup.engines if is_v4(setup) else ():
        if switched := prefill_cp(process):
            yield from _cp_of(setup, process, switched)


def _cp_of(setup: Setup, process: Process, switched: Option) -> Iterator[Hit]:
    for flag, (bad, good) in CP_FORMS.items():
        if said(process, flag) == bad:
            yield Hit(f"{engine(setup)} refuses {bad} for DeepSeek-V4", at_flag(process, flag), f"write {good}")
    unsaid = not said(process, "cp-strategy") and setup.at(">=0.5.14")
    if unsaid and not any("sa-prefill" in option.name for option in process.options):
        meant = "means zigzag" if switched.name == "enable-prefill-context-parallel" else "needs a strategy"
        message = f"{switched.name} alone {meant}; DeepSeek-V4 takes interleave only"
        yield Hit(message, at_flag(process, switched.name), "write --cp-strategy interleave")
    for flag in ("dp-size", "attn-dp-size"):
        if (count(process, flag) or 1) > 1:
            message = "context parallelism of prefill and data parallelism do not go together for DeepSeek-V4"
            yield Hit(message, at_flag(process, flag), "write 1")
    if (count(process, "tp-size") or 1) > 8:
        message = "context parallelism of prefill is for one machine: DeepSeek-V4 with it takes at most 8 cards"
        yield Hit(message, at_flag(process, "tp-size"), "write 8 or less")
    known = CP_A2A if setup.at(">=0.5.19") else CP_A2A[:-1]
    if setup.at(">=0.5.17") and (said(process, "moe-a2a-backend") or "none") not in known:
        message = f"{engine(setup)} refuses {said(process, 'moe-a2a-backend')} with context parallelism of DeepSeek-V4"
        yield Hit(message, at_flag(process, "moe-a2a-backend"), f"write {listed(known)}")


def _hicache(setup: Setup) -> Iterator[Hit]:
    for process in setup.engines if is_v4(setup) else ():
        if process.on("enable-hierarchical-cache") and (count(process, "chunked-prefill-size") or 0) >= LONG_CHUNK:
            message = "a scheduler hang was reported for DeepSeek-V4 with the host cache and chunks of 16K"
            place = at_flag(process, "enable-hierarchical-cache")
            yield Hit(message, place, "take smaller chunks or another release, or test under load first")


def _eagle_graph(setup: Setup) -> Iterator[Hit]:
    for process in setup.engines if is_v4(setup) else ():
        graphs = process.given("cuda-graph-bs")
        if graphs and said(process, "speculative-algorithm") == "EAGLE" and not process.on("disable-cuda-graph"):
            message = "an illegal memory access was reported where EAGLE's verify step is padded to a graph's size"
            yield Hit(message, at_flag(process, "cuda-graph-bs"), "switch graphs off, or take a base from 0.5.13 on")


def _dp_dspark(setup: Setup) -> Iterator[Hit]:
    for process in setup.engines if is_v4(setup) else ():
        flag = next((one for one in ("attn-dp-size", "enable-dp-attention") if process.given(one)), None)
        if flag == "attn-dp-size" and (count(process, flag) or 1) < 2:
            continue
        if flag and said(process, "speculative-algorithm") == "DSPARK":
            message = "sglang's own recipes advise against DSPARK together with DP attention"
            yield Hit(message, at_flag(process, flag), "use tensor parallelism alone")


COOKBOOK = "https://github.com/sgl-project/sglang/blob/main/docs_new/cookbook/autoregressive/DeepSeek/DeepSeek-V4.mdx"
RULES = (
    Rule(
        "DSV4-SPEC",
        "error",
        _speculation,
        "speculation that DeepSeek-V4 does not have",
        "EAGLE with topk 1, from 0.5.16 also DSPARK; V4.1 only DSPARK. The check comes before sglang resolves NEXTN, "
        "upper-cases the name or fills in topk, so all three must be written out.",
        (source("0.5.15", HOOK), source("0.5.16", HOOK), source("0.5.23", HOOK)),
        versions=">=0.5.12",
    ),
    Rule(
        "DSV4-PD-PP",
        "error",
        _pd_pp,
        "DeepSeek-V4, PD and pipeline parallelism at 0.5.12",
        "The KV pointers of V4 could not be cut by layers yet; 0.5.13 can.",
        (source("0.5.12", HOOK), source("0.5.13", HOOK)),
        versions="==0.5.12",
    ),
    Rule(
        "DSV4-CP",
        "error",
        _cp,
        "context parallelism of prefill in a form that DeepSeek-V4 refuses",
        "Only interleave (round-robin-split by its old name), no data parallelism of attention, at most 8 ranks; from "
        "0.5.17 on only some all-to-all backends.",
        (source("0.5.12", HOOK), source("0.5.15", HOOK), source("0.5.17", HOOK), source("0.5.23", HOOK)),
        versions=">=0.5.12",
    ),
    Rule(
        "DSV4-HICACHE",
        "warning",
        _hicache,
        "the host cache with long chunks at 0.5.17",
        "One report of a scheduler that hangs in sparse prefill, with chunks of 16384 tokens.",
        (issue(34235),),
        versions="==0.5.17",
        doubt=True,
    ),
    Rule(
        "DSV4-EAGLE-GRAPH",
        "warning",
        _eagle_graph,
        "EAGLE with given graph sizes at 0.5.12",
        "One report of an illegal memory access in the verify step when a batch was padded to the next graph.",
        (issue(25512),),
        versions="==0.5.12",
        doubt=True,
    ),
    Rule(
        "DSV4-DPATTN-DSPARK",
        "warning",
        _dp_dspark,
        "DSPARK together with DP attention",
        "Advice of sglang's own recipes for this model; nothing refuses it.",
        (COOKBOOK,),
        versions=">=0.5.16",
        doubt=True,
    ),
)
