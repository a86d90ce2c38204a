"""Rules on single engines: chunks and pages, names, pipeline stages, dense layers, crash dumps."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from stackctl.core.lint.rules import serving
from stackctl.core.lint.setup import Card, ModelView
from tests.core.lint.heard import Case, asked, judged
from tests.core.lint.rows import STACK
from tests.core.lint.setups import H200, setup

RULES = serving.RULES
OTHER = ModelView("/models/m")
B200 = Card("sm_100", 8, 180 << 30)
DP = "--tp-size 8 --dp-size 8 --enable-dp-attention"


def one(rule: str, command: str, place: str = "", *says: str, **more: Any) -> Case:
    role, severity = more.pop("role", "single"), more.pop("severity", "error")
    return Case(rule, {role: command}, place and f"{place}@{role}-0", says, severity, {"model": OTHER, **more})


V4 = {"model": ModelView("/models/DeepSeek-V4-Flash", "deepseek-v4", source="name")}
CASES = [
    one("CHUNK-PAGE", "--chunked-prefill-size 1000 --page-size 64", "chunked-prefill-size", "page of 64", "write 960"),
    one("CHUNK-PAGE", "--chunked-prefill-size 10 --page-size 64", "chunked-prefill-size", "write 64"),
    one("CHUNK-PAGE", "--chunked-prefill-size 8192 --page-size 64"),
    one("CHUNK-PAGE", "--chunked-prefill-size 1000"),
    one("CHUNK-PAGE", "--page-size 3000"),
    one("CHUNK-PAGE", "--chunked-prefill-size -1 --page-size 64"),
    one("CHUNK-PAGE", "--chunked-prefill-size 1000 --page-size 64", role="decode"),
    one("CHUNK-PAGE", "--chunked-prefill-size 1000 --page-size 64", "chunked-prefill-size", role="prefill"),
    one("CHUNK-PAGE", "--chunked-prefill-size 384 --page-size 256 --attention-backend flashmla"),
    one("CHUNK-PAGE", "--chunked-prefill-size 384 --page-size 256", card=B200),
    one("CHUNK-PAGE", "--chunked-prefill-size 384 --page-size 256", "chunked-prefill-size", card=H200),
    one("CHUNK-PAGE", "--chunked-prefill-size 4000", "chunked-prefill-size", "page of 256", "write 3840", **V4),
    one("CHUNK-PAGE", "--chunked-prefill-size 4096", **V4),
    one("CHUNK-PAGE", "--chunked-prefill-size 4000 --device npu", **V4),
    one("CHUNK-PAGE", f"--chunked-prefill-size 1024 {DP}", "chunked-prefill-size", "takes 128", "write 2048", **V4),
    one("CHUNK-PAGE", f"--chunked-prefill-size 4096 {DP}", **V4),
    one(
        "CHUNK-PAGE",
        "--chunked-prefill-size 1024 --attn-dp-size 8",
        "chunked-prefill-size",
        "8 attention ranks",
        version="0.5.23",
        **V4,
    ),
    one("SERVED-NAME-COLON", "--served-model-name m:v1", "served-model-name", "m:v1", "write m-v1"),
    one("SERVED-NAME-COLON", "--served-model-name m-v1"),
    one("SERVED-NAME-COLON", "--served-model-name s3://bucket/m"),
    one("SERVED-NAME-COLON", ""),
    one("PP-OVERLAP", "--pp-size 2", "pp-size", "switches the overlap schedule off", severity="info"),
    one("PP-OVERLAP", "--pp-size 2 --disable-overlap-schedule"),
    one("PP-OVERLAP", "--tp-size 2"),
    one("PP-OVERLAP", "--pp-size 2 --speculative-algorithm EAGLE", "pp-size", "refuses", "EAGLE"),
    one("PP-OVERLAP", "--pp-size 2 --speculative-algorithm NGRAM", "pp-size", "NGRAM", version="0.5.20"),
    one(
        "PP-OVERLAP",
        "--pp-size 2 --speculative-algorithm EAGLE --disable-overlap-schedule",
        version="0.5.21",
    ),
    one("PP-OVERLAP", "--pp-size 2 --speculative-algorithm NGRAM", "pp-size", "NGRAM", version="0.5.23"),
    one("PP-OVERLAP", "--pp-size 2 --speculative-algorithm DSPARK", "pp-size", "DSPARK", version="0.5.23"),
    one(
        "PP-OVERLAP",
        "--pp-size 2 --speculative-algorithm DSPARK --disable-overlap-schedule",
        role="prefill",
        version="0.5.23",
    ),
    one("MOE-DENSE-TP", "--tp-size 8 --moe-dense-tp-size 4", "moe-dense-tp-size", "takes 1 or 8"),
    one("MOE-DENSE-TP", "--tp-size 8 --moe-dense-tp-size 8"),
    one("MOE-DENSE-TP", "--tp-size 8 --moe-dense-tp-size 8", "moe-dense-tp-size", "takes 1", version="0.5.12"),
    one("MOE-DENSE-TP", "--tp-size 8 --moe-dense-tp-size 1", version="0.5.12"),
    one("MOE-DENSE-TP", "--tp-size 8"),
    one("CRASH-DUMP", "", "crash-dump-folder", "five minutes", severity="info"),
    one("CRASH-DUMP", "--crash-dump-folder /var/crash"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_an_engine(case: Case) -> None:
    asked(case, RULES)


def test_a_fork_without_a_release_has_the_models_pages_too() -> None:
    made = setup(single="--chunked-prefill-size 4000 --page-size 64", **V4)
    nameless = replace(made, upstream=replace(made.upstream, version=None))
    judged(nameless, Case("CHUNK-PAGE", {}, "chunked-prefill-size@single-0", ("page of 256",)), RULES)


def test_a_file_of_commands_is_told_once_and_a_stack_at_each_engine() -> None:
    roles = {"prefill": "", "decode": ""}
    asked(Case("CRASH-DUMP", roles, "crash-dump-folder@prefill-0", (), "info"), RULES)
    places = "crash-dump-folder@prefill-0 crash-dump-folder@decode-0"
    judged(replace(setup(**roles), stack=STACK), Case("CRASH-DUMP", {}, places, (), "info"), RULES)
