"""DeepSeek-V4.1: what its features refuse of each other. sglang has the model from 0.5.21 on.

The rules changed with every release so far (`validate_deepseek_v41_features`), so each one asks for the release.
"""

from __future__ import annotations

from collections.abc import Iterator

from stackctl.core.lint.known.asked import at_flag, count, is_v41, prefill_cp, said
from stackctl.core.lint.known.evidence import source
from stackctl.core.lint.known.wording import engine, listed
from stackctl.core.lint.setup import Process, Setup
from stackctl.core.lint.values import Hit, Rule

HOOK = "srt/arg_groups/deepseek_v4_hook.py"


def _dspark_pd(setup: Setup) -> Iterator[Hit]:
    sides = [one for one in setup.engines if one.role in ("prefill", "decode") and _speculates(one)]
    if not is_v41(setup):
        return
    known = ("mooncake",) if setup.at("==0.5.21") else ("mooncake", "nixl")
    for process in sides:
        backend = process.text("disaggregation-transfer-backend") or "mooncake"
        if backend not in known:
            message = f"{engine(setup)} refuses DSPARK of V4.1 over {backend}"
            yield Hit(message, at_flag(process, "disaggregation-transfer-backend"), f"write {listed(known)}")
        if (count(process, "dcp-size") or 1) > 1:
            message = "DSPARK of V4.1 under PD refuses context parallelism of decode"
            yield Hit(message, at_flag(process, "dcp-size"), "write 1")
        if process.role == "decode" and (option := prefill_cp(process)):
            message = "DSPARK of V4.1 under PD takes context parallelism of prefill on the prefill side only"
            yield Hit(message, at_flag(process, option.name), "leave it out of decode")
    if setup.complete and setup.at("==0.5.21"):
        yield from _sizes(sides)


def _speculates(process: Process) -> bool:
    return said(process, "speculative-algorithm") is not None


def _sizes(sides: list[Process]) -> Iterator[Hit]:
    """0.5.21 wants one TP size; later releases compare the layouts instead."""
    sizes = {process.id: count(process, "tp-size") or 1 for process in sides}
    prefill = {sizes[one.id] for one in sides if one.role == "prefill"}
    for process in sides:
        if process.role == "decode" and prefill and sizes[process.id] not in prefill:
            other = listed([str(size) for size in sorted(prefill)])
            message = f"DSPARK of V4.1 wants one TP size: prefill says {other}, decode says {sizes[process.id]}"
            yield Hit(message, at_flag(process, "tp-size"), f"write {other} on both sides")


def _graph(setup: Setup) -> Iterator[Hit]:
    if not is_v41(setup):
        return
    allowed = ("disabled",) if setup.at("==0.5.22") else ("disabled", "breakable")
    for process in setup.engines:
        if said(process, "dsv4-attn-backend") != "trtllm":
            continue
        graph = said(process, "cuda-graph-backend-prefill")
        if setup.at("==0.5.21"):
            message = f"{engine(setup)} has no trtllm attention for V4.1"
            yield Hit(message, at_flag(process, "dsv4-attn-backend"), "write flashmla, or leave it out")
        elif graph and graph not in allowed:
            message = f"trtllm attention of V4.1 refuses prefill graphs of kind {graph}"
            yield Hit(message, at_flag(process, "cuda-graph-backend-prefill"), f"write {listed(allowed)}")


RULES = (
    Rule(
        "V41-DSPARK-PD",
        "error",
        _dspark_pd,
        "DSPARK of V4.1 under PD in a form that is refused",
        "0.5.21 takes it over mooncake with one TP size on both sides; 0.5.22 and 0.5.23 over mooncake or nixl, with "
        "no context parallelism of decode.",
        (source("0.5.21", HOOK), source("0.5.22", HOOK), source("0.5.23", HOOK)),
        versions=">=0.5.21",
    ),
    Rule(
        "V41-GRAPH",
        "error",
        _graph,
        "trtllm attention of V4.1 with prefill graphs that it does not take",
        "0.5.21 refuses the backend, 0.5.22 wants prefill graphs disabled, 0.5.23 disabled or breakable.",
        (source("0.5.21", HOOK), source("0.5.22", HOOK), source("0.5.23", HOOK)),
        versions=">=0.5.21",
    ),
)
