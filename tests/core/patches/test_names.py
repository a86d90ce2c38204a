"""File names that no patch and no base may hold."""

from __future__ import annotations

import pytest

from stackctl.core.patches.names import name_fault


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
