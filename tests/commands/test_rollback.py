"""Rollback, restart and logs, for real: the same gated path as a deploy."""

from __future__ import annotations

import shutil

import pytest

from stackctl.commands.deploying.logs import Log, LogsRequest, logs
from stackctl.commands.deploying.restart import restart
from stackctl.commands.deploying.rollback import RollbackRequest, rollback
from stackctl.commands.deploying.status import status
from stackctl.errors import GateFailed, StackctlError, UsageError
from tests.commands.deployed import World

pytestmark = pytest.mark.slow


def test_twice_in_a_row_swaps(world: World) -> None:
    request = RollbackRequest(world.selection)
    with pytest.raises(StackctlError, match="no release of tiny served before"):
        rollback(world.ports, request)
    first = world.deploy()
    with pytest.raises(StackctlError, match="no release of tiny served before"):
        rollback(world.ports, request)
    second = world.deploy_as(flags="page-size: 7")
    back = rollback(world.ports, request)
    assert (back.outcome, back.release, back.previous) == ("rolled back", first.release, second.release)
    assert world.answers() == first.release
    assert rollback(world.ports, request).release == second.release
    with pytest.raises(StackctlError, match="serves already"):
        rollback(world.ports, RollbackRequest(world.selection, to=second.release))
    with pytest.raises(StackctlError, match="release 0123456789ab is not there"):
        rollback(world.ports, RollbackRequest(world.selection, to="0123456789ab"))


def test_refused_before_anything_stops_and_restored_when_it_fails(world: World) -> None:
    first = world.deploy()
    second = world.deploy_as(flags="page-size: 7")
    tree = next((world.root / "trees").glob("*/python")).parent
    shutil.move(tree, world.folder / "aside")
    with pytest.raises(StackctlError, match="it is not there"):
        rollback(world.ports, RollbackRequest(world.selection))
    shutil.move(world.folder / "aside", tree)
    assert world.answers() == second.release
    (world.root / "releases" / first.release / "serve-single-0.sh").write_text("echo I broke; exit 3\n")
    with pytest.raises(GateFailed, match="I broke"):
        rollback(world.ports, RollbackRequest(world.selection))
    assert world.answers() == second.release and world.is_free()


def test_restart_and_logs(world: World) -> None:
    with pytest.raises(StackctlError, match="nothing of tiny serves"):
        restart(world.ports, world.selection)
    first = world.deploy()
    before = status(world.ports, world.selection).instances[0].pid
    result = restart(world.ports, world.selection)
    assert (result.outcome, result.release) == ("restarted", first.release)
    assert status(world.ports, world.selection).instances[0].pid != before
    found: list[Log] = []
    logs(world.ports, LogsRequest(world.selection, "single", lines=1000), found.append)
    assert [log.instance for log in found] == ["single-0"] and "tiny engine on" in found[0].text
    with pytest.raises(UsageError, match="no prefill"):
        logs(world.ports, LogsRequest(world.selection, "prefill"), found.append)
