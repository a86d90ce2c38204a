"""Rules on how the cache is laid out and sent: choices that change bytes, so both roles must make them alike.

Most came after 0.5.15, and most are compared by nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from stackctl.core.lint.known.evidence import source
from stackctl.core.lint.known.pairs import Agreement, Told, called, flag, pairs, switch, where
from stackctl.core.lint.setup import Process, Setup
from stackctl.core.lint.values import Hit, Rule

CONN_23: Final = source("0.5.23", "srt/disaggregation/common/conn.py")
HALF_OF_IT: Final = "the pool of index keys may then have another layout on each side"
MISALIGNED: Final = "the metadata of a request then has one buffer more on one side"
STOPS: Final = "decode refuses this when it connects"


def _attention(setup: Setup, process: Process) -> Told:
    """`auto` is flashmla for V4; for V4.1 it depends on the card."""
    name = "dsv4-attn-backend"
    if not setup.model.is_v4 or not process.has(name):
        return Told(None)
    text = process.text(name)
    if text == "auto":
        text = "flashmla" if setup.model.family == "deepseek-v4" else None
    return Told(text, process.given(name) is not None)


def _layout(setup: Setup, process: Process) -> Told:
    name = "SGLANG_DSV4_KV_LAYOUT"
    if not setup.model.is_v4:
        return Told(None)
    value = process.env.get(name, "v4").lower()
    return Told(None if value == "auto" else value, name in process.env)


def _unseen(setup: Setup) -> str:
    return STOPS if setup.at(">=0.5.23") else "nothing compares the layouts, and the cache is read wrongly"


def _dcp(setup: Setup) -> Iterator[Hit]:
    """One rank on prefill may feed several on decode; nothing else may differ."""
    for prefill, decode in pairs(setup):
        one, two = prefill.number("dcp-size"), decode.number("dcp-size")
        if one is None or two is None or one == two or one == 1:
            continue
        given = [(side, side.given("dcp-size") is not None) for side in (prefill, decode)]
        yield Hit(
            f"--dcp-size is {one:.0f} on {called(setup, prefill)} and {two:.0f} on {called(setup, decode)}: the "
            "transfer stops with an unsupported topology",
            where(setup, given[0], given[1], "flag", "dcp-size"),
            "give both the same value, or prefill 1",
        )


def _layouts(setup: Setup) -> Iterator[Hit]:
    yield from Agreement("dsv4-attn-backend", _attention, _unseen(setup)).check(setup)
    if "SGLANG_DSV4_KV_LAYOUT" in setup.upstream.env:
        yield from Agreement("SGLANG_DSV4_KV_LAYOUT", _layout, _unseen(setup), "env").check(setup)


INDEXER = Agreement("enable-deepseek-v4-fp4-indexer", switch("enable-deepseek-v4-fp4-indexer"), HALF_OF_IT)
CHECKSUM = Agreement("disaggregation-enable-kv-checksum", switch("disaggregation-enable-kv-checksum"), MISALIGNED)
POLICY_FLAG: Final = "disaggregation-decode-allocation-policy"
POLICY = Agreement(POLICY_FLAG, flag(POLICY_FLAG), STOPS)

RULES = (
    Rule(
        "PD-KV-LAYOUT",
        "error",
        _layouts,
        "DeepSeek-V4's cache laid out differently on prefill and decode",
        "--dsv4-attn-backend (from 0.5.20) and SGLANG_DSV4_KV_LAYOUT (from 0.5.21) choose the bytes of a page. From "
        "0.5.23 on decode compares them; before that nothing does.",
        (CONN_23 + "#L1349",),
        ">=0.5.20",
    ),
    Rule(
        "PD-FP4-INDEXER",
        "error",
        INDEXER.check,
        "the FP4 indexer on one side only",
        "The switch changes the pool of index keys, which is sent like the cache. Nothing compares it.",
        (source("0.5.15", "srt/mem_cache/deepseek_v4_memory_pool.py#L279"),),
        ">=0.5.13",
        doubt=True,
    ),
    Rule(
        "PD-KV-CHECKSUM",
        "error",
        CHECKSUM.check,
        "checksums of the KV cache on one side only",
        "The checksum is one more metadata buffer, and those are paired by their position. 0.5.23 logs an error.",
        (CONN_23 + "#L614",),
        ">=0.5.21",
    ),
    Rule(
        "PD-ALLOCATION",
        "error",
        POLICY.check,
        "decode's allocation policy set on one side only",
        "Compared when decode connects; the flag is one for both roles although its name says decode.",
        (CONN_23 + "#L2527",),
        ">=0.5.22",
    ),
    Rule(
        "PD-DCP",
        "error",
        _dcp,
        "decode context parallelism that differs",
        "Equal sizes work, and one rank on prefill with several on decode for models with MLA.",
        (CONN_23 + "#L531",),
        ">=0.5.17",
    ),
)
