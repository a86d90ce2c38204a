"""Rendered scripts against tests/golden/render/CASE/expect/, rewritten by `just golden`; a shell reads each of them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from stackctl.commands.gather import load
from stackctl.core.render.launch import launches
from stackctl.core.render.release_id import release_id
from stackctl.core.render.scripts import ENGINE_TEMPLATE, ROUTER_TEMPLATE, Press, serve_scripts
from tests.workspaces import GOLDEN, MAIN, folder_of, golden, ports_of, tree_id

CASES = sorted(path.name for path in (GOLDEN / "render").iterdir())
TREE = tree_id("tree")


def rendered(name: str, version: str = "1.2.3") -> dict[str, str]:
    files = {file: text for file, text in folder_of(GOLDEN / "render" / name).items() if not file.startswith("expect/")}
    ports = ports_of(files)
    stack = load(ports, MAIN)
    started = launches(stack)
    templates = {file: ports.templates.text(file, "/ws") for file in (ENGINE_TEMPLATE, ROUTER_TEMPLATE)}
    sources = {name: tree_id(name) for name in stack.sources}
    release = release_id(stack, {"sglang": TREE, **sources}, started)
    return serve_scripts(stack, TREE, release, started, Press(templates, version, sources=sources))


@pytest.mark.parametrize("name", CASES)
def test_scripts_are_the_golden_ones(name: str) -> None:
    scripts = rendered(name)
    for file, text in scripts.items():
        golden(GOLDEN / "render" / name / "expect" / file, text)
    assert {path.name for path in (GOLDEN / "render" / name / "expect").iterdir()} == set(scripts)


@pytest.mark.parametrize("name", CASES)
def test_shells_and_shellcheck_accept_them(name: str) -> None:
    scripts = [str(path) for path in sorted((GOLDEN / "render" / name / "expect").glob("*.sh"))]
    for shell in ("bash", "sh"):
        for script in scripts:
            subprocess.run([shell, "-n", script], check=True, timeout=30)
    shellcheck = Path(sys.executable).with_name("shellcheck")
    done = subprocess.run([shellcheck, *scripts], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout


def test_only_the_header_knows_the_version() -> None:
    old, new = rendered("pd-one-machine", "1.2.3"), rendered("pd-one-machine", "9.9.9")
    assert {name: text.replace("1.2.3", "9.9.9") for name, text in old.items()} == new
