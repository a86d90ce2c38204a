"""Files of this machine: whole or not at all, and errors that say what to do."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from stackctl.adapters.files import LocalFiles, _told
from stackctl.errors import StackctlError


def test_a_write_makes_the_folder_and_leaves_nothing_else(tmp_path: Path) -> None:
    target = tmp_path / "a" / "b"
    LocalFiles().write(str(target), b"one")
    LocalFiles().write(str(target), b"two", 0o600)
    assert target.read_bytes() == b"two"
    assert target.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in target.parent.iterdir()] == ["b"]


def test_a_file_that_is_there_keeps_its_mode(tmp_path: Path) -> None:
    file = tmp_path / "stack.yaml"
    file.write_text("old")
    file.chmod(0o664)
    LocalFiles().write(str(file), b"new")
    assert file.stat().st_mode & 0o777 == 0o664
    LocalFiles().write(str(file), b"run", 0o755)
    assert file.stat().st_mode & 0o777 == 0o755


def test_a_link_is_replaced_and_not_written_through(tmp_path: Path) -> None:
    (tmp_path / "far").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "far")
    LocalFiles().write(str(tmp_path / "link"), b"new")
    assert (tmp_path / "far").read_text() == "mine"
    assert (tmp_path / "link").read_text() == "new"


def test_a_failed_write_keeps_the_old_file(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(StackctlError) as caught:
        LocalFiles().write(str(tmp_path / "folder"), b"x")
    assert caught.value.hint == "A folder stands where a file is meant."
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StackctlError, match="cannot write"):
        LocalFiles().write(str(tmp_path / "file" / "below"), b"x")


def test_a_home_that_cannot_be_written_has_another_way_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setenv("STACKCTL_HOME", str(tmp_path / "file"))
    with pytest.raises(StackctlError) as caught:
        LocalFiles().write(f"{LocalFiles().home()}/wheels/x.whl", b"x")
    assert caught.value.hint is not None
    assert caught.value.hint.startswith("A file stands where a folder") and "$STACKCTL_HOME" in caught.value.hint


def test_a_full_disk_is_called_full() -> None:
    with pytest.raises(StackctlError, match="No space left") as caught, _told("/x", "write"):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert caught.value.hint == "The disk is full."


def test_reading_what_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(StackctlError, match="No such file"):
        LocalFiles().read(str(tmp_path / "none"))


def test_lines_are_appended_whole(tmp_path: Path) -> None:
    for line in ("a", "b\n"):
        LocalFiles().append_line(str(tmp_path / "x" / "log"), line)
    assert (tmp_path / "x" / "log").read_bytes() == b"a\nb\n"


def test_walk_names_regular_files_alone(tmp_path: Path) -> None:
    (tmp_path / "b" / "c").mkdir(parents=True)
    (tmp_path / "b" / "c" / "file").write_bytes(b"")
    (tmp_path / "a").write_bytes(b"")
    (tmp_path / "link").symlink_to("a")
    assert LocalFiles().walk(str(tmp_path)) == ("a", "b/c/file")
    assert LocalFiles().list(str(tmp_path)) == ("a", "b", "link")
    assert LocalFiles().list(str(tmp_path / "none")) == ()


def test_remove_takes_files_folders_and_nothing(tmp_path: Path) -> None:
    (tmp_path / "folder" / "sub").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "folder")
    for name in ("link", "none"):
        LocalFiles().remove(str(tmp_path / name))
    assert (tmp_path / "folder" / "sub").is_dir()
    LocalFiles().remove(str(tmp_path / "folder"))
    assert list(tmp_path.iterdir()) == []


def test_home_is_the_variable_or_the_default(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("STACKCTL_HOME", str(tmp_path))
    assert LocalFiles().home() == str(tmp_path)
    monkeypatch.delenv("STACKCTL_HOME")
    monkeypatch.setenv("HOME", "/home/somebody")
    assert LocalFiles().home() == "/home/somebody/.local/share/stackctl"


def test_a_device_is_no_file_to_read(tmp_path: Path) -> None:
    (tmp_path / "x.patch").symlink_to("/dev/zero")
    with pytest.raises(StackctlError, match=r"x\.patch: it is a device"):
        LocalFiles().read(str(tmp_path / "x.patch"))
