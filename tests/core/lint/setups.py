"""Setups for tests of rules, written as one would write the commands."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from stackctl.core.lint.argv import read
from stackctl.core.lint.setup import Card, ModelView, Process, Setup
from stackctl.core.upstream.values import EnvVar, Flag, History, Upstream

CASES = Path(__file__).parents[2] / "cases" / "flags"
SM120 = Card("sm_120", 8, 96 << 30)
H200 = Card("sm_90", 8, 141 << 30)
V4_NVFP4 = ModelView("/models/DeepSeek-V4-Flash-NVFP4", "deepseek-v4", "nvfp4", "nvfp4", source="stack")
V4_NATIVE = ModelView("/models/DeepSeek-V4-Flash", "deepseek-v4", "mxfp4", source="name")
TABLES = ("0.5.12", "0.5.15", "0.5.23")


@cache
def table(version: str = "0.5.15") -> Upstream:
    """The given table of the nearest release that is not newer (the oldest for older ones), under this version."""
    near = max((one for one in TABLES if one <= version), default=TABLES[0])
    said = json.loads((CASES / f"sglang-{near}.json").read_text())
    env = json.loads((CASES / "env-0.5.15.json").read_text())
    flags = tuple(
        Flag(
            tuple(one["names"]),
            one["dest"],
            one["nargs"],
            None if one["choices"] is None else tuple(map(str, one["choices"])),
            one["default"],
            one["required"],
            one["deprecated"],
        )
        for one in said["flags"]
    )
    variables = {name: EnvVar(name, "registry") for name in env["registry"]}
    return Upstream("sglang", version, "annotated", flags, variables)


def process(role: str, command: str, *, index: int = 0, version: str = "0.5.15", **more: object) -> Process:
    """`command`: options only. `more`: other fields of Process."""
    known = None if role == "router" else table(version)
    argv = tuple(shlex.split(command))
    options, left = read(argv, known)
    module = "sglang_router.launch_router" if role == "router" else "sglang.launch_server"
    return Process(f"{role}-{index}", role, module, argv, options, left, table=known, **more)  # type: ignore[arg-type]


def setup(
    *,
    version: str = "0.5.15",
    model: ModelView = V4_NVFP4,
    card: Card | None = SM120,
    env: Mapping[str, str] | None = None,
    patches: frozenset[str] = frozenset(),
    **commands: str,
) -> Setup:
    """`setup(prefill="--tp-size 4", decode="…", router="…")`; `env` is every engine's."""
    made = tuple(
        process(role, text, version=version, card=None if role == "router" else card, env=dict(env or {}))
        for role, text in commands.items()
    )
    return Setup(table(version), History(()), made, model, patches)
