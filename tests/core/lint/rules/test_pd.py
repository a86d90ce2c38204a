"""Rules on pairs: what prefill and decode must have alike, and what a release refuses or gets wrong."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from stackctl.core.lint.rules import pd, pd_layout, pd_versions
from stackctl.core.lint.setup import ModelView, Setup
from stackctl.core.upstream.values import EnvVar, History
from tests.core.lint.heard import Case, asked, judged
from tests.core.lint.rows import STACK
from tests.core.lint.setups import V4_NATIVE, process, setup, table

RULES = (*pd.RULES, *pd_layout.RULES, *pd_versions.RULES)
LLAMA = ModelView("/models/Llama-3.1-8B-Instruct")
MOE = ModelView("/models/Llama-4-Scout")
V41 = ModelView("/models/V4.1", "deepseek-v4.1", source="stack")
NIXL = "--disaggregation-transfer-backend nixl"


def pair(rule: str, prefill: str, decode: str, place: str = "", *says: str, **more: Any) -> Case:
    severity = more.pop("severity", "error")
    return Case(rule, {"prefill": prefill, "decode": decode}, place, says, severity, more)


CASES = [
    # page size
    pair("PD-PAGE", "--page-size 64", "--page-size 128", "page-size@decode-0", "64", "128", model=LLAMA),
    pair("PD-PAGE", "--page-size 64", "--page-size 64", model=LLAMA),
    pair("PD-PAGE", "--page-size 64", "", model=LLAMA),
    pair("PD-PAGE", "--page-size 64", "--page-size 128"),  # V4: both are replaced
    pair("PD-PAGE", "--page-size 32", "--page-size 64 --attention-backend flashmla", model=LLAMA),
    # KV cache
    pair(
        "PD-KV-DTYPE",
        "--kv-cache-dtype fp8_e4m3",
        "--kv-cache-dtype bfloat16",
        "kv-cache-dtype@decode-0",
        "prefill has fp8_e4m3, decode has bfloat16",
        "refuses",
    ),
    pair("PD-KV-DTYPE", "--kv-cache-dtype fp8_e4m3", ""),  # V4: what auto becomes
    pair(
        "PD-KV-DTYPE",
        "--kv-cache-dtype bfloat16",
        "",
        "kv-cache-dtype@prefill-0",
        "decode has fp8_e4m3 (the default)",
    ),
    pair(
        "PD-KV-DTYPE",
        "--kv-cache-dtype fp8_e5m2",
        "--kv-cache-dtype bfloat16",
        "kv-cache-dtype@decode-0",
        "does not compare",
        model=LLAMA,
        version="0.5.9",
    ),
    pair(
        "PD-KV-DTYPE",
        "",
        "--kv-cache-dtype fp8_e4m3",
        "kv-cache-dtype@decode-0",
        "as text",
        model=LLAMA,
        severity="warning",
    ),
    # transfer backend
    pair("PD-BACKEND", NIXL, "", "disaggregation-transfer-backend@prefill-0", "mooncake (the default)"),
    pair("PD-BACKEND", NIXL, NIXL),
    pair("PD-BACKEND", "--disaggregation-transfer-backend mooncake_tcp", ""),
    # speculation
    pair("PD-SPEC", "", "--speculative-algorithm EAGLE", "speculative-algorithm@decode-0", "none (the default)"),
    pair("PD-SPEC", "--speculative-algorithm EAGLE", "--speculative-algorithm NEXTN"),
    pair("PD-SPEC", "", "--speculative-algorithm NGRAM"),
    pair(
        "PD-SPEC",
        "--speculative-algorithm EAGLE --speculative-eagle-topk 1",
        "--speculative-algorithm EAGLE --speculative-eagle-topk 4",
        "speculative-eagle-topk@decode-0",
        "may not fit",
        severity="warning",
    ),
    # pipeline stages
    pair("PD-PP", "--pp-size 2", "--pp-size 4", "pp-size@decode-0", "write 1 or 2"),
    pair("PD-PP", "", "--pp-size 4", "pp-size@decode-0", "write 1"),
    pair("PD-PP", "--pp-size 4", ""),
    pair("PD-PP", "--pp-size 4", "--pipeline-parallel-size 4"),
    # parsers
    pair(
        "PD-PARSERS",
        "--tool-call-parser deepseekv4",
        "--tool-call-parser deepseekv32",
        "tool-call-parser@decode-0",
        "makes the prompt by itself",
        severity="warning",
    ),
    pair(
        "PD-PARSERS",
        "--reasoning-parser deepseek-v4",
        "",
        "reasoning-parser@prefill-0",
        "only decode's answers",
        severity="warning",
    ),
    pair("PD-PARSERS", "--tool-call-parser deepseekv4", "--tool-call-parser deepseekv4"),
    # layouts
    pair(
        "PD-KV-LAYOUT",
        "--dsv4-attn-backend flashmla",
        "--dsv4-attn-backend trtllm",
        "dsv4-attn-backend@decode-0",
        "refuses",
        version="0.5.23",
    ),
    pair("PD-KV-LAYOUT", "", "--dsv4-attn-backend flashmla", version="0.5.23"),
    pair("PD-KV-LAYOUT", "", "--dsv4-attn-backend flashmla", version="0.5.23", model=V41),
    pair("PD-KV-LAYOUT", "--dsv4-attn-backend flashmla", "--dsv4-attn-backend trtllm", version="0.5.23", model=LLAMA),
    pair("PD-KV-LAYOUT", "", "--dsv4-attn-backend trtllm"),  # 0.5.15 has no such flag
    pair(
        "PD-FP4-INDEXER",
        "--enable-deepseek-v4-fp4-indexer",
        "",
        "enable-deepseek-v4-fp4-indexer@prefill-0",
        "may",
        "decode has off",
    ),
    pair("PD-FP4-INDEXER", "--enable-deepseek-v4-fp4-indexer", "--enable-deepseek-v4-fp4-indexer"),
    pair("PD-FP4-INDEXER", "--enable-deepseek-v4-fp4-indexer", "", version="0.5.12"),
    pair(
        "PD-KV-CHECKSUM",
        "",
        "--disaggregation-enable-kv-checksum",
        "disaggregation-enable-kv-checksum@decode-0",
        "one buffer more",
        version="0.5.23",
    ),
    pair("PD-KV-CHECKSUM", "", "--disaggregation-enable-kv-checksum", version="0.5.20"),
    pair(
        "PD-ALLOCATION",
        "",
        "--disaggregation-decode-allocation-policy prefill_complete",
        "disaggregation-decode-allocation-policy@decode-0",
        "early (the default)",
        version="0.5.23",
    ),
    pair("PD-ALLOCATION", "", "--disaggregation-decode-allocation-policy early", version="0.5.23"),
    pair("PD-DCP", "--dcp-size 2", "--dcp-size 4", "dcp-size@decode-0", "topology", version="0.5.23"),
    pair("PD-DCP", "--dcp-size 2", "", "dcp-size@prefill-0", "prefill 1", version="0.5.23"),
    pair("PD-DCP", "", "--decode-context-parallel-size 4", version="0.5.23"),
    pair("PD-DCP", "--dcp-size 2", "--dcp-size 4", version="0.5.16"),
    # nixl and its patches
    pair(
        "PD-NIXL-V4-STATE",
        NIXL,
        NIXL,
        "disaggregation-transfer-backend@decode-0 disaggregation-transfer-backend@prefill-0",
        "may start before",
        "pd/nixl-state-components",
        severity="info",
    ),
    pair("PD-NIXL-V4-STATE", NIXL, NIXL, version="0.5.14"),
    pair("PD-NIXL-V4-STATE", NIXL, NIXL, version="0.5.23"),
    pair("PD-NIXL-V4-STATE", NIXL, NIXL, model=LLAMA),
    pair("PD-NIXL-V4-STATE", NIXL, NIXL, patches=frozenset(["pd/nixl-state-components"])),
    pair("PD-NIXL-V4-STATE", "", ""),
    pair(
        "PD-NIXL-ABORT",
        NIXL,
        NIXL,
        "disaggregation-transfer-backend@decode-0 disaggregation-transfer-backend@prefill-0",
        "bootstrap thread",
        "0.5.16",
        model=LLAMA,
        version="0.5.13.post1",
        severity="info",
    ),
    pair("PD-NIXL-ABORT", NIXL, NIXL, version="0.5.12"),
    pair("PD-NIXL-ABORT", NIXL, NIXL, version="0.5.16"),
    pair("PD-NIXL-ABORT", NIXL, NIXL, patches=frozenset(["pd/nixl-abort-race"])),
    pair(
        "PD-NIXL-DENSE",
        NIXL,
        NIXL,
        "disaggregation-transfer-backend@decode-0 disaggregation-transfer-backend@prefill-0",
        "was reported",
        model=LLAMA,
        version="0.5.12",
        severity="warning",
    ),
    pair("PD-NIXL-DENSE", NIXL, NIXL, model=MOE, version="0.5.12"),
    pair("PD-NIXL-DENSE", NIXL, NIXL, model=ModelView("/m/Qwen3-30B-A3B"), version="0.5.12"),
    pair("PD-NIXL-DENSE", NIXL, NIXL, model=LLAMA, version="0.5.13"),
    # the rest of the releases
    pair(
        "PD-HICACHE-HISPARSE",
        "--enable-hierarchical-cache",
        "--enable-hisparse",
        "enable-hisparse@decode-0",
        "was reported",
        severity="warning",
    ),
    pair("PD-HICACHE-HISPARSE", "", "--enable-hisparse"),
    pair(
        "PD-DPATTN-MTP",
        "",
        "--enable-dp-attention --dp-size 4 --speculative-algorithm EAGLE",
        "enable-dp-attention@decode-0",
        "was reported",
        severity="warning",
    ),
    pair("PD-DPATTN-MTP", "", "--enable-dp-attention --dp-size 4 --speculative-algorithm EAGLE", version="0.5.16"),
    pair("PD-DPATTN-MTP", "", "--enable-dp-attention --speculative-algorithm EAGLE"),
    pair(
        "PD-DECODE-HICACHE", "", "--enable-hierarchical-cache", "enable-hierarchical-cache@decode-0", "stops at start"
    ),
    pair(
        "PD-DECODE-HICACHE",
        "",
        "--enable-hierarchical-cache",
        "enable-hierarchical-cache@decode-0",
        "prefill only",
        version="0.5.9",
    ),
    pair("PD-DECODE-HICACHE", "--enable-hierarchical-cache", ""),
    pair("PD-DECODE-HICACHE", "", "--enable-hierarchical-cache --disaggregation-decode-enable-radix-cache"),
    pair(
        "PD-DECODE-RADIX-SPEC",
        "",
        "--disaggregation-decode-enable-radix-cache --speculative-algorithm EAGLE",
        "disaggregation-decode-enable-radix-cache@decode-0",
        "refuses",
        "EAGLE",
        version="0.5.22",
    ),
    pair(
        "PD-DECODE-RADIX-SPEC",
        "",
        "--disaggregation-decode-enable-radix-cache --speculative-algorithm EAGLE",
        version="0.5.23",
    ),
    pair("PD-DECODE-RADIX-SPEC", "", "--disaggregation-decode-enable-radix-cache"),
    pair(
        "REQ-TIMEOUT-TP",
        "--tp-size 4",
        "",
        "SGLANG_REQ_WAITING_TIMEOUT@prefill-0",
        "own clock",
        env={"SGLANG_REQ_WAITING_TIMEOUT": "30"},
        severity="warning",
    ),
    pair("REQ-TIMEOUT-TP", "--tp-size 4", "", env={"SGLANG_REQ_WAITING_TIMEOUT": "-1"}),
    pair("REQ-TIMEOUT-TP", "--tp-size 4", "", env={"SGLANG_REQ_RUNNING_TIMEOUT": "soon"}),
    pair("REQ-TIMEOUT-TP", "--tp-size 4", "", env={"SGLANG_REQ_RUNNING_TIMEOUT": "30"}, version="0.5.20"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_a_pair(case: Case) -> None:
    asked(case, RULES)


@pytest.mark.parametrize("rule", sorted({case.rule for case in CASES if case.place}))
def test_half_a_deployment_is_not_compared(rule: str) -> None:
    """A lone command says nothing of the other side."""
    for case in CASES:
        if case.rule == rule and not rule.startswith(("PD-DECODE", "PD-DPATTN", "REQ-")):
            judged(replace(setup(**case.more, **case.roles), complete=False), replace(case, place=""), RULES)


def test_a_page_of_examples_is_not_compared() -> None:
    """Mooncake first, then the same with nixl, at the same ports."""
    page = [
        process(role, f"--port {port} --disaggregation-transfer-backend {backend}", index=at, host="local")
        for at, backend in enumerate(("mooncake", "nixl"))
        for role, port in (("prefill", 30000), ("decode", 30001))
    ]
    judged(Setup(table(), History(()), tuple(page)), Case("PD-BACKEND", {}), RULES)


INDEX = "SGLANG_DSV4_INDEX_K_DTYPE"
RELEASE = "SGLANG_DISAGGREGATION_DEFERRED_DECODE_KV_RELEASE"


def variables(prefill: dict[str, str], decode: dict[str, str], *known: EnvVar) -> Setup:
    upstream = replace(table(), env={one.name: one for one in known})
    made = (process("prefill", "", env=prefill), process("decode", "", env=decode))
    return Setup(upstream, History(()), made)


@pytest.mark.parametrize(
    ("prefill", "decode", "place"),
    [
        ({INDEX: "bfloat16"}, {}, f"{INDEX}@prefill-0"),
        ({INDEX: "bfloat16"}, {INDEX: "fp8_e4m3"}, f"{INDEX}@decode-0"),
        ({INDEX: "bfloat16"}, {INDEX: "bfloat16"}, ""),
        ({INDEX: "fp8_e4m3"}, {}, ""),  # the default
        ({RELEASE: "true"}, {RELEASE: "1"}, ""),
        ({RELEASE: "0"}, {}, f"{RELEASE}@prefill-0"),
    ],
)
def test_variables_of_patches(prefill: dict[str, str], decode: dict[str, str], place: str) -> None:
    known = (
        EnvVar(INDEX, "registry", "str", "fp8_e4m3"),
        EnvVar(RELEASE, "registry", "bool", "True"),
    )
    judged(variables(prefill, decode, *known), Case("PD-ENV", {}, place), RULES)


def test_a_variable_that_the_tree_does_not_read_is_not_compared() -> None:
    judged(variables({INDEX: "bfloat16"}, {}), Case("PD-ENV", {}), RULES)


@pytest.mark.parametrize(
    ("rule", "fork"), [("PD-NIXL-V4-STATE", "mine/nixl-state-components"), ("PD-NIXL-ABORT", "mine/nixl-abort-race")]
)
def test_of_a_stack_the_patches_are_known(rule: str, fork: str) -> None:
    made = replace(setup(prefill=NIXL, decode=NIXL), stack=STACK)
    places = "disaggregation-transfer-backend@decode-0 disaggregation-transfer-backend@prefill-0"
    judged(made, Case(rule, {}, places), RULES)
    judged(replace(made, patches=frozenset([fork])), Case(rule, {}), RULES)
    one_side = replace(setup(prefill=NIXL, decode=""), stack=STACK)
    judged(one_side, Case(rule, {}), RULES)


def test_several_decodes_are_told_apart() -> None:
    made = (
        process("prefill", "--disaggregation-transfer-backend nixl"),
        process("decode", "--disaggregation-transfer-backend nixl"),
        process("decode", "--disaggregation-transfer-backend mooncake --port 30001", index=1),
    )
    place = "disaggregation-transfer-backend@decode-1"
    judged(Setup(table(), History(()), made), Case("PD-BACKEND", {}, place, ("decode-1 has mooncake",)), RULES)


LAYOUT = "SGLANG_DSV4_KV_LAYOUT"


@pytest.mark.parametrize(
    ("known", "place"),
    [((EnvVar(LAYOUT, "registry", "str", "v4"),), f"{LAYOUT}@prefill-0"), ((), "")],
)
def test_a_layout_is_compared_where_the_tree_reads_it(known: tuple[EnvVar, ...], place: str) -> None:
    upstream = replace(table("0.5.23"), env={one.name: one for one in known})
    made = (process("prefill", "", version="0.5.23", env={LAYOUT: "packed"}), process("decode", "", version="0.5.23"))
    judged(Setup(upstream, History(()), made, V4_NATIVE), Case("PD-KV-LAYOUT", {}, place), RULES)
