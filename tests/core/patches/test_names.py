"""File names that no patch and no base may hold."""

from __future__ import annotations

import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stackctl.core.patches.names import name_fault, patch_name_fault


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("/etc/x", "absolute-path"),
        ("C:/x", "absolute-path"),
        ("a/../b", "path-escape"),
        ("..", "path-escape"),
        ("a//b", "bad-path"),
        ("a/", "bad-path"),
        ("./a", "bad-path"),
        ("", "bad-path"),
        ("a\nb", "bad-path"),
        ("a\tb", "bad-path"),
        ("a\0b", "bad-path"),
        ("a\\b", "bad-path"),
        (".git/x", "forbidden-name"),
        ("a/.GiT", "forbidden-name"),
        ("GIT~1/x", "forbidden-name"),
        ("GI7EBA~1", "forbidden-name"),
        (".git. ./x", "forbidden-name"),
        (".git::$INDEX_ALLOCATION/x", "forbidden-name"),
        (".g\u200cit/x", "forbidden-name"),
    ],
)
def test_refused(name: str, kind: str) -> None:
    fault = name_fault(name)
    assert fault is not None
    assert fault.kind == kind


@pytest.mark.parametrize("name", ["a", "a/b.py", ".gitignore", "x.git/y", "legit/~1", "größe/a b.py", "...", "a..b"])
def test_allowed(name: str) -> None:
    assert name_fault(name) is None


@pytest.mark.parametrize("name", ["a", "topic/name", "t/a_b-c.d", "A/b/c", "t/_x", "1/2"])
def test_names_of_patches(name: str) -> None:
    assert patch_name_fault(name) is None


@pytest.mark.parametrize(
    "name",
    ["", "/a", "a/", "a//b", "a b", "a\n", "a:b", "ä", ".a", "t/.a", "-a", "t/-a", "a..b", "../a", "a.", "a./b",
     "a.lock", "a.LOCK/b", "a@{b", "a~1", "a^", "a?", "a*", "a[", "a\\b"],
)  # fmt: skip
def test_names_that_no_patch_may_have(name: str) -> None:
    assert patch_name_fault(name)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.text(st.sampled_from("aB.-_/0l@{~lock"), max_size=8))
def test_git_takes_every_name_as_a_ref(name: str) -> None:
    if patch_name_fault(name) is None:
        assert subprocess.run(["git", "check-ref-format", f"refs/patches/{name}"], check=False).returncode == 0
