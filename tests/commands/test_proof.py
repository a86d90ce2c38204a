"""That the tree on the disk is the one that starts and answers: every verb refuses another, and the gate proves it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from stackctl.commands.deploying.restart import restart
from stackctl.commands.deploying.rollback import RollbackRequest, rollback
from stackctl.errors import StackctlError
from tests.commands.deployed import World

pytestmark = pytest.mark.slow
Change = Callable[[Path], None]


def edited(package: Path) -> None:
    file = package / "serve.py"
    text = file.read_text()
    file.unlink()
    file.write_text(text + "# more\n")


def taken_away(package: Path) -> None:
    (package / "__init__.py").unlink()


def extra(package: Path) -> None:
    (package / "helper.py").write_text("")


def extra_on_the_path(package: Path) -> None:
    (package.parent / "sitecustomize.py").write_text("")


def other_bytecode(package: Path) -> None:
    """As long as before, and its source is as it was."""
    (file,) = (package / "__pycache__").glob("serve.*.pyc")
    data = file.read_bytes()
    file.write_bytes(data.replace(b"tiny engine on", b"TINY ENGINE ON"))
    assert file.read_bytes() != data


WAYS: dict[str, tuple[Change, str]] = {
    "edited": (edited, "python/tiny/serve.py was changed"),
    "taken away": (taken_away, "python/tiny/__init__.py is missing"),
    "extra": (extra, "python/tiny/helper.py is not of this tree"),
    "extra on the path": (extra_on_the_path, "python/sitecustomize.py is not of this tree"),
    "other bytecode": (other_bytecode, r"python/tiny/__pycache__/serve\..*\.pyc was changed"),
}


@contextmanager
def damaged(package: Path, change: Change) -> Iterator[None]:
    before = {path: path.read_bytes() for path in package.parent.rglob("*") if path.is_file()}
    change(package)
    yield
    for path in [path for path in package.parent.rglob("*") if path.is_file() and path not in before]:
        path.unlink()
    for path, data in before.items():
        path.unlink(missing_ok=True)
        path.write_bytes(data)


def package_of(world: World) -> Path:
    (found,) = (world.root / "trees").glob("*/python/tiny")
    return found


def test_no_verb_starts_a_tree_that_was_tampered_with(world: World) -> None:
    world.deploy()
    second = world.deploy_as(flags="page-size: 7")
    pids = world.processes()
    starts: dict[str, Callable[[], object]] = {
        "deploy of what serves": lambda: world.deploy_as(flags="page-size: 7"),
        "deploy of another release": lambda: world.deploy_as(flags="page-size: 8"),
        "restart": lambda: restart(world.ports, world.selection),
        "rollback": lambda: rollback(world.ports, RollbackRequest(world.selection)),
    }
    for change, words in WAYS.values():
        for start in starts.values():
            with (
                damaged(package_of(world), change),
                pytest.raises(StackctlError, match=f"was tampered with on the disk: {words}") as refused,
            ):
                start()
            assert refused.value.exit_code == 1 and "Nothing was stopped" in (refused.value.hint or "")
    assert (world.answers(), world.processes(), world.is_free()) == (second.release, pids, True)
    assert restart(world.ports, world.selection).outcome == "restarted"


def test_bytecode_is_there_and_that_of_others_does_not_matter(world: World) -> None:
    world.deploy()
    cache = package_of(world) / "__pycache__"
    assert len(list(cache.glob("serve.*.pyc"))) == 1
    (cache / "serve.cpython-30.pyc").write_bytes(b"of another interpreter")
    assert restart(world.ports, world.selection).outcome == "restarted"
    assert not (cache / "serve.cpython-30.pyc").exists()


def test_of_a_variants_tree_only_the_difference_is_sent(world: World) -> None:
    world.deploy()
    first = package_of(world)
    more = world.folder / "stacks" / "engine" / "python" / "tiny" / "more.py"
    more.write_text("MORE = 1\n")
    world.told.lines.clear()
    second = world.deploy()
    assert any("(1 of 3 files)" in line for line in world.told.lines) and world.answers() == second.release
    (other,) = [path for path in (world.root / "trees").glob("*/python/tiny") if path != first]
    assert other.joinpath("serve.py").samefile(first / "serve.py") and (other / "more.py").exists()


def test_on_production_a_rollback_does_not_suffer_from_an_edit_of_what_serves(world: World) -> None:
    first = world.deploy_as(purpose="production")
    before = package_of(world)
    (world.folder / "stacks" / "engine" / "python" / "tiny" / "more.py").write_text("")
    world.deploy(yes=True)
    (package,) = [path for path in (world.root / "trees").glob("*/python/tiny") if path != before]
    (package / "serve.py").chmod(0o644)
    with (package / "serve.py").open("a") as file:
        file.write("# more\n")
    back = rollback(world.ports, RollbackRequest(world.selection, yes=True))
    assert back.release == first.release == world.answers()


def test_when_the_other_tree_was_changed_all_is_sent(world: World) -> None:
    world.deploy()
    edited(package_of(world))
    (world.folder / "stacks" / "engine" / "python" / "tiny" / "more.py").write_text("")
    world.told.lines.clear()
    assert world.deploy().outcome == "deployed"
    sizes = [line.rpartition("(")[2] for line in world.told.lines if "upload tree" in line]
    assert sizes == ["1 of 3 files)", "3 files)"]


def test_an_interpreter_that_would_take_another_package_is_refused(world: World, tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True, timeout=60)
    (site,) = (tmp_path / "venv").glob("lib/python*/site-packages")
    (tmp_path / "other" / "tiny").mkdir(parents=True)
    (tmp_path / "other" / "tiny" / "__init__.py").write_text("")
    (site / "first.pth").write_text(f"import sys; sys.path.insert(0, {str(tmp_path / 'other')!r})\n")
    world.write(python=f"{tmp_path}/venv/bin/python")
    wanted = f"would take tiny.serve from {tmp_path}/other/tiny/__init__.py, not from tree"
    with pytest.raises(StackctlError, match=wanted):
        world.deploy()
    assert world.processes() == []
    (site / "first.pth").unlink()
    assert world.deploy().outcome == "deployed"


def test_the_gate_looks_at_the_path_of_every_process(world: World) -> None:
    first = world.deploy()
    script = world.root / "releases" / first.release / "serve-single-0.sh"
    script.write_text(script.read_text().replace('PYTHONPATH="$tree', 'PYTHONPATH="/somewhere/else:$tree'))
    with pytest.raises(StackctlError) as failed:
        restart(world.ports, world.selection)
    tree = json.loads((script.parent / "record.json").read_text())["tree"]
    assert "single-0: the path of process " in failed.value.message
    assert f"trees/{tree}/python: PYTHONPATH=/somewhere/else:" in failed.value.message
    assert world.processes() == []
