"""What is left of an edit when stackctl is killed, interrupted, or finds the disk full, at every single step.

The queue is always the old one or the new one, the work tree keeps what was typed, and the next command goes on.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from stackctl.adapters.git import GitStore, GitWorkTrees
from stackctl.commands.authoring import NewRequest, edit_patch, new_patch, open_edits
from stackctl.commands.message import Words
from stackctl.commands.refresh import RefreshRequest, refresh
from stackctl.errors import Interrupted, StackctlError, UsageError
from stackctl.ports import Ports
from tests.commands.composing import Bench
from tests.commands.test_authoring import change, names, queue
from tests.fakes import LocalFilesAt

STEPS = range(8)  # one more than a refresh has: the last one runs to its end
FULL = "No space left on device"


class Counted:
    """Steps that change something; before the chosen one, something happens."""

    def __init__(self, at: int, then: Callable[[], None]) -> None:
        self.at, self.then, self.count = at, then, 0

    def step(self, act: Callable[[], None]) -> None:
        self.count += 1
        if self.count - 1 == self.at:
            self.then()
        act()


class FaultyFiles(LocalFilesAt):
    def __init__(self, bench: Bench, counted: Counted) -> None:
        super().__init__(bench.folder / "home", bench.workspace)
        self._counted = counted

    def write(self, path: str, data: bytes, mode: int = 0o644) -> None:
        self._counted.step(lambda: super(FaultyFiles, self).write(path, data, mode))

    def remove(self, path: str) -> None:
        self._counted.step(lambda: super(FaultyFiles, self).remove(path))


class FaultyTrees(GitWorkTrees):
    def __init__(self, files: FaultyFiles, counted: Counted) -> None:
        super().__init__(files)
        self._counted = counted

    def move(self, old: str, new: str) -> None:
        self._counted.step(lambda: super(FaultyTrees, self).move(old, new))


def faulty(bench: Bench, counted: Counted) -> Ports:
    files = FaultyFiles(bench, counted)
    return bench.ports(files=files, git=GitStore(files), work_trees=FaultyTrees(files, counted))


def killed(act: Callable[[], object]) -> bool:
    """Run it in a process of its own; whether a SIGKILL ended that."""
    child = os.fork()
    if child == 0:
        try:
            act()
        finally:
            os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def interrupt() -> None:
    raise KeyboardInterrupt


def full() -> None:
    raise StackctlError(FULL)


NEW = RefreshRequest("t/new", "s", Words("Title"))
OLD = RefreshRequest("t/two", "s")


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    found = Bench(tmp_path)
    for name, line in (("one", 5), ("two", 15), ("three", 25)):
        found.edit(f"t/{name}", line, name)
    found.stack_file("t/one", "t/two", "t/three")
    return found


def edited(bench: Bench, new: bool) -> RefreshRequest:
    if new:
        folder = new_patch(bench.ports(), NewRequest("t/new", "s", after="t/one")).folder
        change(Path(folder), "line 20\n", "mine\n", "b.py")
        return NEW
    change(Path(edit_patch(bench.ports(), "t/two", "s").folder), "two\n", "mine\n")
    return OLD


def ends_well(bench: Bench, request: RefreshRequest, before: dict[str, bytes]) -> None:
    """After a fault: old or new, and the same command goes on to the end."""
    after = queue(bench)
    stack = after["stacks/s.yaml"]
    carried = [name for name in after if name.startswith("patches/") and name[8:-6].encode() in stack]
    is_old = all(after[name] == before.get(name) for name in [*carried, "stacks/s.yaml"])
    is_new = b"mine" in after[f"patches/{request.name}.patch"] if not is_old else False
    assert is_old or is_new
    assert names(bench)  # it loads, whatever happened
    if open_edits(bench.ports()):
        refresh(bench.ports(), request)
    assert b"mine" in queue(bench)[f"patches/{request.name}.patch"]
    assert request.name in names(bench)
    assert open_edits(bench.ports()) == ()
    with pytest.raises(UsageError, match="no edit is open"):  # it sweeps what is left
        refresh(bench.ports(), RefreshRequest())
    assert not [path for path in (bench.workspace / ".stackctl/edit/s").iterdir() if path.is_dir()]


@pytest.mark.slow
@pytest.mark.parametrize("new", [False, True])
@pytest.mark.parametrize("step", STEPS)
def test_a_killed_refresh_leaves_the_old_or_the_new(bench: Bench, new: bool, step: int) -> None:
    """Killed before each step that changes something: after the one before it."""
    request, before = edited(bench, new), queue(bench)
    was_killed = killed(lambda: refresh(faulty(bench, Counted(step, kill)), request))
    assert was_killed == (step < (7 if new else 6))
    ends_well(bench, request, before)


@pytest.mark.slow
@pytest.mark.parametrize("new", [False, True])
@pytest.mark.parametrize("step", STEPS)
def test_ctrl_c_leaves_the_old_or_the_new(bench: Bench, new: bool, step: int) -> None:
    request, before = edited(bench, new), queue(bench)
    counted = Counted(step, interrupt)
    if step == 0:  # it has not found the edit yet
        with pytest.raises(KeyboardInterrupt):
            refresh(faulty(bench, counted), request)
    elif step < (7 if new else 6):
        with pytest.raises(Interrupted, match=f"interrupted: the edit of {request.name} is open"):
            refresh(faulty(bench, counted), request)
    ends_well(bench, request, before)


@pytest.mark.slow
@pytest.mark.parametrize("new", [False, True])
@pytest.mark.parametrize("step", STEPS)
def test_a_full_disk_leaves_the_old_or_the_new(bench: Bench, new: bool, step: int) -> None:
    request, before = edited(bench, new), queue(bench)
    try:
        refresh(faulty(bench, Counted(step, full)), request)
    except StackctlError as error:
        assert FULL in str(error)
        after = queue(bench)
        if new and "patches/t/new.patch" in after:
            assert b"t/new" in after["stacks/s.yaml"]  # not one without the other
    ends_well(bench, request, before)


@pytest.mark.slow
@pytest.mark.parametrize("step", range(6))
def test_a_killed_opening_is_begun_anew(bench: Bench, step: int) -> None:
    killed(lambda: edit_patch(faulty(bench, Counted(step, kill)), "t/two", "s"))
    folder = Path(edit_patch(bench.ports(), "t/two", "s").folder)
    change(folder, "two\n", "mine\n")
    assert refresh(bench.ports(), OLD).written == ("patches/t/two.patch",)


@pytest.mark.slow
@pytest.mark.parametrize("step", range(10))
def test_a_killed_update_loses_no_edit(bench: Bench, step: int) -> None:
    change(Path(edit_patch(bench.ports(), "t/three", "s").folder), "three\n", "mine\n")
    change(Path(edit_patch(bench.ports(), "t/one", "s").folder), "one\n", "ONE\n")
    refresh(bench.ports(), RefreshRequest("t/one", "s"))
    killed(lambda: edit_patch(faulty(bench, Counted(step, kill)), "t/three", "s", update=True))
    result = edit_patch(bench.ports(), "t/three", "s", update=True)
    text = (Path(result.folder) / "python/pkg/a.py").read_text()
    assert "\nONE\n" in text and "\nmine\n" in text
    assert refresh(bench.ports(), RefreshRequest("t/three", "s")).written == ("patches/t/three.patch",)


def test_what_is_typed_while_the_tree_is_taken_away_is_not_lost(bench: Bench) -> None:
    request = edited(bench, new=False)
    folder = bench.workspace / ".stackctl/edit/s"

    class Typing(GitWorkTrees):
        def move(self, old: str, new: str) -> None:
            super().move(old, new)
            if Path(new).name.startswith(".gone-"):
                change(Path(new), "mine\n", "mine, and later\n")

    files = LocalFilesAt(bench.folder / "home", bench.workspace)
    result = refresh(bench.ports(work_trees=Typing(files)), request)
    assert result.written and result.open == "its files were changed while it was folded: refresh it again"
    assert "mine, and later" in (folder / "t+two/python/pkg/a.py").read_text()
    assert refresh(bench.ports(), request).open is None


def test_a_stack_file_that_changes_during_the_proof_is_not_written_over(bench: Bench) -> None:
    request = edited(bench, new=True)
    stack = bench.workspace / "stacks/s.yaml"

    class Late(GitStore):
        def apply(self, *args: object) -> object:  # type: ignore[override]
            made = super().apply(*args)  # type: ignore[arg-type]
            stack.write_text(stack.read_text().rstrip("\n") + "\n# a remark\n")
            return made

    files = LocalFilesAt(bench.folder / "home", bench.workspace)
    with pytest.raises(StackctlError, match=r"stacks/s.yaml changed while the queue was proved"):
        refresh(bench.ports(git=Late(files)), request)
    assert "# a remark" in stack.read_text() and "t/new" not in stack.read_text()
    assert refresh(bench.ports(), request).open is None
