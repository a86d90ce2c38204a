"""What is not as it was made never starts: a patched tree that was edited on disk, an environment with a hole in it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.real.conftest import Cli, processes

pytestmark = [pytest.mark.real, pytest.mark.timeout(2400)]


@contextmanager
def without(path: Path) -> Iterator[None]:
    """`path` is out of the way for a while, and comes back as it was."""
    aside = path.with_name(path.name + ".aside")
    path.rename(aside)
    try:
        yield
    finally:
        if path.exists():
            path.unlink()
        aside.rename(path)


def test_an_edited_tree_and_a_holed_environment_do_not_start(cli: Cli, stack: str) -> None:
    cli.ok("deploy", stack)
    home = Path.home() / ".stackctl" / stack
    record = json.loads((home / "current" / "record.json").read_text())
    served = sorted(processes(stack))

    edited = home / "trees" / record["tree"] / "python/sglang/srt/managers/detokenizer_manager.py"
    text = edited.read_text()
    with without(edited):
        edited.write_text(text + "# a quick fix on the machine\n")
        said = cli.run("restart", stack, "--yes")
        assert said.returncode == 1 and "detokenizer_manager.py" in said.stderr
    assert sorted(processes(stack)) == served  # what served was not touched

    package = Path(record["python"]).expanduser().parents[1] / "lib/python3.11/site-packages/orjson/__init__.py"
    with without(package):
        said = cli.run("restart", stack, "--yes")
        assert said.returncode == 1 and "orjson" in said.stderr
    assert sorted(processes(stack)) == served

    cli.ok("restart", stack, "--yes")
    assert not set(processes(stack)) & set(served)
