"""Rules of DeepSeek-V4 on any card: what fires, what does not, and between which releases that changes."""

from __future__ import annotations

import pytest

from stackctl.core.lint.rules import dsv4, dsv4_features, v41
from stackctl.core.lint.setup import Card, ModelView
from tests.core.lint.rows import Row, check, fires, silent
from tests.core.lint.setups import H200, SM120, V4_NATIVE, V4_NVFP4

RULES = (*dsv4.RULES, *dsv4_features.RULES, *v41.RULES)
FP8 = ModelView("/models/DeepSeek-V4-Flash-FP8", "deepseek-v4", "fp8", source="name")
V41 = ModelView("/models/DeepSeek-V4.1-Flash", "deepseek-v4.1", source="name")
V3 = ModelView("/models/DeepSeek-V3", "deepseek-v3", "fp8", source="name")
ADA = Card("sm_89", 8, 48 << 30)
BASE = ("key", "base")
EAGLE = "--speculative-algorithm EAGLE --speculative-eagle-topk 1"
DSPARK = "--speculative-algorithm DSPARK"
HICACHE = "--enable-hierarchical-cache --chunked-prefill-size"
CP = "--enable-prefill-cp --cp-strategy"


def flag(name: str) -> tuple[str, str]:
    return "flag", name


ROWS = [
    fires("DSV4-VERSION", "", BASE, says="architecture", version="0.5.11", model=V4_NATIVE),
    silent("DSV4-VERSION", "", version="0.5.12", model=V4_NATIVE),
    fires("DSV4-VERSION", "", BASE, says="NVFP4", version="0.5.13.post1"),
    silent("DSV4-VERSION", "", version="0.5.14"),
    silent("DSV4-VERSION", "", version="0.5.11", model=V3),
    silent("DSV4-VERSION", "", version="0.5.11", model=V41),
    fires("DSV4-ARCH", "", ("key", "host"), says="8.9", card=ADA),
    silent("DSV4-ARCH", "", card=H200),
    silent("DSV4-ARCH", "", card=SM120),
    silent("DSV4-ARCH", "", card=None),
    silent("DSV4-ARCH", "", card=Card(None, 8)),
    silent("DSV4-ARCH", "", card=ADA, model=V3),
    silent("DSV4-ARCH", "", card=ADA, version="0.5.11"),
    fires("DSV4-ATTN", "--attention-backend flashinfer", flag("attention-backend"), "warning", "replaces flashinfer"),
    fires("DSV4-ATTN", "--attention-backend=triton", flag("attention-backend"), "warning", version="0.5.23"),
    fires("DSV4-ATTN", "--decode-attention-backend fa3", flag("decode-attention-backend"), says="may not"),
    fires("DSV4-ATTN", "--prefill-attention-backend fa3", flag("prefill-attention-backend")),
    silent("DSV4-ATTN", "--attention-backend dsv4 --prefill-attention-backend dsv4"),
    silent("DSV4-ATTN", "--attention-backend compressed"),
    silent("DSV4-ATTN", ""),
    silent("DSV4-ATTN", "--attention-backend flashinfer", model=V3),
    silent("DSV4-ATTN", "--attention-backend flashinfer", version="0.5.11"),
    fires("DSV4-PAGE", "--page-size 64", flag("page-size"), "warning", "64 by 256"),
    silent("DSV4-PAGE", "--page-size 256"),
    silent("DSV4-PAGE", ""),
    silent("DSV4-PAGE", "--page-size 64", model=V3),
    fires("DSV4-KV", "--kv-cache-dtype bf16", flag("kv-cache-dtype"), says="stops at start"),
    fires("DSV4-KV", "--kv-cache-dtype fp8_e5m2", flag("kv-cache-dtype"), version="0.5.23"),
    fires("DSV4-KV", "--kv-cache-dtype bfloat16", flag("kv-cache-dtype"), version="0.5.13", model=V4_NATIVE),
    silent("DSV4-KV", "--kv-cache-dtype bfloat16", version="0.5.14", card=H200),
    fires("DSV4-KV", "--kv-cache-dtype bfloat16", flag("kv-cache-dtype"), "warning", "packed FP8", version="0.5.14"),
    silent("DSV4-KV", "--kv-cache-dtype fp8_e4m3"),
    silent("DSV4-KV", "--kv-cache-dtype auto", version="0.5.12", model=V4_NATIVE),
    silent("DSV4-KV", "--kv-cache-dtype bf16", model=V3),
    silent("DSV4-SPEC", EAGLE),
    silent("DSV4-SPEC", ""),
    fires("DSV4-SPEC", "--speculative-algorithm EAGLE", flag("speculative-algorithm"), says="does not fill"),
    fires("DSV4-SPEC", f"{EAGLE[:-1]}4", flag("speculative-eagle-topk"), says="not 4"),
    fires("DSV4-SPEC", "--speculative-algorithm NEXTN", flag("speculative-algorithm"), says="second name"),
    fires("DSV4-SPEC", "--speculative-algo NGRAM", flag("speculative-algo"), version="0.5.23"),
    fires("DSV4-SPEC", DSPARK, flag("speculative-algorithm"), says="refuses DSPARK"),
    silent("DSV4-SPEC", DSPARK, version="0.5.16"),
    fires("DSV4-SPEC", EAGLE, flag("speculative-algorithm"), says="V4.1", version="0.5.21", model=V41),
    silent("DSV4-SPEC", DSPARK, version="0.5.21", model=V41),
    silent("DSV4-SPEC", EAGLE, version="0.5.20", model=V41),
    silent("DSV4-SPEC", "--speculative-algorithm NGRAM", model=V3),
    fires(
        "DSV4-PD-PP", "--disaggregation-mode prefill --pp-size 4", flag("pp-size"), version="0.5.12", model=V4_NATIVE
    ),
    silent("DSV4-PD-PP", "--disaggregation-mode prefill --pp-size 1", version="0.5.12", model=V4_NATIVE),
    silent("DSV4-PD-PP", "--pp-size 4", version="0.5.12", model=V4_NATIVE),
    silent("DSV4-PD-PP", "--disaggregation-mode prefill --pp-size 4", version="0.5.13", model=V4_NATIVE),
    fires("DSV4-CP", f"{CP} zigzag", flag("cp-strategy")),
    fires("DSV4-CP", f"{CP} zigzag", flag("cp-strategy"), version="0.5.23"),
    silent("DSV4-CP", f"{CP} interleave --tp-size 8"),
    fires("DSV4-CP", f"{CP} interleave --tp-size 16", flag("tp-size")),
    fires("DSV4-CP", f"{CP} interleave --dp-size 2", flag("dp-size")),
    fires("DSV4-CP", f"{CP} interleave --attn-dp-size 2", flag("attn-dp-size"), version="0.5.23"),
    fires("DSV4-CP", f"{CP} interleave --dp-size 2", flag("dp-size"), version="0.5.23"),
    fires("DSV4-CP", "--enable-prefill-cp", flag("enable-prefill-cp"), says="needs a strategy"),
    fires(
        "DSV4-CP",
        "--enable-prefill-context-parallel",
        flag("enable-prefill-context-parallel"),
        says="means zigzag",
        version="0.5.19",
    ),
    silent("DSV4-CP", "--enable-dsa-prefill-context-parallel", version="0.5.19"),
    silent("DSV4-CP", "--enable-prefill-context-parallel", version="0.5.13", model=V4_NATIVE),
    fires("DSV4-CP", f"{CP} interleave --moe-a2a-backend nixl", flag("moe-a2a-backend"), version="0.5.17"),
    fires("DSV4-CP", f"{CP} interleave --moe-a2a-backend mori", flag("moe-a2a-backend"), version="0.5.18"),
    silent("DSV4-CP", f"{CP} interleave --moe-a2a-backend mori", version="0.5.19"),
    silent("DSV4-CP", f"{CP} interleave --moe-a2a-backend nixl", version="0.5.16"),
    fires("DSV4-CP", f"{CP} interleave --dp 2 --enable-dp-attention", flag("dp"), version="0.5.23"),
    silent("DSV4-CP", "--cp-strategy zigzag --tp-size 16"),
    fires(
        "DSV4-CP",
        "--enable-nsa-prefill-context-parallel --nsa-prefill-cp-mode in-seq-split",
        flag("nsa-prefill-cp-mode"),
        version="0.5.12",
        model=V4_NATIVE,
    ),
    fires(
        "DSV4-FP4-EXPERTS-MISMATCH",
        "",
        ("env", "SGLANG_DSV4_FP4_EXPERTS"),
        says="as FP8",
        model=FP8,
        env={"SGLANG_DSV4_FP4_EXPERTS": "1"},
    ),
    fires(
        "DSV4-FP4-EXPERTS-MISMATCH",
        "",
        ("env", "SGLANG_DSV4_FP4_EXPERTS"),
        says="as FP4",
        model=V4_NATIVE,
        env={"SGLANG_DSV4_FP4_EXPERTS": "no"},
    ),
    silent("DSV4-FP4-EXPERTS-MISMATCH", "", model=FP8, env={"SGLANG_DSV4_FP4_EXPERTS": "0"}),
    silent("DSV4-FP4-EXPERTS-MISMATCH", "", model=V4_NATIVE, env={"SGLANG_DSV4_FP4_EXPERTS": "true"}),
    silent("DSV4-FP4-EXPERTS-MISMATCH", "", model=V4_NATIVE, env={"SGLANG_DSV4_FP4_EXPERTS": "maybe"}),
    silent("DSV4-FP4-EXPERTS-MISMATCH", "", model=V4_NVFP4, env={"SGLANG_DSV4_FP4_EXPERTS": "0"}),
    silent(
        "DSV4-FP4-EXPERTS-MISMATCH", "", model=ModelView("/model", "deepseek-v4"), env={"SGLANG_DSV4_FP4_EXPERTS": "0"}
    ),
    silent(
        "DSV4-FP4-EXPERTS-MISMATCH",
        "",
        model=V4_NATIVE,
        env={"SGLANG_DSV4_FP4_EXPERTS": "0", "SGLANG_DSV4_FP4_DEQUANT": "1"},
    ),
    fires("DSV4-HICACHE", f"{HICACHE} 16384", flag("enable-hierarchical-cache"), "warning", version="0.5.17"),
    silent("DSV4-HICACHE", f"{HICACHE} 8192", version="0.5.17"),
    silent("DSV4-HICACHE", "--enable-hierarchical-cache", version="0.5.17"),
    silent("DSV4-HICACHE", f"{HICACHE} 16384", version="0.5.16"),
    silent("DSV4-HICACHE", f"{HICACHE} 16384", version="0.5.18"),
    fires(
        "DSV4-EAGLE-GRAPH",
        f"{EAGLE} --cuda-graph-bs 1 2 4",
        flag("cuda-graph-bs"),
        "warning",
        version="0.5.12",
        model=V4_NATIVE,
    ),
    silent("DSV4-EAGLE-GRAPH", f"{EAGLE}", version="0.5.12", model=V4_NATIVE),
    silent("DSV4-EAGLE-GRAPH", f"{EAGLE} --cuda-graph-bs 1 --disable-cuda-graph", version="0.5.12", model=V4_NATIVE),
    silent("DSV4-EAGLE-GRAPH", f"{EAGLE} --cuda-graph-bs 1 2 4", version="0.5.13", model=V4_NATIVE),
    fires(
        "DSV4-DPATTN-DSPARK",
        f"{DSPARK} --enable-dp-attention --dp 4",
        flag("enable-dp-attention"),
        "warning",
        version="0.5.16",
    ),
    fires("DSV4-DPATTN-DSPARK", f"{DSPARK} --attn-dp-size 4", flag("attn-dp-size"), "warning", version="0.5.23"),
    silent("DSV4-DPATTN-DSPARK", f"{DSPARK} --attn-dp-size 1", version="0.5.23"),
    silent("DSV4-DPATTN-DSPARK", f"{DSPARK} --dp-size 4", version="0.5.16"),
    silent("DSV4-DPATTN-DSPARK", f"{EAGLE} --enable-dp-attention", version="0.5.16"),
]
TRTLLM = "--dsv4-attn-backend trtllm --cuda-graph-backend-prefill"
NIXL = f"{DSPARK} --disaggregation-transfer-backend nixl"


def pair(prefill: str, decode: str = DSPARK) -> dict[str, str]:
    return {"prefill": prefill, "decode": decode}


OF_41 = [
    fires(
        "V41-DSPARK-PD",
        "",
        flag("disaggregation-transfer-backend"),
        says="nixl",
        version="0.5.21",
        model=V41,
        roles=pair(NIXL),
    ),
    silent("V41-DSPARK-PD", "", version="0.5.22", model=V41, roles=pair(NIXL, NIXL)),
    silent("V41-DSPARK-PD", "", version="0.5.21", model=V41, roles=pair(DSPARK)),
    fires(
        "V41-DSPARK-PD",
        "",
        flag("disaggregation-transfer-backend"),
        version="0.5.23",
        model=V41,
        roles=pair(f"{DSPARK} --disaggregation-transfer-backend mori"),
    ),
    fires(
        "V41-DSPARK-PD",
        "",
        flag("tp-size"),
        says="prefill says 8, decode says 4",
        version="0.5.21",
        model=V41,
        roles=pair(f"{DSPARK} --tp-size 8", f"{DSPARK} --tp-size 4"),
    ),
    silent(
        "V41-DSPARK-PD", "", version="0.5.22", model=V41, roles=pair(f"{DSPARK} --tp-size 8", f"{DSPARK} --tp-size 4")
    ),
    fires(
        "V41-DSPARK-PD", "", flag("dcp-size"), version="0.5.23", model=V41, roles=pair(DSPARK, f"{DSPARK} --dcp-size 2")
    ),
    fires(
        "V41-DSPARK-PD",
        "",
        flag("enable-prefill-cp"),
        version="0.5.23",
        model=V41,
        roles=pair(DSPARK, f"{DSPARK} --enable-prefill-cp"),
    ),
    silent("V41-DSPARK-PD", "", version="0.5.23", model=V41, roles=pair(f"{DSPARK} {CP} interleave")),
    silent("V41-DSPARK-PD", "", version="0.5.21", model=V4_NVFP4, roles=pair(NIXL)),
    silent("V41-DSPARK-PD", NIXL, version="0.5.21", model=V41),
    fires("V41-GRAPH", f"{TRTLLM} full", flag("cuda-graph-backend-prefill"), version="0.5.23", model=V41),
    silent("V41-GRAPH", f"{TRTLLM} breakable", version="0.5.23", model=V41),
    silent("V41-GRAPH", f"{TRTLLM} disabled", version="0.5.22", model=V41),
    fires("V41-GRAPH", f"{TRTLLM} breakable", flag("cuda-graph-backend-prefill"), version="0.5.22", model=V41),
    fires(
        "V41-GRAPH", f"{TRTLLM} disabled", flag("dsv4-attn-backend"), says="has no trtllm", version="0.5.21", model=V41
    ),
    silent("V41-GRAPH", "--dsv4-attn-backend trtllm", version="0.5.23", model=V41),
    silent("V41-GRAPH", f"{TRTLLM} full", version="0.5.23"),
    silent("V41-GRAPH", "--cuda-graph-backend-prefill full", version="0.5.23", model=V41),
]


@pytest.mark.parametrize("row", ROWS + OF_41, ids=lambda row: row.id)
def test_what_a_rule_says_of_a_command(row: Row) -> None:
    check(row, RULES)


def test_every_rule_has_a_row_that_fires_and_one_that_does_not() -> None:
    for rule in RULES:
        assert {bool(row.place) for row in ROWS + OF_41 if row.rule == rule.id} == {True, False}, rule.id
