"""A deploy refuses what the linter calls an error, before a host is asked; a variant and a bisect are not linted."""

from __future__ import annotations

import pytest

from stackctl.commands.deploying.deploy import DeployRequest, deploy
from stackctl.errors import InvalidFile
from tests.commands.deployed import World

UNKNOWN = "no-such-flag: 1"


def test_an_error_refuses_the_plan_and_the_deploy_and_says_the_way_out(world: World) -> None:
    world.write(flags=UNKNOWN)
    for dry_run in (True, False):
        with pytest.raises(InvalidFile) as caught:
            world.deploy(dry_run=dry_run)
        (problem,) = caught.value.problems
        assert str(problem).endswith(
            "tiny.yaml:4:37: serve.flags.no-such-flag: FLAG-UNKNOWN: tiny has no flag --no-such-flag"
        )
        assert caught.value.exit_code == 2
        assert "# stackctl: ignore RULE because" in (caught.value.hint or "")
    assert not world.root.exists()


def test_what_the_stack_calls_a_warning_is_told_with_the_plan(world: World) -> None:
    world.write(flags=UNKNOWN, more="lint: {severity: {FLAG-UNKNOWN: warning}}")
    (warning,) = world.deploy(dry_run=True).warnings
    assert warning.endswith("FLAG-UNKNOWN: tiny has no flag --no-such-flag")
    world.write(flags=UNKNOWN, more="lint: {severity: {FLAG-UNKNOWN: off}}")
    assert world.deploy(dry_run=True).warnings == ()


def test_a_variant_and_a_bisect_are_not_linted(world: World) -> None:
    world.write(flags=f"{UNKNOWN}, behave: well")
    world.without("flag:behave")
    assert world.deploy(dry_run=True).outcome == "planned"
    planned = deploy(world.ports, DeployRequest(world.plain, dry_run=True, lint=False))
    assert (planned.outcome, planned.warnings) == ("planned", ())


def test_a_severity_of_no_rule_is_a_mistake_of_the_file(world: World) -> None:
    world.write(more="lint: {severity: {FLAG-UNKNOWM: warning}}")
    with pytest.raises(InvalidFile, match="no rule is called FLAG-UNKNOWM"):
        world.deploy(dry_run=True)
