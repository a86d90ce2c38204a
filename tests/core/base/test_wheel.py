"""Wheels as source trees."""

from __future__ import annotations

import io
import zipfile

import pytest

from stackctl.core.base.wheel import files_of_wheel
from stackctl.errors import StackctlError


def wheel(*files: tuple[str, bytes, int]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data, mode in files:
            info = zipfile.ZipInfo(name)
            info.external_attr = mode << 16
            archive.writestr(info, data)
    return buffer.getvalue()


def test_sources_stand_under_python_with_the_modes_of_the_archive() -> None:
    data = wheel(
        ("pkg/b.py", b"b", 0o644),
        ("pkg/a.sh", b"a", 0o755),
        ("pkg/", b"", 0o755),
        ("pkg-1.0.dist-info/RECORD", b"", 0o644),
        ("pkg-1.0.data/scripts/x", b"", 0o755),
        ("single.py", b"", 0),
    )
    found = [(file.path, file.mode) for file in files_of_wheel(data, "pkg")]
    assert found == [("python/pkg/a.sh", "100755"), ("python/pkg/b.py", "100644"), ("python/single.py", "100644")]


@pytest.mark.parametrize("name", ["../x", "/etc/x", "a/../../x", ".git/config", "a//b"])
def test_names_that_leave_the_tree_are_refused(name: str) -> None:
    with pytest.raises(StackctlError, match="the wheel holds the name"):
        files_of_wheel(wheel((name, b"", 0o644)), "pkg")


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_name_twice_is_refused() -> None:
    with pytest.raises(StackctlError, match="a name twice"):
        files_of_wheel(wheel(("a.py", b"1", 0o644), ("a.py", b"2", 0o644)), "pkg")


@pytest.mark.parametrize("data", [b"", b"no zip", wheel(("a.py", b"x" * 100, 0o644))[:-40]])
def test_what_is_no_wheel_is_told(data: bytes) -> None:
    with pytest.raises(StackctlError, match="not a readable wheel"):
        files_of_wheel(data, "pkg")
