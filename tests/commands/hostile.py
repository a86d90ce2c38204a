"""Patches that want more than to change files of a tree, and the kind of fault that refuses each. `{outside}` is a
folder beside the workspace: whatever is written there was not refused.
"""

from __future__ import annotations

import json
from pathlib import Path

from stackctl.core.patches.faults import BASE_KINDS

CASES = Path(__file__).parents[1] / "cases" / "patches"
ONE = "python/pkg/one.py"
MAKES = "diff --git {0} {0}\nnew file mode {1}\nindex 0000000..1111111\n--- /dev/null\n+++ {0}\n@@ -0,0 +1 @@\n+evil\n"
EDITS = "diff --git a/{0} b/{0}\nindex 1111111..2222222 100644\n--- a/{0}\n+++ b/{0}\n@@ -1 +1 @@\n-one\n+evil\n"
EDIT = EDITS.format(ONE)
HEAD = "From 0000000000000000000000000000000000000000 Mon Sep 17 00:00:00 2001\nFrom: A <a@b>\nSubject: [PATCH] x\n\n"


def makes(name: str, mode: str = "100644") -> str:
    """A patch that creates a file. `name` is written as it is, after b/ unless it is absolute or quoted."""
    written = name if name.startswith(("/", '"', "{")) else f"b/{name}"
    return MAKES.format(written, mode)


def moves(old: str, new: str, how: str = "rename") -> str:
    return f"diff --git a/{old} b/{new}\nsimilarity index 100%\n{how} from {old}\n{how} to {new}\n"


LINK = makes("python/pkg/way", "120000").replace("evil\n", "{outside}\n\\ No newline at end of file\n")
OWN = {
    "hook": (makes(".git/hooks/pre-commit", "100755"), "forbidden-name"),
    "hook-below": (makes("python/.git/hooks/post-checkout", "100755"), "forbidden-name"),
    "hook-case": (makes(".GIT/hooks/pre-commit", "100755"), "forbidden-name"),
    "hook-short": (makes("GIT~1/hooks/pre-commit", "100755"), "forbidden-name"),
    "hook-dot": (makes(".git./hooks/pre-commit", "100755"), "forbidden-name"),
    "hook-hfs": (makes('"b/.g\\342\\200\\214it/hooks/pre-commit"', "100755"), "forbidden-name"),
    "hook-stream": (makes(".git::$INDEX_ALLOCATION/config"), "forbidden-name"),
    "up": (makes("../neighbour/new"), "path-escape"),
    "up-deep": (makes("python/../../neighbour/new"), "path-escape"),
    "up-quoted": (makes('"b/\\056\\056/neighbour/new"'), "path-escape"),
    "up-move": (moves("python/pkg/one.py", "../neighbour/new"), "path-escape"),
    "up-copy": (moves("../neighbour/secret", "python/pkg/new.py", "copy"), "path-escape"),
    "up-edit": (EDITS.format("../neighbour/secret"), "path-escape"),
    "absolute": (makes("{outside}/new"), "absolute-path"),
    "absolute-plain": ("--- /dev/null\n+++ {outside}/new\n@@ -0,0 +1 @@\n+evil\n", "absolute-path"),
    "absolute-drive": (makes("C:/new"), "absolute-path"),
    "link": (LINK, "symlink"),
    "link-then-write": (LINK + makes("python/pkg/way/new"), "symlink"),
    "link-by-mode": (f"diff --git a/{ONE} b/{ONE}\nold mode 100644\nnew mode 120000\n", "symlink"),
    "gitlink": (makes("python/sub", "160000"), "gitlink"),
    "device": (makes("python/dev", "020666"), "not-a-patch"),
    "newline": (makes('"b/python/a\\nb"'), "bad-path"),
    "tab": (makes('"b/python/a\\tb"'), "bad-path"),
    "nul": (makes('"b/python/a\\000b"'), "bad-path"),
    "backslash": (makes('"b/..\\\\neighbour\\\\new"'), "bad-path"),
    "dot": (makes("python/./new"), "bad-path"),
    "binary": (makes("python/new.so").partition("---")[0] + "GIT binary patch\nliteral 4\nLcmZQz\n", "binary-patch"),
    "mailbox": (HEAD + "---\n" + EDIT + HEAD + "---\n" + makes(".git/x"), "mailbox"),
    "two-sections": (EDIT + moves(ONE, "python/pkg/two.py"), "corrupt-header"),
    "two-names": (EDIT.replace(f"+++ b/{ONE}", "+++ b/python/pkg/two.py"), "corrupt-header"),
    "more-lines": (EDIT + "+lost\n", "corrupt-hunk"),
    "huge": (EDIT.replace("@@ -1 +1 @@", "@@ -1,99999999999 +1,99999999999 @@"), "truncated-hunk"),
    "ed-script": ("--- a/python/pkg/one.py\n+++ b/python/pkg/one.py\n1d\n!touch {outside}/new\n.\nw\n", "not-a-patch"),
    "prose": ("--- run this: touch {outside}/new\nand that\n", "not-a-patch"),
    "needs-outside": (HEAD + "Needs: ../../neighbour/x\n---\n" + EDIT, "bad-needs"),
    "source-outside": (HEAD + "Source: ../../neighbour\n---\n" + EDIT, "other-source"),
}  # fmt: skip


def given() -> dict[str, tuple[bytes, str]]:
    """Those of tests/cases that are refused for what the patch file itself says: name -> bytes and kind."""
    found = {}
    for case in sorted(CASES.glob("*/expect.json")):
        for run in json.loads(case.read_bytes())["runs"]:
            names = run["series"]
            kind = run.get("error", {}).get("kind")
            if kind and kind not in BASE_KINDS and len(names) == 1 and not run.get("options"):
                name = f"{case.parent.name}-{run['run']}"
                found[name] = ((case.parent / names[0]).read_bytes(), kind)
    return found


def hostile(outside: Path) -> dict[str, tuple[bytes, str]]:
    own = {name: (text.replace("{outside}", str(outside)).encode(), kind) for name, (text, kind) in OWN.items()}
    return own | given()
