from __future__ import annotations

from pathlib import Path

import pytest

from stackctl.commands.changes import Change, as_diff, change_stack, holder, readers, write_changes
from stackctl.commands.workspace import Chosen
from stackctl.core.stack.edit import add_patch, remove_patch
from stackctl.errors import StackctlError, UsageError
from tests.fakes import LocalFilesAt, MemoryFiles, Told, fake_ports
from tests.workspaces import ports_of

CHAIN = {
    "stacks/base.yaml": "patches:\n  - a   # first\n  - b\n",
    "stacks/top.yaml": "extends: base.yaml\nwithout: [b]\nappend: [c]\n",
    "stacks/other.yaml": "patches: [a]\n",
    "stacks/broken.yaml": "extends: [\n",
}
TOP = Chosen("/ws/stacks/top.yaml", "/ws")


def test_the_file_that_lists_a_patch_is_found_through_extends() -> None:
    ports = ports_of(CHAIN)
    assert holder(ports, TOP, "a") == "/ws/stacks/base.yaml"
    assert holder(ports, TOP, "c") == "/ws/stacks/top.yaml"
    with pytest.raises(UsageError, match="has no patch b"):
        holder(ports, TOP, "b")


def test_who_else_reads_a_file() -> None:
    assert readers(ports_of(CHAIN), "/ws", "/ws/stacks/base.yaml") == ("/ws/stacks/base.yaml", "/ws/stacks/top.yaml")


def test_a_change_is_a_diff_before_it_is_written() -> None:
    ports = ports_of(CHAIN)
    change = change_stack(ports, "/ws/stacks/base.yaml", lambda file: add_patch(file, "x", after="a"))
    assert as_diff([change]).splitlines() == [
        "--- a/stacks/base.yaml", "+++ b/stacks/base.yaml", "@@ -1,3 +1,4 @@",
        " patches:", "   - a   # first", "+  - x", "   - b",
    ]  # fmt: skip
    assert ports.files.read(change.path) == change.before
    write_changes(ports, [change])
    assert ports.files.read(change.path) == change.after


def test_a_diff_says_where_a_line_end_is_missing() -> None:
    made = Change("/ws/p", "p", None, b"one\ntwo\xff")
    assert (
        as_diff([made]) == "--- /dev/null\n+++ b/p\n@@ -0,0 +1,2 @@\n+one\n+two\udcff\n\\ No newline at end of file\n"
    )


def test_what_changed_meanwhile_stops_all() -> None:
    ports = ports_of(CHAIN)
    one = change_stack(ports, "/ws/stacks/other.yaml", lambda file: add_patch(file, "x"))
    two = change_stack(ports, "/ws/stacks/base.yaml", lambda file: remove_patch(file, "a"))
    ports.files.write(two.path, b"patches: [mine]\n")
    with pytest.raises(StackctlError, match=r"changed meanwhile, so nothing is written: stacks/base\.yaml"):
        write_changes(ports, [one, two])
    assert ports.files.read(one.path) == one.before
    assert ports.files.read(two.path) == b"patches: [mine]\n"


class FullDisk(MemoryFiles):
    """Takes no file whose name has `full` in it."""

    def write(self, path: str, data: bytes, mode: int | None = None) -> None:
        if "full" in path:
            raise StackctlError(f"cannot write {path}: No space left on device")
        super().write(path, data, mode)


def test_nothing_is_left_half_done() -> None:
    files = FullDisk()
    files.data |= {"/ws/a": b"a", "/ws/gone": b"g"}
    changes = [
        Change("/ws/a", "a", b"a", b"A"),
        Change("/ws/new", "new", None, b"n"),
        Change("/ws/gone", "gone", b"g", None),
        Change("/ws/full", "full", None, b"x"),
    ]
    with pytest.raises(StackctlError, match="No space left"):
        write_changes(fake_ports(files=files), changes)
    assert files.data == {"/ws/a": b"a", "/ws/gone": b"g"}


class Stubborn(LocalFilesAt):
    """Writes no file whose name has `full` in it, and takes no old contents for one that has `stuck` in it."""

    def write(self, path: str, data: bytes, mode: int | None = None) -> None:
        name = Path(path).name
        if "full" in name or ("stuck" in name and data == b"old"):
            raise StackctlError(f"cannot write {name}: No space left on device")
        super().write(path, data, mode)


def changes_in(folder: Path, names: dict[str, tuple[bytes | None, bytes | None]]) -> list[Change]:
    for name, (before, _) in names.items():
        if before is not None:
            (folder / name).write_bytes(before)
    return [Change(str(folder / name), name, before, after) for name, (before, after) in names.items()]


def test_what_cannot_be_put_back_hides_neither_the_reason_nor_the_others(tmp_path: Path) -> None:
    files = {"first": (b"old", b"new"), "stuck": (b"old", b"new"), "gone": (b"old", None), "full": (None, b"new")}
    changes, told = changes_in(tmp_path, files), Told()
    ports = fake_ports(files=Stubborn(tmp_path / "home", tmp_path), progress=told)
    with pytest.raises(StackctlError, match="cannot write full"):
        write_changes(ports, changes)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {
        "first": b"old", "stuck": b"new", "gone": b"old",
    }  # fmt: skip
    assert told.lines == ["stuck could not be put back as it was: cannot write stuck: No space left on device"]


def test_a_deleted_file_comes_back_with_its_mode(tmp_path: Path) -> None:
    changes = changes_in(tmp_path, {"gone": (b"old", None), "full": (None, b"new")})
    (tmp_path / "gone").chmod(0o600)
    with pytest.raises(StackctlError, match="cannot write full"):
        write_changes(fake_ports(files=Stubborn(tmp_path / "home", tmp_path)), changes)
    assert (tmp_path / "gone").read_bytes() == b"old"
    assert (tmp_path / "gone").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("after", [b"new", None])
@pytest.mark.parametrize("there", [True, False])
def test_a_link_is_refused_by_name(tmp_path: Path, after: bytes | None, there: bool) -> None:
    other, *_ = changes_in(tmp_path, {"other": (b"old", b"new")})
    far, link = tmp_path / "far", tmp_path / "s.yaml"
    link.symlink_to(far)
    if there:
        far.write_bytes(b"old")
    change = Change(str(link), "s.yaml", b"old" if there else None, after)
    with pytest.raises(StackctlError, match=r"a link, so nothing is written: s\.yaml"):
        write_changes(fake_ports(files=LocalFilesAt(tmp_path / "home", tmp_path)), [other, change])
    assert link.is_symlink()
    assert (tmp_path / "other").read_bytes() == b"old"
