"""A model that is locked: read, written down, compared at a deploy and at the gate, and hashed whole on request."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pytest

from stackctl.commands.check import CheckRequest, check
from stackctl.commands.deploying.preparing import Refused
from stackctl.commands.deploying.rollback import RollbackRequest, rollback
from stackctl.commands.gather import load
from stackctl.commands.hosts.manifest import LockModelRequest, lock_model
from stackctl.commands.hosts.model import CACHE, ModelRequest, ModelResult, model
from stackctl.commands.linting.command import model_meant
from stackctl.commands.selection import Selection
from stackctl.errors import InvalidFile, StackctlError, UsageError
from tests.commands.deployed import World, wait_for
from tests.models import v4, write

SHARD = "model-00002-of-00002.safetensors"


def folder(world: World) -> Path:
    return world.folder / "stacks" / "model"


def names(world: World, manifest: str = "tiny.model.json", **keys: str) -> None:
    """Say a manifest in the stack file, with more keys of `model`."""
    file = world.folder / "stacks" / "tiny.yaml"
    said = ", ".join(f"{key}: {value}" for key, value in {"manifest": manifest, **keys}.items())
    file.write_text(re.sub(r"name: tiny.*\}", f"name: tiny, {said}}}", file.read_text(), count=1))


def locked(world: World, *, full: bool = False, **keys: str) -> Path:
    v4(folder(world), "nvfp4")
    names(world, **keys)
    lock_model(world.ports, LockModelRequest(world.selection, full=full))
    return world.folder / "stacks" / "tiny.model.json"


def asked(world: World, **how: bool) -> ModelResult:
    return model(world.ports, ModelRequest(world.selection, **how))  # type: ignore[arg-type]


def ids(result: ModelResult) -> list[str]:
    return [one.id for host in result.hosts if host.judged for one in host.judged.findings]


def test_a_manifest_is_written_once_and_is_part_of_the_lock(world: World) -> None:
    v4(folder(world), "nvfp4")
    names(world)
    (warning,) = load(world.ports, world.selection).warnings
    assert "MODEL-UNLOCKED" in warning.message and warning.where is not None and warning.where.line == 3
    made = lock_model(world.ports, LockModelRequest(world.selection))
    assert made.model is not None
    assert (made.model.changed, made.model.hosts, made.model.shards) == (True, ("here",), 2)
    file = world.folder / "stacks" / "tiny.model.json"
    written = file.read_bytes()
    said = json.loads(written)
    assert set(said["shards"][SHARD]) == {"size", "header_sha256"}
    assert str(world.folder) not in written.decode()
    assert load(world.ports, world.selection).warnings == ()
    again = lock_model(world.ports, LockModelRequest(world.selection))
    assert again.model is not None and not again.model.changed and not again.changed
    assert file.read_bytes() == written
    assert check(world.ports, CheckRequest(world.selection, locked=True)).locked


def test_a_lock_sees_another_manifest_and_says_what_became_different(world: World) -> None:
    locked(world)
    write(folder(world), "generation_config.json", {"eos_token_id": 2})
    again = lock_model(world.ports, LockModelRequest(world.selection))
    assert again.model is not None
    assert [line.partition(":")[0] for line in again.model.differences] == ["generation_config.json"]
    assert any(line.startswith("model_sha256") for line in again.differences)


def test_nothing_is_locked_of_a_folder_that_is_not_whole(world: World) -> None:
    v4(folder(world))
    (folder(world) / SHARD).unlink()
    names(world)
    with pytest.raises(StackctlError, match=r"1 of 2 shards are missing"):
        lock_model(world.ports, LockModelRequest(world.selection))
    assert not (world.folder / "stacks" / "tiny.model.json").exists()


def test_a_lock_of_the_model_wants_a_name_for_it_and_a_host_that_is_there(world: World) -> None:
    v4(folder(world))
    with pytest.raises(UsageError, match="names no manifest") as caught:
        lock_model(world.ports, LockModelRequest(world.selection))
    assert "manifest: tiny.model.json" in (caught.value.hint or "")
    names(world)
    with pytest.raises(UsageError, match="no engine of tiny runs on there"):
        lock_model(world.ports, LockModelRequest(world.selection, ("there",)))


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"revision": "1" * 40}, "of which repository"),
        ({"repo": "x"}, "a repository like OWNER/NAME"),
        ({"repo": "a/b", "revision": "main"}, "a full commit"),
    ],
)
def test_what_a_stack_may_say_of_its_model(world: World, keys: dict[str, str], words: str) -> None:
    names(world, **keys)
    with pytest.raises(InvalidFile, match=words):
        load(world.ports, world.selection)


def test_a_manifest_that_is_none_is_told_at_its_key(world: World) -> None:
    (world.folder / "stacks" / "tiny.model.json").write_text('{"format": 1, "files": []}')
    names(world)
    with pytest.raises(
        InvalidFile, match=r"tiny\.yaml:3:\d+: model\.manifest: stacks/tiny\.model\.json: files: is no object"
    ):
        load(world.ports, world.selection)


@pytest.mark.slow
def test_a_deploy_refuses_another_model_before_anything_is_stopped(world: World) -> None:
    v4(folder(world), "nvfp4")
    names(world)
    with pytest.raises(InvalidFile, match=r"model\.manifest: there is no"):
        world.deploy()
    lock_model(world.ports, LockModelRequest(world.selection))
    first = world.deploy()
    before = world.processes()
    write(folder(world), "generation_config.json", {"eos_token_id": 2})
    with pytest.raises(Refused) as caught:
        world.deploy()
    (problem,) = caught.value.problems
    assert "is not the one that was locked: generation_config.json: sha256 " in problem.message
    assert len(re.findall(r"[0-9a-f]{64}", problem.message)) == 2
    assert (world.processes(), world.answers()) == (before, first.release)
    assert any("generation_config.json" in line for line in world.deploy(dry_run=True).plan)
    lock_model(world.ports, LockModelRequest(world.selection))
    second = world.deploy()
    assert second.outcome == "deployed" and second.release != first.release  # other weights are another release
    with pytest.raises(Refused, match=r"generation_config\.json"):  # that release was made for the model as it was
        rollback(world.ports, RollbackRequest(world.selection))
    write(folder(world), "generation_config.json", {"eos_token_id": 1})
    assert rollback(world.ports, RollbackRequest(world.selection)).release == first.release


@pytest.mark.slow
def test_the_gate_sees_a_model_that_was_changed_during_the_start(world: World) -> None:
    locked(world)
    world.write(flags="behave: slow")
    names(world)
    with world.cli("deploy", "--yes") as process:
        wait_for(lambda: world.status().get("step", "").__str__().startswith("wait until"))
        (folder(world) / "tokenizer.json").unlink()
        said = process.communicate(timeout=60)[0]
    assert process.returncode == 1
    assert "tokenizer.json: is not there" in said
    assert world.processes() == []


@pytest.mark.slow
def test_a_stack_without_a_manifest_asks_nothing_of_the_model(world: World) -> None:
    assert world.deploy().outcome == "deployed"  # there is no model at all
    steps = world.status()["steps"]
    assert isinstance(steps, list) and not [step for step in steps if "model" in step["name"]]


def test_whole_shards_are_hashed_once_and_again_when_they_changed(world: World) -> None:
    locked(world, full=True)
    whole = asked(world, full=True).hosts[0].whole
    assert whole is not None and (whole.right, whole.unknown) == (2, 0)
    for shard in folder(world).glob("*.safetensors"):
        os.utime(shard, (1_700_000_000, 1_700_000_000))  # old enough to be believed
    asked(world, full=True)
    whole = asked(world, full=True).hosts[0].whole
    assert whole is not None and (whole.right, whole.cached) == (2, 2)
    assert world.home.joinpath(CACHE.removeprefix("~/")).is_file()
    data = bytearray((folder(world) / SHARD).read_bytes())
    data[-1] ^= 1
    (folder(world) / SHARD).write_bytes(data)
    result = asked(world, full=True)
    assert ids(result)[0] == "MODEL-SHA256" and result.exit == 1
    assert "MODEL-MANIFEST" not in ids(result)  # heads do not show it
    assert "MODEL-SHA256" not in ids(asked(world))


def test_digests_that_cannot_be_kept_are_right_all_the_same(world: World) -> None:
    """A file in the way of the cache, as a full disk would be."""
    locked(world, full=True)
    for shard in folder(world).glob("*.safetensors"):
        os.utime(shard, (1_700_000_000, 1_700_000_000))
    cache = world.home.joinpath(CACHE.removeprefix("~/"))
    cache.unlink(missing_ok=True)
    cache.mkdir(parents=True)
    whole = asked(world, full=True).hosts[0].whole
    assert whole is not None and (whole.right, whole.cached) == (2, 0)


def test_what_a_terminal_would_act_upon_is_made_visible(world: World) -> None:
    v4(folder(world), "nvfp4")
    config = json.loads((folder(world) / "config.json").read_text())
    config.update(architectures=["A\x1b[31m\nB\ud800"], model_type="x\x1b]0;y")
    (folder(world) / "config.json").write_text(json.dumps(config))
    (folder(world) / "encoding" / "encoding\x1b[2Jx.py").write_text("")
    result = asked(world)
    assert result.hosts[0].judged is not None
    assert result.hosts[0].judged.model.architecture == "A?[31m?B?"
    text = json.dumps(asdict(result))
    assert "encoding\\\\x1b[2Jx.py" in text and "\\u001b" not in text and "\\ud8" not in text


def test_what_is_wrong_against_the_manifest_is_a_finding(world: World) -> None:
    locked(world)
    assert ids(asked(world)) == ["MODEL-UNUSED"] and asked(world).exit == 0
    (folder(world) / "chat_template.jinja").write_text("x")
    result = asked(world)
    assert (ids(result), result.exit) == (["MODEL-MANIFEST", "MODEL-UNUSED"], 1)
    judged = result.hosts[0].judged
    assert judged is not None and judged.differences == ("chat_template.jinja: the manifest has no such file",)


def test_a_folder_of_this_machine_needs_no_stack(world: World, tmp_path: Path) -> None:
    v4(tmp_path / "any")
    result = model(world.ports, ModelRequest(Selection(), folder=str(tmp_path / "any")))
    assert (ids(result), result.exit) == ([], 0)
    result = model(world.ports, ModelRequest(Selection(), folder="not/there"))
    assert (ids(result), result.exit) == (["MODEL-FOLDER"], 1)
    with pytest.raises(UsageError, match="--folder"):
        model(world.ports, ModelRequest(Selection("tiny"), folder="/"))


def test_a_look_writes_nothing(world: World) -> None:
    v4(folder(world))

    def everything() -> dict[str, tuple[int, int]]:
        files = (*world.home.rglob("*"), *folder(world).rglob("*"))
        return {str(path): (path.stat().st_size, path.stat().st_mtime_ns) for path in files}

    before = everything()
    asked(world)
    assert everything() == before


def test_the_command_line_shows_all_of_it(world: World) -> None:
    locked(world)
    wide = {**os.environ, "COLUMNS": "300"}

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        argv = [sys.executable, "-m", "stackctl", *words, str(world.selection.stack)]
        return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60, env=wide)

    shown = run("model")
    assert shown.returncode == 0, shown.stderr
    for words in (
        "DeepseekV4ForCausalLM",
        "nvfp4 (U8 × 2, scales F8_E4M3; in draft layers I8)",
        "as it says",
        "2 of 2 in",
    ):
        assert words in shown.stdout
    assert json.loads(run("model", "--json").stdout)["hosts"][0]["judged"]["model"]["experts"] == "nvfp4"
    assert "tiny.model.json: unchanged, 6 files, 2 shards, of here" in run("lock", "--model").stdout
    assert run("lock", "--full").returncode == 2


def test_a_raw_command_may_be_linted_with_the_folder_of_its_model(world: World, tmp_path: Path) -> None:
    view = model_meant(world.ports, str(v4(tmp_path / "DeepSeek-V4-Flash", "fp8")))
    assert view is not None
    assert (view.source, view.family, view.experts) == ("folder", "deepseek-v4", "fp8")  # the name would say mxfp4
    named = model_meant(world.ports, "somewhere/DeepSeek-V4-Flash")
    assert named is not None and (named.source, named.experts) == ("name", "mxfp4")
