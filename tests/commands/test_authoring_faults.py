"""What is left of an edit when stackctl is killed, interrupted, or finds the disk full, at every single step.

The queue is always the old one or the new one, the work tree keeps what was typed, and the next command goes on.
"""

from __future__ import annotations

import os
import shutil
import signal
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest

from stackctl.adapters.git import GitStore, GitWorkTrees
from stackctl.commands.authoring.begin import NewRequest, edit_patch, new_patch, open_edits
from stackctl.commands.authoring.message import Words
from stackctl.commands.authoring.refresh import RefreshRequest, refresh
from stackctl.errors import Interrupted, StackctlError, UsageError
from stackctl.ports import Ports
from tests.commands.composing import Bench
from tests.commands.test_authoring import change, names, queue
from tests.fakes import LocalFilesAt

pytestmark = pytest.mark.slow
CHANGES = {True: 7, False: 6}  # what a refresh changes on disk, one step each: of a new patch, of an old one
KILLS = [(new, step) for new, steps in CHANGES.items() for step in range(steps + 1)]  # the last one runs to its end
CUTS = [0, 3, 5, 6]  # before anything; between patch and stack file; when the edit is set aside; at the last removal
OPENING, UPDATE = 3, 7
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

    def write(self, path: str, data: bytes, mode: int | None = None) -> None:
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
    """Run it in a process of its own; whether a SIGKILL ended that. It may end by nothing else but its own end."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            act()
            code = 0
        except BaseException:  # shown here: this process has no test that could tell
            traceback.print_exc()
        finally:
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (0, -signal.SIGKILL)
    return code != 0


def kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def interrupt() -> None:
    raise KeyboardInterrupt


def full() -> None:
    raise StackctlError(FULL)


NEW = RefreshRequest("t/new", "s", Words("Title"))
OLD = RefreshRequest("t/two", "s")
MINE = ("line 20\n", "mine\n")


class Prepared:
    """Workspaces made once by git, each copied to the one place that they were made at."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        bench = Bench(folder / "here")
        for name, line in (("one", 5), ("two", 15), ("three", 25)):
            bench.edit(f"t/{name}", line, name)
        bench.stack_file("t/one", "t/two", "t/three")
        self._keep("plain")
        change(Path(new_patch(bench.ports(), NewRequest("t/new", "s", after="t/one")).folder), *MINE, "b.py")
        self._keep("new")
        change(Path(edit_patch(self.fresh("plain").ports(), "t/two", "s").folder), "two\n", "mine\n")
        self._keep("old")
        self._behind(self.fresh("plain"))
        self._keep("behind")

    @staticmethod
    def _behind(bench: Bench) -> None:
        """The edit of t/three is older than what t/one says by now."""
        change(Path(edit_patch(bench.ports(), "t/three", "s").folder), "three\n", "mine\n")
        change(Path(edit_patch(bench.ports(), "t/one", "s").folder), "one\n", "ONE\n")
        refresh(bench.ports(), RefreshRequest("t/one", "s"))

    def _keep(self, name: str) -> None:
        shutil.copytree(self._folder / "here", self._folder / name, symlinks=True)

    def fresh(self, name: str) -> Bench:
        shutil.rmtree(self._folder / "here")
        shutil.copytree(self._folder / name, self._folder / "here", symlinks=True)
        return Bench(self._folder / "here")


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    return Prepared(tmp_path_factory.mktemp("prepared"))


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


@pytest.mark.parametrize(("new", "step"), KILLS)
def test_a_killed_refresh_leaves_the_old_or_the_new(prepared: Prepared, new: bool, step: int) -> None:
    """Killed before each step that changes something: after the one before it."""
    bench, request = prepared.fresh("new" if new else "old"), NEW if new else OLD
    before = queue(bench)
    was_killed = killed(lambda: refresh(faulty(bench, Counted(step, kill)), request))
    assert was_killed == (step < CHANGES[new])
    ends_well(bench, request, before)


@pytest.mark.parametrize("step", CUTS)
def test_ctrl_c_leaves_the_old_or_the_new(prepared: Prepared, step: int) -> None:
    bench = prepared.fresh("new")
    before = queue(bench)
    # at the first step it has not found the edit yet
    told, text = (Interrupted, "interrupted: the edit of t/new is open") if step else (KeyboardInterrupt, None)
    with pytest.raises(told, match=text):
        refresh(faulty(bench, Counted(step, interrupt)), NEW)
    ends_well(bench, NEW, before)


@pytest.mark.parametrize("step", CUTS)
def test_a_full_disk_leaves_the_old_or_the_new(prepared: Prepared, step: int) -> None:
    bench = prepared.fresh("new")
    before = queue(bench)
    with pytest.raises(StackctlError, match=FULL):
        refresh(faulty(bench, Counted(step, full)), NEW)
    after = queue(bench)
    assert ("patches/t/new.patch" in after) == (b"t/new" in after["stacks/s.yaml"])  # not one without the other
    ends_well(bench, NEW, before)


@pytest.mark.parametrize("step", range(OPENING + 1))
def test_a_killed_opening_is_begun_anew(prepared: Prepared, step: int) -> None:
    bench = prepared.fresh("plain")
    was_killed = killed(lambda: edit_patch(faulty(bench, Counted(step, kill)), "t/two", "s"))
    assert was_killed == (step < OPENING)
    folder = Path(edit_patch(bench.ports(), "t/two", "s").folder)
    change(folder, "two\n", "mine\n")
    assert refresh(bench.ports(), OLD).written == ("patches/t/two.patch",)


@pytest.mark.parametrize("step", range(UPDATE + 1))
def test_a_killed_update_loses_no_edit(prepared: Prepared, step: int) -> None:
    bench = prepared.fresh("behind")
    was_killed = killed(lambda: edit_patch(faulty(bench, Counted(step, kill)), "t/three", "s", update=True))
    assert was_killed == (step < UPDATE)
    result = edit_patch(bench.ports(), "t/three", "s", update=True)
    text = (Path(result.folder) / "python/pkg/a.py").read_text()
    assert "\nONE\n" in text and "\nmine\n" in text
    assert refresh(bench.ports(), RefreshRequest("t/three", "s")).written == ("patches/t/three.patch",)


def test_what_is_typed_while_the_tree_is_taken_away_is_not_lost(prepared: Prepared) -> None:
    bench = prepared.fresh("old")
    folder = bench.workspace / ".stackctl/edit/s"

    class Typing(GitWorkTrees):
        def move(self, old: str, new: str) -> None:
            super().move(old, new)
            if Path(new).name.startswith(".gone-"):
                change(Path(new), "mine\n", "mine, and later\n")

    files = LocalFilesAt(bench.folder / "home", bench.workspace)
    result = refresh(bench.ports(work_trees=Typing(files)), OLD)
    assert result.written and result.open == "its files were changed while it was folded: refresh it again"
    assert "mine, and later" in (folder / "t+two/python/pkg/a.py").read_text()
    assert refresh(bench.ports(), OLD).open is None


def test_a_stack_file_that_changes_during_the_proof_is_not_written_over(prepared: Prepared) -> None:
    bench = prepared.fresh("new")
    stack = bench.workspace / "stacks/s.yaml"

    class Late(GitStore):
        def apply(self, *args: object) -> object:  # type: ignore[override]
            made = super().apply(*args)  # type: ignore[arg-type]
            stack.write_text(stack.read_text().rstrip("\n") + "\n# a remark\n")
            return made

    files = LocalFilesAt(bench.folder / "home", bench.workspace)
    with pytest.raises(StackctlError, match=r"stacks/s.yaml changed while the queue was proved"):
        refresh(bench.ports(git=Late(files)), NEW)
    assert "# a remark" in stack.read_text() and "t/new" not in stack.read_text()
    assert refresh(bench.ports(), NEW).open is None
