"""Moving and dropping patches, over the real git: what is done is proved, what cannot be leaves every file alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from stackctl.commands.authoring.begin import edit_patch
from stackctl.commands.gather import load_file
from stackctl.commands.queue.requeue import Beside, Dropping, drop_patch, move_patch
from stackctl.commands.tree import compose
from stackctl.commands.workspace import Chosen
from stackctl.errors import PatchConflict, StackctlError, UsageError
from tests.commands.composing import STACK, Bench
from tests.fakes import LocalFilesAt

pytestmark = pytest.mark.slow
QUEUE = "patches:\n  - one      # the first\n  - two\n  # they hang together\n  - three    # needs two\n  - four\n"


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """`three` changes the line that `two` has written; the others stand alone."""
    made = Bench(tmp_path)
    made.edit("one", 5, "one")
    made.edit("two", 15, "two")
    made.edit("three", 15, "three", old="two")
    made.edit("four", 25, "four")
    file(made, "s", STACK.replace("patches: [PATCHES]\n", QUEUE))
    return made


def file(bench: Bench, name: str, text: str) -> Path:
    path = bench.workspace / "stacks" / f"{name}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def snapshot(bench: Bench) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(bench.workspace.rglob("*")) if path.is_file()}


def tree(bench: Bench, name: str = "s") -> str:
    ports = bench.ports()
    ws = str(bench.workspace)
    return compose(ports, load_file(ports, Chosen(f"{ws}/stacks/{name}.yaml", ws)))[1].tree


def refused(bench: Bench, act: Callable[[], object], error: type[StackctlError], message: str) -> None:
    before = snapshot(bench)
    with pytest.raises(error, match=message):
        act()
    assert snapshot(bench) == before


def test_a_move_gives_the_same_tree_and_changes_one_line(bench: Bench) -> None:
    before, text = tree(bench), (bench.workspace / "stacks/s.yaml").read_text()
    done = move_patch(bench.ports(), "four", Beside("one"), "s")
    assert done.written and done.order == ("one", "four", "two", "three")
    assert (bench.workspace / "stacks/s.yaml").read_text() == text.replace("  - four\n", "").replace(
        "# the first\n", "# the first\n  - four\n"
    )
    assert tree(bench) == before == done.proof.trees["sglang"]


def test_a_dry_run_proves_and_writes_nothing(bench: Bench) -> None:
    before = snapshot(bench)
    done = move_patch(bench.ports(), "one", Beside("four"), "s", dry_run=True)
    assert (
        not done.written and "-  - one      # the first\n" in done.diff and "+  - one      # the first\n" in done.diff
    )
    assert snapshot(bench) == before


def test_nothing_to_move_is_no_change(bench: Bench) -> None:
    before = snapshot(bench)
    assert move_patch(bench.ports(), "two", Beside("one"), "s").diff == ""
    assert snapshot(bench) == before


def test_a_need_forbids_a_move(bench: Bench) -> None:
    message = r"three needs two \(content, python/pkg/a.py\)"
    refused(bench, lambda: move_patch(bench.ports(), "three", Beside("two", before=True), "s"), PatchConflict, message)
    refused(bench, lambda: move_patch(bench.ports(), "two", Beside("four"), "s"), PatchConflict, message)


def test_names_that_are_wrong(bench: Bench) -> None:
    refused(bench, lambda: move_patch(bench.ports(), "tree", Beside("two"), "s"), UsageError, "has no patch tree")
    refused(bench, lambda: move_patch(bench.ports(), "two", Beside("two"), "s"), UsageError, "beside itself")
    refused(bench, lambda: drop_patch(bench.ports(), Dropping("tree"), "s"), UsageError, "has no patch tree")


def test_a_drop_is_refused_while_others_need_it(bench: Bench) -> None:
    message = r"two is needed: three \(content, python/pkg/a.py\)"
    refused(bench, lambda: drop_patch(bench.ports(), Dropping("two"), "s"), StackctlError, message)


def test_a_drop_takes_its_dependants_and_leaves_their_files(bench: Bench) -> None:
    bench.stack_file()
    file(bench, "s", STACK.replace("patches: [PATCHES]\n", QUEUE))
    done = drop_patch(bench.ports(), Dropping("two", dependants=True), "s")
    assert done.dropped == ("two", "three") and done.order == ("one", "four")
    assert (bench.workspace / "stacks/s.yaml").read_text() == STACK.replace(
        "patches: [PATCHES]\n", "patches:\n  - one      # the first\n  # they hang together\n  - four\n"
    )
    assert (bench.workspace / "patches/two.patch").exists()
    assert tree(bench) == done.proof.trees["sglang"]


def test_the_last_patch_can_go(bench: Bench) -> None:
    file(bench, "s", STACK.replace("PATCHES", "one"))
    assert drop_patch(bench.ports(), Dropping("one"), "s").order == ()
    assert "patches: []\n" in (bench.workspace / "stacks/s.yaml").read_text()


class NoRemoval(LocalFilesAt):
    """Removes all but the last of the files of `four`."""

    def remove(self, path: str) -> None:
        if path.endswith("four@0.5.23.patch"):
            raise StackctlError(f"cannot remove {path}: Operation not permitted")
        super().remove(path)


def test_a_file_that_cannot_be_deleted_keeps_the_patch_in_the_queue(bench: Bench) -> None:
    bench.edit("four@0.5.23", 25, "four")
    (bench.workspace / "patches/four.patch").chmod(0o600)
    before = snapshot(bench)
    ports = bench.ports(files=NoRemoval(bench.folder / "home", bench.workspace))
    with pytest.raises(StackctlError, match=r"cannot remove .*four@0\.5\.23\.patch: Operation not permitted"):
        drop_patch(ports, Dropping("four", delete=True), "s")
    assert snapshot(bench) == before
    assert (bench.workspace / "patches/four.patch").stat().st_mode & 0o777 == 0o600


def test_files_are_deleted_unless_a_stack_names_them(bench: Bench) -> None:
    bench.edit("four@0.5.23", 25, "FOUR")
    bench.edit("fourth", 20, "fourth")
    file(bench, "t", STACK.replace("PATCHES", "one"))
    ports = bench.ports()
    assert drop_patch(ports, Dropping("one", delete=True), "s").kept == ("patches/one.patch",)
    done = drop_patch(ports, Dropping("four", delete=True), "s")
    assert done.deleted == ("patches/four.patch", "patches/four@0.5.23.patch")
    left = sorted(path.name for path in (bench.workspace / "patches").iterdir())
    assert left == ["fourth.patch", "one.patch", "three.patch", "two.patch"]


def test_a_stack_that_cannot_be_read_keeps_the_file(bench: Bench) -> None:
    file(bench, "broken", "patches: [four\n")
    assert drop_patch(bench.ports(), Dropping("four", delete=True), "s").kept == ("patches/four.patch",)


def test_the_file_that_holds_the_line_is_changed_and_its_readers_are_named(bench: Bench) -> None:
    bench.edit("five", 9, "five")
    child = file(bench, "child", "extends: s.yaml\nwithout: [four, one]  # not here\nappend: [five]\n")
    done = drop_patch(bench.ports(), Dropping("four"), "s")
    assert done.proof.others == ()  # its queue is what it was
    assert child.read_text() == "extends: s.yaml\nwithout: [one]  # not here\nappend: [five]\n"
    again = drop_patch(bench.ports(), Dropping("two", dependants=True), "child")
    assert [(one.stack, one.lost) for one in again.proof.others] == [("s", ("two", "three"))]
    assert "two" not in (bench.workspace / "stacks/s.yaml").read_text()


def test_a_drop_here_leaves_the_file_alone_that_is_extended(bench: Bench) -> None:
    bench.edit("five", 25, "five", old="four")
    text = (bench.workspace / "stacks/s.yaml").read_text()
    child = file(bench, "child", "extends: s.yaml  # all of it\nappend: [five]\n")
    grand = file(bench, "grand", "extends: child.yaml\nwithout: [four, five]\n")
    done = drop_patch(bench.ports(), Dropping("four", here=True, dependants=True), "child")
    assert done.dropped == ("four", "five") and done.order == ("one", "two", "three")
    assert (bench.workspace / "stacks/s.yaml").read_text() == text
    assert child.read_text() == "extends: s.yaml  # all of it\nwithout:\n  - four\nappend: []\n"
    assert grand.read_text() == "extends: child.yaml\nwithout: []\n"
    assert tree(bench, "grand") == tree(bench, "child") == done.proof.trees["sglang"]


def test_a_list_of_a_bisect_does_not_keep_the_name(bench: Bench) -> None:
    child = file(
        bench, "child", "extends: s.yaml\nbisect:\n  elements:\n    patches:\n      - one\n      - four   # x\n"
    )
    drop_patch(bench.ports(), Dropping("four"), "s")
    assert child.read_text() == "extends: s.yaml\nbisect:\n  elements:\n    patches:\n      - one\n"


class Meddler(LocalFilesAt):
    """Somebody who edits a patch while the proof runs."""

    def list(self, path: str) -> tuple[str, ...]:
        file = self._cwd / "patches/one.patch"
        file.write_text(file.read_text().replace("one title", "a better title"))
        return super().list(path)


def test_a_patch_that_is_edited_meanwhile_stops_it(bench: Bench) -> None:
    text = (bench.workspace / "stacks/s.yaml").read_text()
    ports = bench.ports(files=Meddler(bench.folder / "home", bench.workspace))
    with pytest.raises(StackctlError, match=r"changed meanwhile, so nothing is written: patches/one\.patch"):
        drop_patch(ports, Dropping("four"), str(bench.workspace / "stacks/s.yaml"))
    assert (bench.workspace / "stacks/s.yaml").read_text() == text


def test_a_patch_that_is_being_edited_stays(bench: Bench) -> None:
    edit_patch(bench.ports(), "four", "s")
    message = "an edit of four is open"
    refused(bench, lambda: drop_patch(bench.ports(), Dropping("four"), "s"), StackctlError, message)


def test_another_stack_that_would_break_stops_it(bench: Bench) -> None:
    bench.edit("after-four", 25, "more", old="four")
    file(bench, "child", "extends: s.yaml\nappend: [after-four]\n")
    message = "the stack child reads the same file and would break"
    refused(bench, lambda: drop_patch(bench.ports(), Dropping("four"), "s"), PatchConflict, message)


def test_a_patch_moves_within_one_list_only(bench: Bench) -> None:
    bench.edit("five", 9, "five")
    file(bench, "child", "extends: s.yaml\nappend: [five]\n")
    message = r"five is listed in stacks/child.yaml, one in stacks/s.yaml"
    refused(bench, lambda: move_patch(bench.ports(), "five", Beside("one"), "child"), StackctlError, message)


def test_a_queue_that_does_not_apply_proves_nothing(bench: Bench) -> None:
    bench.edit("wrong", 7, "x", old="not there")
    file(bench, "s", STACK.replace("PATCHES", "one, wrong"))
    refused(bench, lambda: drop_patch(bench.ports(), Dropping("one"), "s"), PatchConflict, "wrong.patch")


BLOCK = "def f():\n    a\n    b\n    c\n    d\n    e\n    f\n\n"


def repeated(bench: Bench) -> str:
    """`late` is stated for the third of many blocks alike; without the eight lines of `early` it fits the fourth."""
    bench.base("python/pkg/r.py", "top\n" + BLOCK * 6)
    path = "python/pkg/r.py"
    head = f"Subject: x\n\n---\ndiff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n"
    more = "".join(f"+new {n}\n" for n in range(8))
    bench.patch("early", f"{head}@@ -1,4 +1,12 @@\n top\n{more} def f():\n     a\n     b\n")
    bench.patch("late", f"{head}@@ -27,7 +27,7 @@\n     a\n     b\n     c\n-    d\n+    D\n     e\n     f\n \n")
    file(bench, "s", STACK.replace("PATCHES", "early, late"))
    return tree(bench)


def test_lines_that_fit_in_many_places_get_new_numbers_when_the_order_changes(bench: Bench) -> None:
    before = repeated(bench)
    done = move_patch(bench.ports(), "late", Beside("early", before=True), "s")
    assert done.proof.rewritten == ("late",)
    assert tree(bench) == before
    text = (bench.workspace / "patches/late.patch").read_text()
    assert text.startswith("Subject: x\n\n---\ndiff --git ") and "\n@@ -19,7 +19,7 @@" in text


def test_a_drop_keeps_the_others_on_their_lines(bench: Bench) -> None:
    repeated(bench)
    done = drop_patch(bench.ports(), Dropping("early"), "s")
    assert done.proof.rewritten == ("late",)
    made = bench.ports().git.read(done.proof.trees["sglang"], ["python/pkg/r.py"])["python/pkg/r.py"]
    assert made == ("top\n" + BLOCK * 2 + BLOCK.replace("    d\n", "    D\n") + BLOCK * 3).encode()
