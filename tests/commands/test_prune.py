"""`stackctl prune` on a stack that is deployed for real."""

from __future__ import annotations

import pytest

from stackctl.commands.deploying.holding import held
from stackctl.commands.deploying.prune import prune
from stackctl.commands.gather import load
from stackctl.commands.site import site_of
from stackctl.errors import Held
from stackctl.output.prune import size
from tests.commands.deployed import World


@pytest.mark.slow
def test_what_nothing_refers_to_goes_and_what_serves_stays(world: World) -> None:
    made = [world.deploy_as(flags=f"page-size: {number}").release for number in (1, 2, 3, 4)]
    world.write(flags="page-size: 4", keep=1)
    store = world.home.parent / "store"
    (store / "environments" / "0123" / "bin").mkdir(parents=True)
    (store / "environments" / "0123" / "bin" / "python").write_bytes(b"x" * 5000)
    would = prune(world.ports, world.selection, dry_run=True)
    wanted = {("release", made[0]), ("release", made[1]), ("environment", "0123")}
    assert {(one.kind, one.name) for one in would.gone} == wanted
    assert would.size > 5000 and (store / "environments" / "0123").exists()
    done = prune(world.ports, world.selection)
    assert done.gone == would.gone and not done.dry_run
    assert {path.name for path in (world.root / "releases").iterdir()} == set(made[2:])
    assert not (store / "environments" / "0123").exists()
    assert world.answers() == made[3] and world.is_free()
    assert prune(world.ports, world.selection).gone == ()


@pytest.mark.slow
def test_it_waits_for_nobody_and_looks_without_the_hold(world: World) -> None:
    world.deploy()
    with site_of(world.ports, load(world.ports, world.selection)) as site, held(site, "stackctl deploy"):
        with pytest.raises(Held):
            prune(world.ports, world.selection)
        assert prune(world.ports, world.selection, dry_run=True).gone == ()


def test_a_stack_that_was_never_deployed_leaves_no_folder(world: World) -> None:
    assert prune(world.ports, world.selection).gone == ()
    assert not world.root.exists()


def test_sizes_are_short() -> None:
    assert [size(count) for count in (0, 1023, 1536, 5 << 20, 3 << 30)] == [
        "0 B",
        "1023 B",
        "1.5 KiB",
        "5.0 MiB",
        "3.0 GiB",
    ]
