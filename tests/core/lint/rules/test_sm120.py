"""Rules of SM120 about attention, variables and prefill: what fires, what does not, and where that changes."""

from __future__ import annotations

import pytest

from stackctl.core.lint.rules import sm120, sm120_env, sm120_prefill
from stackctl.core.lint.rules.sm120_prefill import index_logits
from stackctl.core.lint.setup import Card, ModelView
from tests.core.lint.rows import Row, check, fires, silent
from tests.core.lint.setups import H200, SM120, V4_NATIVE

RULES = (*sm120.RULES, *sm120_env.RULES, *sm120_prefill.RULES)
V3 = ModelView("/models/DeepSeek-V3", "deepseek-v3", "fp8", source="name")
GLM = ModelView("zai-org/GLM-5.2-FP8", "glm-dsa", "fp8", source="name")
GLM53 = ModelView("zai-org/GLM-5.3-Flash", "glm-dsa", source="name")
V32 = ModelView("deepseek-ai/DeepSeek-V3.2", "deepseek-v3.2", "fp8", source="name")
GIB = 1 << 30
SPARK = Card("sm_121", 1, 119 << 30)
SPARSE = "SGLANG_OPT_FLASHMLA_SPARSE_PREFILL"
OFF = {SPARSE: "0"}
DISPATCH = frozenset(["sm120/prefill-dispatch"])
LOGITS = frozenset(["index-k/paged-logits-triton"])
BIG = "--chunked-prefill-size 8192 --context-length 65536 --mem-fraction-static 0.8"
INDEXER = "--enable-deepseek-v4-fp4-indexer"
MHA = "--prefill-attention-backend trtllm_mha"
TILELANG = "--dsa-prefill-backend tilelang --dsa-decode-backend tilelang --kv-cache-dtype bfloat16"


def flag(name: str) -> tuple[str, str]:
    return "flag", name


def variable(name: str, value: str, fires_at: str | None, version: str) -> Row:
    more = {"version": version, "env": {name: value}}
    if fires_at is None:
        return silent("SM120-ENV-FORCED", "", **more)
    return fires("SM120-ENV-FORCED", "", ("env", name), "warning", f"{fires_at} for DeepSeek-V4", **more)


def smem(fires_at: str | None, card: Card = SM120, **env: str) -> Row:
    named = {f"SGLANG_GDN_CHUNK_H_{name}": value for name, value in env.items()}
    if fires_at is None:
        return silent("SM120-SMEM", "", env=named, card=card)
    return fires("SM120-SMEM", "", ("env", f"SGLANG_GDN_CHUNK_H_{fires_at}"), "warning", "101376", env=named, card=card)


def decode(text: str) -> dict[str, str]:
    return {"decode": text}


ATTENTION = [
    fires("SM120-TRTLLM-MLA", "--attention-backend trtllm_mla", flag("attention-backend"), model=V3),
    fires("SM120-TRTLLM-MLA", "--attention-backend trtllm_mla", flag("attention-backend"), model=V3, card=SPARK),
    fires("SM120-TRTLLM-MLA", "--decode-attention-backend trtllm_mla", flag("decode-attention-backend")),
    silent("SM120-TRTLLM-MLA", "--attention-backend trtllm_mla"),  # of V4 it is replaced by dsv4
    silent("SM120-TRTLLM-MLA", "--attention-backend trtllm_mla", model=V3, card=H200),
    silent("SM120-TRTLLM-MLA", "--attention-backend trtllm_mla", model=V3, card=None),
    silent("SM120-TRTLLM-MLA", "--attention-backend flashinfer", model=V3),
    fires("SM120-TRTLLM-MHA-FP8", MHA, flag("prefill-attention-backend"), says="SM100 only"),
    fires("SM120-TRTLLM-MHA-FP8", MHA, flag("prefill-attention-backend"), version="0.5.18"),
    silent("SM120-TRTLLM-MHA-FP8", MHA, version="0.5.19"),
    fires(
        "SM120-TRTLLM-MHA-FP8", f"{MHA} --kv-cache-dtype fp8_e4m3", flag("prefill-attention-backend"), version="0.5.19"
    ),
    fires(
        "SM120-TRTLLM-MHA-FP8",
        "--attention-backend trtllm_mha --kv-cache-dtype fp8_e4m3",
        flag("attention-backend"),
        version="0.5.23",
        model=V3,
    ),
    silent("SM120-TRTLLM-MHA-FP8", "--attention-backend trtllm_mha", version="0.5.23", model=V3),
    silent("SM120-TRTLLM-MHA-FP8", "--attention-backend trtllm_mha"),
    silent("SM120-TRTLLM-MHA-FP8", "--decode-attention-backend trtllm_mha"),
    silent("SM120-TRTLLM-MHA-FP8", MHA, card=H200),
    fires("SM120-DSV4-VERSION", "", ("key", "base"), version="0.5.12", model=V4_NATIVE),
    silent("SM120-DSV4-VERSION", "", version="0.5.13", model=V4_NATIVE),
    silent("SM120-DSV4-VERSION", "", version="0.5.12", model=V4_NATIVE, card=H200),
    silent("SM120-DSV4-VERSION", "", version="0.5.12", model=V3),
    fires("SM120-FP4-INDEXER", INDEXER, flag(INDEXER[2:]), says="no FP4 indexer"),
    fires("SM120-FP4-INDEXER", INDEXER, flag(INDEXER[2:]), version="0.5.16"),
    fires("SM120-FP4-INDEXER", INDEXER, flag(INDEXER[2:]), "warning", "accuracy", version="0.5.17"),
    fires("SM120-FP4-INDEXER", INDEXER, flag(INDEXER[2:]), version="0.5.12", model=V4_NATIVE),
    silent("SM120-FP4-INDEXER", ""),
    silent("SM120-FP4-INDEXER", INDEXER, card=H200),
    fires("SM120-DSV4-ATTN", "--dsv4-attn-backend trtllm", flag("dsv4-attn-backend"), version="0.5.20"),
    fires("SM120-DSV4-ATTN", "--dsv4-attn-backend flashmla_mega", flag("dsv4-attn-backend"), version="0.5.23"),
    silent("SM120-DSV4-ATTN", "--dsv4-attn-backend flashmla", version="0.5.23"),
    silent("SM120-DSV4-ATTN", "--dsv4-attn-backend flashmla_mega", version="0.5.22"),
    silent("SM120-DSV4-ATTN", "--dsv4-attn-backend trtllm", version="0.5.19"),
    silent("SM120-DSV4-ATTN", "--dsv4-attn-backend trtllm", version="0.5.23", card=H200),
    fires("SM120-DSA-AUTO", "", flag("dsa-decode-backend"), "warning", "takes trtllm", model=GLM),
    fires("SM120-DSA-AUTO", "--dsa-decode-backend tilelang", flag("dsa-prefill-backend"), "warning", model=GLM),
    fires(
        "SM120-DSA-AUTO",
        "--kv-cache-dtype bfloat16",
        flag("dsa-decode-backend"),
        "warning",
        "flashmla_sparse and trtllm",
        model=GLM,
    ),
    silent("SM120-DSA-AUTO", "", model=GLM, version="0.5.17"),
    fires("SM120-DSA-TRTLLM", "--dsa-decode-backend trtllm", flag("dsa-decode-backend"), "warning", model=GLM53),
    fires(
        "SM120-DSA-TRTLLM",
        "--nsa-prefill-backend trtllm",
        flag("nsa-prefill-backend"),
        "warning",
        "reported",
        model=GLM,
    ),
    silent("SM120-DSA-TRTLLM", TILELANG, model=GLM53),
    silent("SM120-DSA-TRTLLM", "--dsa-decode-backend trtllm", card=H200),
    fires("SM120-DSA-AUTO", "", flag("dsa-decode-backend"), "warning", model=GLM53, version="0.5.20"),
    fires("SM120-DSA-AUTO", "", flag("dsa-decode-backend"), "warning", model=V32, version="0.5.23"),
    silent("SM120-DSA-AUTO", TILELANG, model=GLM),
    silent("SM120-DSA-AUTO", TILELANG, model=GLM53, version="0.5.23"),
    silent("SM120-DSA-AUTO", "", model=GLM, card=H200),
    silent("SM120-DSA-AUTO", "", model=V3),
]
SETTINGS = [
    variable("SGLANG_OPT_USE_TOPK_V2", "1", "off", "0.5.15"),
    variable("SGLANG_OPT_USE_TOPK_V2", "1", "off", "0.5.23"),
    variable("SGLANG_OPT_USE_TOPK_V2", "0", None, "0.5.15"),
    variable("SGLANG_OPT_USE_TOPK_V2", "on", None, "0.5.15"),  # no literal of a bool: ENV-BOOL says that
    variable("SGLANG_FP8_PAGED_MQA_LOGITS_TORCH", "0", "on", "0.5.19"),
    variable("SGLANG_FP8_PAGED_MQA_LOGITS_TORCH", "0", None, "0.5.20"),
    variable("SGLANG_FP8_PAGED_MQA_LOGITS_TORCH", "1", None, "0.5.15"),
    variable("SGLANG_OPT_FP8_WO_A_GEMM", "true", "off", "0.5.20"),
    variable("SGLANG_OPT_FP8_WO_A_GEMM", "true", None, "0.5.21"),
    variable("SGLANG_OPT_USE_TILELANG_INDEXER", "0", "on", "0.5.16"),
    variable("SGLANG_OPT_USE_TILELANG_INDEXER", "0", None, "0.5.15"),
    silent("SM120-ENV-FORCED", "", env={"SGLANG_OPT_USE_TOPK_V2": "1"}, card=H200),
    silent("SM120-ENV-FORCED", "", env={"SGLANG_OPT_USE_TOPK_V2": "1"}, model=V3),
    smem("NUM_STAGES", NUM_STAGES="3"),
    smem(None, NUM_STAGES="2"),
    smem("BV", BV="256"),
    smem(None, BV="64"),
    smem(None, NUM_STAGES="many"),
    smem(None, H200, NUM_STAGES="3"),
    smem(None),
    fires(
        "SM120-NGRAM",
        "--speculative-algorithm NGRAM --attention-backend flashinfer",
        flag("speculative-algorithm"),
        "warning",
        version="0.5.10.post1",
        model=V3,
    ),
    silent(
        "SM120-NGRAM",
        "--speculative-algorithm NGRAM --attention-backend flashinfer --disable-cuda-graph",
        version="0.5.10.post1",
        model=V3,
    ),
    silent("SM120-NGRAM", "--speculative-algorithm NGRAM --attention-backend triton", version="0.5.10.post1", model=V3),
    silent("SM120-NGRAM", "--speculative-algorithm NGRAM --attention-backend flashinfer", version="0.5.11", model=V3),
]
PREFILL = [
    fires("SM120-SPARSE-PREFILL", "", ("key", "patches"), says="by default"),
    fires("SM120-SPARSE-PREFILL", "", ("key", "patches"), version="0.5.15.post1"),
    fires("SM120-SPARSE-PREFILL", "", ("key", "patches"), "info", "unless its image", stack=False),
    silent("SM120-SPARSE-PREFILL", "", patches=DISPATCH),
    silent("SM120-SPARSE-PREFILL", "--chunked-prefill-size 16384", patches=frozenset(["mine/prefill-dispatch"])),
    silent("SM120-SPARSE-PREFILL", "", env=OFF),
    silent("SM120-SPARSE-PREFILL", "--chunked-prefill-size 11673", env=OFF),
    fires(
        "SM120-SPARSE-PREFILL",
        "--chunked-prefill-size 11674",
        flag("chunked-prefill-size"),
        says="above 11673",
        env=OFF,
    ),
    fires(
        "SM120-SPARSE-PREFILL",
        "--chunked-prefill-size -1",
        flag("chunked-prefill-size"),
        says="without a limit",
        env=OFF,
    ),
    silent("SM120-SPARSE-PREFILL", "--chunked-prefill-size 16384 --enable-dp-attention --dp 2", env=OFF),
    silent("SM120-SPARSE-PREFILL", "--enable-prefill-cp --cp-strategy interleave"),
    fires("SM120-SPARSE-PREFILL", "", ("env", SPARSE), says="with this variable", env={SPARSE: "1"}),
    fires("SM120-SPARSE-PREFILL", "", ("env", SPARSE), env={SPARSE: "1"}, version="0.5.14"),
    silent("SM120-SPARSE-PREFILL", "", version="0.5.14"),
    fires("SM120-SPARSE-PREFILL", "--chunked-prefill-size 16384", flag("chunked-prefill-size"), version="0.5.14"),
    silent("SM120-SPARSE-PREFILL", "--chunked-prefill-size 16384", version="0.5.16"),
    silent("SM120-SPARSE-PREFILL", "", card=H200),
    silent("SM120-SPARSE-PREFILL", "", card=None),
    silent("SM120-SPARSE-PREFILL", "", model=V3),
    silent("SM120-SPARSE-PREFILL", "", roles=decode("--disaggregation-mode decode")),
    fires("INDEX-LOGITS-MEMORY", BIG, flag("chunked-prefill-size"), "warning", "up to 64.0 GiB"),
    fires("INDEX-LOGITS-MEMORY", BIG, flag("chunked-prefill-size"), "info", stack=False),
    silent("INDEX-LOGITS-MEMORY", BIG, patches=LOGITS),
    silent("INDEX-LOGITS-MEMORY", BIG, version="0.5.16"),
    silent("INDEX-LOGITS-MEMORY", BIG, card=H200),
    silent("INDEX-LOGITS-MEMORY", BIG, card=Card("sm_120", 8)),
    silent("INDEX-LOGITS-MEMORY", BIG, env={"SGLANG_OPT_USE_TILELANG_INDEXER": "1"}),
    silent("INDEX-LOGITS-MEMORY", "--chunked-prefill-size 2048 --context-length 32768 --mem-fraction-static 0.8"),
    silent("INDEX-LOGITS-MEMORY", "--chunked-prefill-size 8192 --mem-fraction-static 0.8"),
    silent("INDEX-LOGITS-MEMORY", "--chunked-prefill-size 8192 --context-length 65536"),
    silent("INDEX-LOGITS-MEMORY", "--context-length 65536 --mem-fraction-static 0.8"),
    fires(
        "INDEX-LOGITS-MEMORY",
        "",
        flag("max-running-requests"),
        "warning",
        "60 rows",
        roles=decode("--max-running-requests 60 --context-length 1048576 --mem-fraction-static 0.95"),
    ),
]
ROWS = ATTENTION + SETTINGS + PREFILL


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_what_a_rule_says_of_a_command(row: Row) -> None:
    check(row, RULES)


def test_every_rule_has_a_row_that_fires_and_one_that_does_not() -> None:
    for rule in RULES:
        assert {bool(row.place) for row in ROWS if row.rule == rule.id} == {True, False}, rule.id


@pytest.mark.parametrize(
    ("rows", "context", "gib"), [(8192, 8192, 8.0), (8192, 65536, 64.0), (60, 131072, 0.9375), (2048, 32768, 8.0)]
)
def test_index_logits_are_as_measured_on_the_modules_of_the_release(rows: int, context: int, gib: float) -> None:
    assert index_logits(rows, context) == gib * GIB
