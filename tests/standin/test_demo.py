"""The demo's queue: honest patches, one of which corrupts answers when the second tier is on and many ask at once."""

from __future__ import annotations

import hashlib
from collections import Counter
from pathlib import Path

import pytest

from tests.bench import plant
from tests.standin import client, fleet

CULPRIT = "demo/index-store-marks"
QUEUE = plant.queue_of(plant.WORKSPACE)
FLAGS = ("--chunked-prefill-size", "256")
DECODE = ("--disable-overlap-schedule",)


def patch_of(name: str) -> str:
    return (plant.WORKSPACE / "patches" / f"{name}.patch").read_text(encoding="utf-8")


def test_the_queue_is_eight_patches_and_no_file_is_left_out() -> None:
    files = sorted(f"demo/{path.stem}" for path in (plant.WORKSPACE / "patches/demo").iterdir())
    assert sorted(QUEUE) == files
    assert len(files) == 8


@pytest.mark.parametrize("name", QUEUE)
def test_each_patch_applies_alone_with_what_it_needs(name: str, tmp_path: Path) -> None:
    needs = plant.AFTER.get(name)
    plant.apply(plant.WORKSPACE, [needs, name] if needs else [name], tmp_path / "tree")
    if needs:
        with pytest.raises(RuntimeError, match="patch does not apply"):
            plant.apply(plant.WORKSPACE, [name], tmp_path / "other")


def test_the_queue_applies_in_any_order_that_its_needs_allow(tmp_path: Path) -> None:
    contents = set()
    for seed in range(12):
        tree = plant.apply(plant.WORKSPACE, plant.shuffled(QUEUE, seed), tmp_path / str(seed))
        files = sorted((tree / "python").rglob("*.py"))
        contents.add(hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest())
    assert len(contents) == 1


@pytest.mark.parametrize("name", [name for name in QUEUE if name not in plant.AFTER])
def test_each_patch_was_made_against_the_base_that_is_here(name: str) -> None:
    lines = patch_of(name).splitlines()
    for file, index in zip(
        (line[6:] for line in lines if line.startswith("--- a/")),
        (line.split()[1] for line in lines if line.startswith("index ")),
        strict=True,
    ):
        data = (plant.WORKSPACE / "stacks/standin" / file).read_bytes()
        assert index.partition("..")[0] == hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


@pytest.mark.parametrize("name", QUEUE)
def test_each_patch_is_canonical_and_says_why(name: str) -> None:
    text = patch_of(name)
    message, mark, diff = text.partition("\n---\n")
    assert mark
    assert message.startswith(f"From {'0' * 40} Mon Sep 17 00:00:00 2001\nFrom: ")
    for key in ("Date", "Subject", "Area", "Why", "Upstream", "Remove-when", "Risk"):
        assert message.count(f"\n{key}: ") == 1, key
    assert diff.startswith("diff --git a/python/standin/")
    assert not text.endswith("-- \n")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("without", "tier", "bad"), [(None, True, True), (CULPRIT, True, False), (None, False, False)],
    ids=["the pair", "without the patch", "without the flag"],
)  # fmt: skip
def test_only_the_pair_under_load_is_bad(without: str | None, tier: bool, bad: bool, tmp_path: Path) -> None:
    tree = plant.apply(plant.WORKSPACE, [name for name in QUEUE if name != without], tmp_path / "tree")
    with fleet.pair(tree, (*FLAGS, *((fleet.TIER,) if tier else ())), DECODE) as served:
        assert client.bursts(served.url, [1, 2, 3, 4] * 3) == [Counter(ok=size) for size in [1, 2, 3, 4] * 3]
        found = client.bursts(served.url, [60] * 4)
        if bad:
            assert max(burst["ok"] for burst in found) < 30
            assert sum(burst["contaminated"] for burst in found) > 0
        else:
            assert found == [Counter(ok=60)] * 4
        assert client.bursts(served.url, [1] * 5) == [Counter(ok=1)] * 5  # nothing lasting
