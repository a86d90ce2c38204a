"""The stack files of this repository: the example is the manual, prod is meant to be used."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import get_args

import pytest
from pydantic import BaseModel

from stackctl.commands.gather import load
from stackctl.commands.selection import Selection
from stackctl.core.render.launch import launches
from stackctl.core.stack import present
from stackctl.core.stack.model import StackKeys
from stackctl.core.stack.resolved import ResolvedStack
from tests.workspaces import ports_of

ROOT = Path(__file__).parents[3]
FILES = {
    path.relative_to(ROOT).as_posix(): path.read_text()
    for pattern in ("stacks/*.yaml", "patches/**/*.patch", "stacks/standin/**/*.py", "stacks/cpu/**/*")
    for path in sorted(ROOT.glob(pattern))
    if path.is_file() and "__pycache__" not in path.parts
}
WHOLE = sorted(
    Path(name).stem for name, text in FILES.items() if re.match(r"stacks/[^/]*\.yaml", name) and "stack:" in text
)


def loaded(name: str) -> ResolvedStack:
    return load(ports_of(FILES), Selection(name))


def fields_of(kind: object) -> Iterator[tuple[str, str]]:
    """(model, key) of every field below a model."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        for name, field in kind.model_fields.items():
            yield kind.__name__, field.alias or name
            yield from fields_of(field.annotation)
    for part in get_args(kind):
        yield from fields_of(part)


@pytest.mark.parametrize("name", WHOLE)
def test_every_shipped_stack_is_valid_and_reads_back(name: str) -> None:
    text = present.text(loaded(name))
    again = load(ports_of({**FILES, f"stacks/{name}.yaml": text}), Selection(name))
    assert present.text(again) == text


def test_the_example_has_every_key_of_the_model() -> None:
    text = FILES["stacks/example.yaml"]
    missing = {f"{model}.{key}" for model, key in fields_of(StackKeys) if not re.search(rf"(?<![\w-]){key}:", text)}
    assert not missing
    assert {"without", "append"} <= set(re.findall(r"^(\w+):", text, re.MULTILINE))


def test_every_line_of_the_example_that_opens_a_part_has_a_comment_near() -> None:
    lines = FILES["stacks/example.yaml"].splitlines()
    bare = [line for line, after in pairwise(lines) if line.endswith(":") and "#" not in line + after]
    known = {
        "hosts:",
        "tests:",
        "bisect:",
        "model:",
        "  c60-toolcalls:",
        "  router:",
        "  flashinfer:",
        "  box:",
        "  decode:",
        "  smoke:",
    }
    assert set(bare) <= known


def table() -> dict[str, dict[str, object]]:
    flags = json.loads((ROOT / "tests/cases/flags/sglang-0.5.15.json").read_text())["flags"]
    return {name: flag for flag in flags for name in flag["names"]}


@pytest.mark.parametrize("name", ["prod", "example"])
def test_every_engine_flag_is_one_of_sglang_0_5_15(name: str) -> None:
    known = table()
    for launch in launches(loaded(name)):
        if launch.role == "router":
            continue
        flags = [word for word in launch.argv if word.startswith("--")]
        assert not [flag for flag in flags if flag not in known]
        assert not [flag for flag in flags if known[flag]["deprecated"]]
        for flag, value in zip(launch.argv, launch.argv[1:], strict=False):
            choices = known.get(flag, {}).get("choices")
            assert not isinstance(choices, list) or value in choices, (flag, value)


def test_prod_is_what_its_operator_expects() -> None:
    stack = loaded("prod")
    prefill, decode, router = stack.instances
    assert (prefill.gpus, decode.gpus) == ((0, 1, 2, 3), (4, 5, 6, 7))
    assert stack.hosts["gpu1"].purpose == "production"
    assert stack.model.path == "/models/DeepSeek-V4-Flash-NVFP4"
    assert "enable-hierarchical-cache" not in decode.flags  # decode stops at its start with it
    chunk = prefill.flags["chunked-prefill-size"]
    assert isinstance(chunk, int)
    assert chunk % 256 == 0
    for flag in ("kv-cache-dtype", "disaggregation-transfer-backend", "context-length", "tp-size"):
        assert prefill.flags[flag] == decode.flags[flag]  # both sides compare them, or must agree
    assert router.port == 31000


def test_every_comment_of_prod_names_patches_as_the_queue_will_call_them() -> None:
    text = FILES["stacks/dsv4-flash-nvfp4.yaml"] + FILES["stacks/prod.yaml"]
    for name in (
        "nvfp4/sm120-moe-runner",
        "index-k/paged-logits-triton",
        "pd/nixl-state-components",
        "pd/nixl-abort-race",
    ):
        assert name in text
