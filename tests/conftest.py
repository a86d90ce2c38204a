"""Settings for all tests."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import settings

# a busy machine is no fault of the code
settings.register_profile("stackctl", deadline=None)
settings.load_profile("stackctl")

TESTS = Path(__file__).parent
# files that start no server and measure no time may run on any worker of `pytest -n`; all others stay on one, in order
ANYWHERE = (
    "core/", "output/", "adapters/test_files.py", "adapters/test_git.py", "adapters/test_revisions.py",
    "adapters/test_worktrees.py", "commands/test_authoring", "commands/test_changes.py",
    "commands/test_engines_real.py", "commands/test_gather.py", "commands/test_graph.py", "commands/test_hostile.py",
    "commands/test_importing", "commands/test_inventory.py", "commands/test_patches.py", "commands/test_planning.py",
    "commands/test_rebase", "commands/test_requeue.py", "commands/test_review.py", "commands/test_stack_verbs.py",
    "commands/test_tree.py", "commands/test_verified.py", "test_cli.py",
)  # fmt: skip


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    for item in items:
        name = item.path.relative_to(TESTS).as_posix()
        if item.get_closest_marker("ssh") or not name.startswith(ANYWHERE):
            item.add_marker(pytest.mark.xdist_group("servers"))


@pytest.fixture(autouse=True)
def no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Output is as wide as its text, whatever the terminal or the worker that runs the tests says."""
    monkeypatch.delenv("COLUMNS", raising=False)
