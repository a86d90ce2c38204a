"""Names, orders, maps of installation folders, and what an installation differs in."""

from __future__ import annotations

from pathlib import Path

import pytest

from stackctl.core.importing import folder as folders
from stackctl.core.importing import installed
from stackctl.core.importing.decide import Incoming, is_canonical, names_of, same_names, stack_lines, title_of
from stackctl.core.importing.folder import Entry
from stackctl.core.importing.installed import Found
from stackctl.core.importing.roots import in_tree, narrowed, renamer, rewritten, taken_off
from stackctl.core.names import PatchName, TreeId
from stackctl.core.patches.parse import ParsedPatch, diff_of, parse
from stackctl.core.patches.values import Header

ROOTS = {"/usr/lib/python3/dist-packages": "python", "/sgl": ".", "/usr/lib/python3/dist-packages/other": "o"}
QUEUE = sorted((Path(__file__).resolve().parents[3] / "patches").rglob("*.patch"))
FULL = b"index " + b"1" * 40 + b".." + b"2" * 40 + b" 100644\n"
HUNK = b"@@ -1 +1 @@\n-a\n+b\n\\ No newline at end of file\n"


def parsed(data: bytes, **options: object) -> ParsedPatch:
    found = parse(data, "x.patch", **options)  # type: ignore[arg-type]
    assert isinstance(found, ParsedPatch), found
    return found


def test_titles_and_names_bear_no_number() -> None:
    assert title_of("0007-raise_limit.patch") == "Raise limit"
    changes = [Incoming("a", Header("0007: Raise", None, None, ""), TreeId("1")),
               Incoming("b", Header("raise", None, None, ""), TreeId("2"))]  # fmt: skip
    names = names_of("t", changes, {})
    assert names == ["t/raise", "t/raise"]
    (fault,) = same_names(names, ["a", "b"])
    assert (fault.patch, fault.facts["entries"]) == ("b", [1, 2])
    assert "entry 2 would be called t/raise, and so would entry 1 (a)" in fault.message
    assert "--name 2=" in (fault.hint or "")
    assert not same_names(names_of("t", changes, {2: "other"}), ["a", "b"])


def test_lines_for_the_stack_say_where_from() -> None:
    lines = stack_lines([PatchName("t/a"), PatchName("t/longer")], ["commit 1", "x"])
    assert lines == ("  - t/a       # commit 1", "  - t/longer  # x")


@pytest.mark.parametrize("path", QUEUE, ids=lambda path: path.stem)
def test_the_queue_is_canonical(path: Path) -> None:
    patch = parsed(path.read_bytes())
    assert is_canonical(patch)
    assert patch.data.endswith(diff_of(patch))


@pytest.mark.parametrize(
    "spoilt",
    [(b"2" * 40, b"2" * 39), (b"Subject: [PATCH]", b"Subject:"), (b"\n---\n", b"\n---\n f | 2 +-\n"), (b"a/", b"x/")],
)
def test_what_is_not_canonical(spoilt: tuple[bytes, bytes]) -> None:
    head = (
        b"From 0000000000000000000000000000000000000000 Mon Sep 17 00:00:00 2001\nFrom: A <a@b>\n"
        b"Date: Sat, 01 Jan 2000 00:00:00 +0000\nSubject: [PATCH] s\n\n---\n"
    )
    data = head + b"diff --git a/f b/f\n" + FULL + b"--- a/f\n+++ b/f\n" + HUNK
    assert is_canonical(parsed(data))
    assert not is_canonical(parsed(data.replace(*spoilt)))


def test_orders_of_a_folder() -> None:
    assert folders.series("# x\na.patch -p0\n\nb.patch # why\n") == (Entry("a.patch", 0), Entry("b.patch"))
    assert folders.numbered(["0010-b", "9-a"]) == (Entry("9-a"), Entry("0010-b"))
    assert folders.numbered(["0007-b", "7-a"]) is None
    assert folders.numbered(["0007-b", "a"]) is None
    assert folders.gaps(["d/0001-a", "0004-b", "x"]) == (2, 3)


@pytest.mark.parametrize(
    ("path", "place", "level"),
    [
        ("/usr/lib/python3/dist-packages/sglang/x.py", "python/sglang/x.py", 5),
        ("a/usr/lib/python3/dist-packages/sglang/x.py", "python/sglang/x.py", 5),
        ("/usr/lib/python3/dist-packages/other/x.py", "o/x.py", 6),
        ("/sgl/python/x.py", "python/x.py", 2),
        ("/sgl", "", 1),
        ("/sglang/x.py", None, None),
        ("python/x.py", None, None),
    ],
)
def test_roots(path: str, place: str | None, level: int | None) -> None:
    assert in_tree(path, ROOTS) == place
    assert taken_off(path, ROOTS) == level


def test_a_patch_in_names_of_the_tree() -> None:
    data = b"--- /sgl/a b.py\t2026-01-01\n+++ /sgl/a b.py\t2026-01-01\n@@ -1 +1 @@\n-a\n+b\n"
    data += b"diff --git a/usr/lib/python3/dist-packages/n b/usr/lib/python3/dist-packages/n\nnew file mode 100755\n"
    data += b"index 0000000..1234567\n--- /dev/null\n+++ b/usr/lib/python3/dist-packages/n\n@@ -0,0 +1 @@\n+x\n"
    written = rewritten(parsed(data, rename=renamer(ROOTS)), 1)
    assert written.decode().splitlines() == [
        "diff --git a/a b.py b/a b.py", "--- a/a b.py\t", "+++ b/a b.py\t", "@@ -1,1 +1,1 @@", "-a", "+b",
        "diff --git a/python/n b/python/n", "new file mode 100755", "--- /dev/null", "+++ b/python/n",
        "@@ -0,0 +1,1 @@", "+x",
    ]  # fmt: skip
    moved = b"diff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to y\n"
    assert b"rename from d/x\nrename to d/y\n" in rewritten(parsed(moved), 1, "d")
    gone = "--- a/ü\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n".encode()
    assert parsed(rewritten(parsed(gone), 1)).files[0].old == "a/ü"


def test_a_diff_without_some_folders() -> None:
    one = b"diff --git a/python/x b/python/x\n" + FULL + b"--- a/python/x\n+++ b/python/x\n" + HUNK
    two = b"diff --git a/docs/y b/docs/y\n" + FULL + b"Binary files a/docs/y and b/docs/y differ\n"
    assert narrowed(two + one + two, lambda path: path.startswith("python/")) == (one, ["docs/y", "docs/y"])


TREE = {f"python/pkg/m{n}.py": ("100644", str(n)) for n in range(50)} | {"python/run.sh": ("100755", "r")}


def test_where_an_installation_lies_in_the_tree() -> None:
    tried = installed.candidates(TREE)
    assert set(tried) == {"", "python", "python/pkg"}
    assert installed.fitting(tried, [0, 40, 0]) == ("python",)
    assert installed.fitting(tried, [0, 40, 40]) == ("python", "python/pkg")
    assert installed.tops(TREE, "python") == ("pkg", "run.sh")


def test_what_an_installation_differs_in() -> None:
    start = TREE | {"python/pkg/m1.py": ("100644", "queue"), "python/pkg/new.py": ("100644", "queue")}
    there = {path: Found(*facts, 1) for path, facts in TREE.items() if path != "python/pkg/m0.py"}
    there |= {
        "python/pkg/m2.py": Found("100644", "edited", 1),
        "python/pkg/m3.py": Found("100755", "3", 1),
        "python/pkg/added.py": Found("100644", "a", 1),
        "python/pkg/m2.py.bak-2026": Found("100644", "2", 1),
        "python/pkg/a\\b.py": Found("100644", "x", 1),
        "python/pkg/.git/config": Found("100644", "x", 1),
    }
    found = installed.compare(start, TREE, there, {"python/pkg/l": "a link to x"}, "python")
    assert found.modified == ("python/pkg/m2.py", "python/pkg/m3.py")
    assert (found.added, found.missing) == (("python/pkg/added.py",), ("python/pkg/m0.py",))
    assert found.as_base == ("python/pkg/m1.py", "python/pkg/new.py")
    assert found.backups == ("python/pkg/m2.py.bak-2026",)
    assert [path for path, _ in found.unexplained] == ["python/pkg/a\\b.py", "python/pkg/l"]
