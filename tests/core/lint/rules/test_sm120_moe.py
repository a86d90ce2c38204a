"""Rules of experts on SM120: runners, expert parallelism, speculation, the clamp."""

from __future__ import annotations

import pytest

from stackctl.core.lint.rules import sm120_moe
from stackctl.core.lint.setup import ModelView
from tests.core.lint.rows import Row, check, fires, silent
from tests.core.lint.setups import H200, V4_NATIVE

RULES = sm120_moe.RULES
V3 = ModelView("/models/DeepSeek-V3", "deepseek-v3", "fp8", source="name")
V4 = ModelView("/model", "deepseek-v4", source="name")
MOE, A2A = "moe-runner-backend", "moe-a2a-backend"
EAGLE = "--speculative-algorithm EAGLE --speculative-eagle-topk 1"
RUNNER = frozenset(["nvfp4/sm120-moe-runner"])
BUFFER = "SGLANG_DEEPEP_NUM_MAX_DISPATCH_TOKENS_PER_RANK"
DEEPEP = f"--{A2A} deepep --max-running-requests"


def flag(name: str) -> tuple[str, str]:
    return "flag", name


RUNNERS = [
    fires("SM120-MOE-TRTLLM", f"--{MOE} flashinfer_trtllm", flag(MOE), says="SM100 only"),
    fires("SM120-MOE-TRTLLM", f"--{MOE} flashinfer_trtllm_routed", flag(MOE), version="0.5.9", model=V3),
    fires("SM120-MOE-TRTLLM", f"--speculative-{MOE} flashinfer_trtllm", flag(f"speculative-{MOE}")),
    silent("SM120-MOE-TRTLLM", f"--{MOE} flashinfer_trtllm", card=H200),
    silent("SM120-MOE-TRTLLM", f"--{MOE} marlin"),
    fires("SM120-DSV4-NVFP4-AUTO", "", flag(MOE), says="flashinfer_trtllm_routed"),
    fires("SM120-DSV4-NVFP4-AUTO", f"--{MOE} auto", flag(MOE), version="0.5.23"),
    silent("SM120-DSV4-NVFP4-AUTO", f"--{MOE} marlin"),
    silent("SM120-DSV4-NVFP4-AUTO", "", patches=RUNNER),
    silent("SM120-DSV4-NVFP4-AUTO", "", version="0.5.13"),
    silent("SM120-DSV4-NVFP4-AUTO", "", model=V4_NATIVE),
    silent("SM120-DSV4-NVFP4-AUTO", "", model=V4),
    silent("SM120-DSV4-NVFP4-AUTO", "", card=None),
    fires("SM120-MEGAMOE", f"--{A2A} megamoe", flag(A2A), says="SM90 and SM100"),
    fires("SM120-MEGAMOE", f"--{MOE} megamoe", flag(MOE), version="0.5.23"),
    fires("SM120-MEGAMOE", f"--{MOE} flashinfer_megamoe", flag(MOE), "warning", version="0.5.23"),
    fires("SM120-MEGAMOE", f"--{A2A} flashinfer_megamoe", flag(A2A), "warning", version="0.5.23"),
    silent("SM120-MEGAMOE", f"--{A2A} megamoe", card=H200),
    silent("SM120-MEGAMOE", f"--{A2A} none"),
    fires("SM120-DEEPGEMM", f"--{MOE} deep_gemm", flag(MOE), says="no DeepGEMM"),
    fires("SM120-DEEPGEMM", "--fp8-gemm-backend deep_gemm", flag("fp8-gemm-backend"), version="0.5.19"),
    fires(
        "SM120-DEEPGEMM", "--fp8-gemm-backend deep_gemm", flag("fp8-gemm-backend"), "warning", "build", version="0.5.20"
    ),
    silent("SM120-DEEPGEMM", f"--{MOE} deep_gemm", card=H200),
    silent("SM120-DEEPGEMM", f"--{MOE} triton"),
    fires("SM120-FP8-BLOCK-MOE", f"--{MOE} cutlass", flag(MOE), "warning", model=V3),
    silent("SM120-FP8-BLOCK-MOE", f"--{MOE} triton", model=V3),
    silent("SM120-FP8-BLOCK-MOE", f"--{MOE} cutlass", model=V4),
    silent("SM120-FP8-BLOCK-MOE", f"--{MOE} cutlass", model=V3, card=H200),
    fires("SM120-MXFP4-FLASHINFER", f"--{MOE} flashinfer_mxfp4", flag(MOE), model=V4_NATIVE),
    fires("SM120-MXFP4-FLASHINFER", f"--{MOE} flashinfer_mxfp4", flag(MOE), model=V4_NATIVE, version="0.5.12"),
    silent("SM120-MXFP4-FLASHINFER", f"--{MOE} flashinfer_mxfp4", model=V4_NATIVE, version="0.5.16"),
    silent("SM120-MXFP4-FLASHINFER", f"--{MOE} flashinfer_mxfp4", model=V4_NATIVE, card=H200),
    silent("SM120-MXFP4-FLASHINFER", f"--{MOE} flashinfer_mxfp4", model=V4),
    silent("SM120-MXFP4-FLASHINFER", f"--{MOE} marlin", model=V4_NATIVE),
]
PARALLEL = [
    fires("SM120-MXFP4-MARLIN-EP", f"--{MOE} marlin --ep-size 8", flag("ep-size"), says="crashes", model=V4_NATIVE),
    fires("SM120-MXFP4-MARLIN-EP", "--ep 8", flag("ep"), model=V4_NATIVE),  # auto is marlin there
    fires("SM120-MXFP4-MARLIN-EP", f"--{MOE} marlin --ep 2", flag("ep"), "warning", "may crash"),
    silent("SM120-MXFP4-MARLIN-EP", f"--{MOE} marlin --ep-size 1", model=V4_NATIVE),
    silent("SM120-MXFP4-MARLIN-EP", f"--{MOE} marlin --ep-size 8", model=V4_NATIVE, version="0.5.16"),
    silent("SM120-MXFP4-MARLIN-EP", f"--{MOE} marlin --ep-size 8", model=V4_NATIVE, card=H200),
    silent("SM120-MXFP4-MARLIN-EP", f"--{MOE} marlin --ep-size 8", model=V3),
    fires("DEEPEP-SM120", f"--{A2A} deepep", flag(A2A), "warning"),
    silent("DEEPEP-SM120", f"--{A2A} deepep", card=H200),
    silent("DEEPEP-SM120", f"--{A2A} none"),
    fires("DEEPEP-BUFFER", f"{DEEPEP} 4096 --tp-size 8", flag("max-running-requests"), says="512 tokens", card=H200),
    fires(
        "DEEPEP-BUFFER",
        f"{DEEPEP} 512 --tp-size 8 {EAGLE} --speculative-num-draft-tokens 4",
        flag("max-running-requests"),
        says="room for 200",
        card=H200,
        env={BUFFER: "200"},
    ),
    silent("DEEPEP-BUFFER", f"{DEEPEP} 1024 --tp-size 8", card=H200),
    silent("DEEPEP-BUFFER", f"{DEEPEP} 4096 --tp-size 8", card=H200, env={BUFFER: "512"}),
    silent("DEEPEP-BUFFER", f"{DEEPEP} 4096 --tp-size 8 --deepep-mode normal", card=H200),
    silent("DEEPEP-BUFFER", f"{DEEPEP} 4096 --tp-size 8 {EAGLE}", card=H200),  # nobody says how many drafts
    silent("DEEPEP-BUFFER", f"--{A2A} deepep --tp-size 8", card=H200),
    silent("DEEPEP-BUFFER", "--max-running-requests 4096", card=H200),
    silent("DEEPEP-BUFFER", "", card=H200, roles={"prefill": f"{DEEPEP} 4096"}),
]
NVFP4 = [
    fires("DSV4-NVFP4-MTP", EAGLE, flag("speculative-algorithm"), says="may fail"),
    fires("DSV4-NVFP4-MTP", EAGLE, flag("speculative-algorithm"), "warning", version="0.5.23"),
    fires("DSV4-NVFP4-MTP", EAGLE, flag("speculative-algorithm"), "warning", stack=False),
    silent("DSV4-NVFP4-MTP", EAGLE, patches=RUNNER),
    silent("DSV4-NVFP4-MTP", EAGLE, model=V4_NATIVE),
    silent("DSV4-NVFP4-MTP", EAGLE, version="0.5.13"),
    silent("DSV4-NVFP4-MTP", EAGLE, card=H200),
    silent("DSV4-NVFP4-MTP", ""),
    fires("NVFP4-CUTLASS-CLAMP", f"--{MOE} flashinfer_cutlass", flag(MOE), "warning", "SwiGLU clamp"),
    fires("NVFP4-CUTLASS-CLAMP", f"--{MOE} flashinfer_cutlass", flag(MOE), "warning", version="0.5.20", card=H200),
    silent("NVFP4-CUTLASS-CLAMP", f"--{MOE} flashinfer_cutlass", version="0.5.21"),
    silent("NVFP4-CUTLASS-CLAMP", f"--{MOE} flashinfer_cutlass", patches=RUNNER),
    fires("NVFP4-CUTLASS-CLAMP", f"--{MOE} triton", flag(MOE), says="direct CUTLASS"),
    fires("NVFP4-CUTLASS-CLAMP", f"--{MOE} cutlass", flag(MOE), says="has no cutlass", version="0.5.16"),
    silent("NVFP4-CUTLASS-CLAMP", f"--{MOE} marlin"),
    silent("NVFP4-CUTLASS-CLAMP", f"--{MOE} triton", model=V4_NATIVE),
    silent("NVFP4-CUTLASS-CLAMP", ""),
]
ROWS = RUNNERS + PARALLEL + NVFP4


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_what_a_rule_says_of_a_command(row: Row) -> None:
    check(row, RULES)


def test_every_rule_has_a_row_that_fires_and_one_that_does_not() -> None:
    for rule in RULES:
        assert {bool(row.place) for row in ROWS if row.rule == rule.id} == {True, False}, rule.id
