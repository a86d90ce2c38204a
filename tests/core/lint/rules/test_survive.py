"""No rule breaks on any command: values of the wrong kind, missing ones, twice the same flag, roles alone."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from stackctl.core.lint.argv import read
from stackctl.core.lint.catalogue import RULES
from stackctl.core.lint.rules.own import RULE_FAILED
from stackctl.core.lint.run import run
from stackctl.core.lint.setup import Card, ModelView, Process, Setup
from stackctl.core.upstream.values import History, Replacement, Span
from tests.core.lint.setups import table

SPEAKING = tuple(
    f"--{name}"
    for name in """tp-size dp-size pp-size ep-size page-size chunked-prefill-size kv-cache-dtype moe-runner-backend
    moe-a2a-backend attention-backend speculative-algorithm speculative-eagle-topk speculative-num-draft-tokens
    disaggregation-transfer-backend disaggregation-mode enable-hierarchical-cache max-running-requests context-length
    tool-call-parser reasoning-parser chat-template port host base-gpu-id mem-fraction-static config prefill decode
    pd-disaggregation health-check-interval-secs cuda-graph-bs-decode disaggregation-bootstrap-port served-model-name
    moe-dense-tp-size enable-dp-attention nope tp trust-remote""".split()  # noqa: SIM905 (a list to read)
)
VALUES = (
    "0",
    "-1",
    "4",
    "1e9",
    "x",
    "",
    "auto",
    "nixl",
    "marlin",
    "fp8_e4m3",
    "EAGLE",
    "http://a:1",
    "none",
    "a:b",
    "[",
)
WORD = st.sampled_from((*SPEAKING, *VALUES, "--port=", "--tp-size=4=5", "--", "-h", "-"))
ENV = st.dictionaries(
    st.sampled_from(
        ("SGLANG_DSV4_FP4_EXPERTS", "SGLANG_REQ_WAITING_TIMEOUT", "SGLANG_X", "NCCL_TIMEOUT", "CUDA_VISIBLE_DEVICES",
         "SGLANG_OPT_FLASHMLA_SPARSE_PREFILL", "SGLANG_DEEPEP_NUM_MAX_DISPATCH_TOKENS_PER_RANK", "SGL_Y")
    ),
    st.sampled_from(VALUES),
    max_size=4,
)  # fmt: skip
FAMILIES = st.sampled_from((None, "deepseek-v4", "deepseek-v4.1", "deepseek-v3.2", "glm-dsa"))
EXPERTS = st.sampled_from((None, "mxfp4", "nvfp4", "fp8", "bf16"))
CARDS = st.sampled_from((None, Card(), Card("sm_120", 8, 96 << 30), Card("sm_90"), Card("sm_89", 1, 24 << 30)))
HISTORY = History(
    ("0.5.12", "0.5.23"),
    {"--nope": (Span("0.5.9", "0.5.13"), Span("0.5.30"))},
    replacements={"--nope": Replacement("0.5.13", "--nope")},
)


@st.composite
def setups(draw: st.DrawFn) -> Setup:
    version = draw(st.sampled_from(("0.5.9", "0.5.12", "0.5.15", "0.5.23", None)))
    known = replace(table(version or "0.5.15"), version=version)
    roles = draw(st.lists(st.sampled_from(("prefill", "decode", "single", "router")), max_size=4))
    processes = []
    for index, role in enumerate(roles):
        argv = tuple(draw(st.lists(WORD, max_size=12)))
        own = None if role == "router" else known
        options, left = read(argv, own)
        module = draw(st.sampled_from(("sglang.launch_server", "sglang serve", "sglang.srt.disaggregation.mini_lb")))
        gpus = tuple(draw(st.lists(st.integers(0, 7), max_size=3)))
        processes.append(
            Process(f"{role}-{index}", role, module, argv, options, left, draw(ENV), draw(st.sampled_from((None, "a"))),
                    gpus, draw(CARDS), table=own)  # type: ignore[arg-type]
        )  # fmt: skip
    model = ModelView("/m", draw(FAMILIES), draw(EXPERTS))
    return Setup(known, HISTORY, tuple(processes), model, complete=draw(st.booleans()))


@settings(max_examples=100)
@given(setups())
def test_no_rule_breaks(made: Setup) -> None:
    fired = run(made, RULES)
    assert [one.hit.message for one in fired if one.rule is RULE_FAILED] == []
    assert all(one.hit.message and one.hit.place.name is not None for one in fired)
