"""Serving with a patched tree of another source: on the path after sglang's, proved like it before every start."""

from __future__ import annotations

import json

import pytest

from stackctl.commands.deploying.deploy import DeployRequest, deploy
from stackctl.commands.deploying.restart import restart
from stackctl.commands.deploying.status import status
from stackctl.core.deploy.values import DeployResult
from stackctl.errors import StackctlError
from tests.commands.deployed import World

pytestmark = pytest.mark.slow
PATCH = """\
From 0000000000000000000000000000000000000000 Mon Sep 17 00:00:00 2001
Subject: [PATCH] Say another word

Source: extra
---
diff --git a/python/more/__init__.py b/python/more/__init__.py
index 1111111..2222222 100644
--- a/python/more/__init__.py
+++ b/python/more/__init__.py
@@ -1 +1 @@
-WORD = "base"
+WORD = "patched"
"""
MORE = "sources: {extra: {path: extra}}\npatches: [x/word]"
NEEDS_IT = "import more\n\nassert more.WORD == 'patched', more.__file__\n"


@pytest.fixture
def two(world: World) -> World:
    """A workspace whose engine imports a package of the other source, and ends when it is not the patched one."""
    extra = world.folder / "stacks/extra/python/more/__init__.py"
    extra.parent.mkdir(parents=True)
    extra.write_text('WORD = "base"\n')
    patch = world.folder / "patches/x/word.patch"
    patch.parent.mkdir(parents=True)
    patch.write_text(PATCH)
    serve = world.folder / "stacks/engine/python/tiny/serve.py"
    serve.write_text(serve.read_text().replace("import argparse\n", NEEDS_IT + "import argparse\n", 1))
    world.write(more=MORE)
    return world


def served(world: World) -> DeployResult:
    result = world.deploy()
    assert world.answers() == result.release
    return result


def record(world: World) -> dict[str, object]:
    return dict(json.loads((world.root / "current" / "record.json").read_text()))


def test_the_patched_tree_of_a_source_serves(two: World) -> None:
    plan = deploy(two.ports, DeployRequest(two.selection, dry_run=True)).plan
    assert any("upload tree" in line and "(1 patch on extra), verified there" in line for line in plan)
    served(two)
    (tree,) = dict(record(two)["sources"]).values()  # type: ignore[call-overload]
    text = (two.root / "trees" / tree / "python/more/__init__.py").read_text()
    assert text == 'WORD = "patched"\n'
    assert status(two.ports, two.plain).sources == {"extra": tree}
    assert sorted(path.name for path in (two.root / "trees").glob("*") if path.is_dir()) == sorted(
        [tree, str(record(two)["tree"])]
    )


def test_what_was_tampered_with_does_not_start(two: World) -> None:
    served(two)
    (tree,) = dict(record(two)["sources"]).values()  # type: ignore[call-overload]
    file = two.root / "trees" / tree / "python/more/__init__.py"
    file.unlink()
    file.write_text('WORD = "patched"  # twice\n')
    with pytest.raises(StackctlError, match=rf"tree {tree} was tampered with.*python/more/__init__\.py was changed"):
        restart(two.ports, two.plain)
    assert two.answers()


def test_a_package_that_would_come_from_elsewhere_is_refused(two: World) -> None:
    other = two.folder / "stacks/engine/python/more"
    other.mkdir()
    (other / "__init__.py").write_text("WORD = 'patched'\n")
    with pytest.raises(
        StackctlError, match=r"would take more from .*/more/__init__\.py, not from tree .* of source ex"
    ):
        two.deploy()
    assert two.answers() is None


def test_old_trees_of_a_source_go_and_those_in_use_stay(two: World) -> None:
    served(two)
    first = dict(record(two)["sources"])  # type: ignore[call-overload]
    file = two.folder / "patches/x/word.patch"
    file.write_text(PATCH.replace('+WORD = "patched"', '+WORD = "patched"  # new'))
    two.write(more=MORE, keep=1)
    served(two)
    second = dict(record(two)["sources"])  # type: ignore[call-overload]
    assert second != first
    trees = {path.name for path in (two.root / "trees").glob("*") if path.is_dir()}
    assert {*second.values(), *first.values()} <= trees  # the one before is there to go back to
    file.write_text(PATCH.replace('+WORD = "patched"', '+WORD = "patched"  # newer'))
    served(two)
    trees = {path.name for path in (two.root / "trees").glob("*") if path.is_dir()}
    assert not trees & set(first.values())
    assert set(second.values()) <= trees


def test_the_variant_without_its_patch_serves_what_is_pinned(two: World) -> None:
    whole = served(two).release
    two.without("patch:x/word")
    with pytest.raises(StackctlError):  # the engine wants the patched word
        two.deploy()
    assert two.answers() == whole
