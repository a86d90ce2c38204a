"""Settings for all tests."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

# a busy machine is no fault of the code
settings.register_profile("stackctl", deadline=None)
settings.load_profile("stackctl")

TESTS = Path(__file__).parent
# files that start no server and measure no time: they may run beside the others, which stay in one process, in order
BESIDE = (
    "adapters/test_files.py", "adapters/test_git.py", "adapters/test_index.py", "adapters/test_process.py",
    "adapters/test_revisions.py", "adapters/test_scratch.py", "adapters/test_worktrees.py", "commands/test_authoring",
    "commands/test_bisect", "commands/test_changes.py", "commands/test_check", "commands/test_doctor.py",
    "commands/test_engines_real.py", "commands/test_gather.py", "commands/test_graph.py", "commands/test_hostile.py",
    "commands/test_importing", "commands/test_init.py", "commands/test_inventory.py", "commands/test_lint",
    "commands/test_patches.py", "commands/test_planning.py", "commands/test_rebase", "commands/test_requeue.py",
    "commands/test_review.py", "commands/test_site.py", "commands/test_sources.py", "commands/test_stack_verbs.py",
    "commands/test_tree.py", "commands/test_upstream", "commands/test_verified.py", "core/",
    "onhost/test_bytecode.py", "onhost/test_doctor.py", "onhost/test_facts.py", "onhost/test_imported.py",
    "onhost/test_masks.py", "onhost/test_programs.py", "onhost/test_safetensors.py", "onhost/test_tidy.py",
    "onhost/test_tree.py", "output/", "standin/test_model.py", "standin/test_rooms.py", "standin/test_store.py",
    "test_cli.py",
)  # fmt: skip


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--half", choices=("servers", "beside"), help="Only tests that start servers, or only the others.")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    half = config.getoption("half")
    if half:  # the other half is running too: no time to measure anything in seconds
        left_out = [item for item in items if _measures(item) or _is_beside(item) != (half == "beside")]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in set(left_out)]


def _measures(item: pytest.Item) -> bool:
    return item.path.relative_to(TESTS).as_posix() in ("bench/test_check.py", "bench/test_tables.py")


def _is_beside(item: pytest.Item) -> bool:
    return item.path.relative_to(TESTS).as_posix().startswith(BESIDE) and not item.get_closest_marker("ssh")


@pytest.fixture(autouse=True)
def no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Output is as wide as its text, whatever the terminal or the worker that runs the tests says."""
    monkeypatch.delenv("COLUMNS", raising=False)
