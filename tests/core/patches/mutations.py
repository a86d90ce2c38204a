"""Patches as git and diff write them, over a small base, and what editors, mailers and people make of them."""

from __future__ import annotations

import difflib
import re
from random import Random

FILES = {
    "f.txt": ("100644", b"".join(b"line %d\n" % n for n in range(12))),
    "d/g.txt": ("100755", b"alpha\nbeta\n\n}\nalpha\nbeta\n\n}\nend"),
    "e.txt": ("100644", b""),
    "d/c.txt": ("100644", b"one\r\ntwo\r\nthree\r\n"),
    "f": ("100644", b"x\n"),
}
HEADS = (
    "",
    "Subject: x\n\nbody\n---\n",
    "From 0000000000000000000000000000000000000000 Mon Sep 17 00:00:00 2001\nFrom: A <a@b>\n"
    "Date: Mon, 2 Mar 2026 09:00:00 +0000\nSubject: [PATCH] t\n\nWhy: x\n---\n f.txt | 2 +-\n\n",
)
LINES = ("new\n", "alpha\n", "\n", "}\n", "-- \n", "++ b/x\n", "- x\n", "@@ -1 +1 @@\n")
STRAY = (
    b"\\ No newline at end of file", b"", b" ", b"-- ", b"-", b"+", b"diff --git a/f.txt b/f.txt", b"--- a/f.txt",
    b"+++ b/f.txt", b"--- /dev/null", b"+++ /dev/null", b"index 1..2 100755", b"new file mode 100644",
    b"deleted file mode 100644", b"old mode 100644", b"new mode 100755", b"rename from f.txt", b"rename to g",
    b"@@ -1 +1 @@", b"@@ -0,0 +1 @@", b"GIT binary patch", b"similarity index 90%", b"copy to h",
    b"From 0000000000000000000000000000000000000000 Mon Sep 17 00:00:00 2001",
)  # fmt: skip
NAMES = (b"e.txt", b"f", b"d/g.txt", b"./f.txt", b"f.txt\t2026-01-01 00:00:00", b'"f.txt"', b"f.txt.orig", b"f.txt ")
BYTES = b' +-\\@\r\n\t0129ab/."\0\xe9'


def patch(random: Random) -> bytes:
    """A whole patch file; most apply to FILES."""
    sections = "".join(section(random) for _ in range(random.randint(1, 3)))
    return (random.choice(HEADS) + sections + random.choice(("", "-- \n2.39.5\n\n"))).encode()


def section(random: Random) -> str:
    path = random.choice(list(FILES))
    mode, lines = FILES[path][0], FILES[path][1].decode().splitlines(keepends=True)
    names = f"diff --git a/{path} b/{path}\n"
    index = f"index 1234567..89abcde {mode}\n"
    match random.choice(("edit", "edit", "edit", "plain", "make", "drop", "mode", "rename", "copy")):
        case "edit":
            body = _diff(random, lines, _edited(random, lines), f"a/{path}", f"b/{path}")
            return names + index + body if body else ""
        case "plain":
            return _diff(random, lines, _edited(random, lines), f"a/{path}", f"b/{path}")
        case "make":
            new = random.choice(("b/n.txt", "b/d/n.txt", "b/f.txt/x", "b/sp ace.txt", '"b/q\\"u.txt"'))
            made = f"new file mode {random.choice(('100644', '100755'))}\nindex 0000000..1234567\n"
            old = new.replace("b/", "a/", 1)
            return f"diff --git {old} {new}\n{made}--- /dev/null\n+++ {new}\n@@ -0,0 +1,2 @@\n+a\n+b\n"
        case "drop":
            body = _diff(random, lines, [], f"a/{path}", "/dev/null")
            return f"{names}deleted file mode {mode}\nindex 1234567..0000000\n{body}"
        case "mode":
            return f"{names}old mode {mode}\nnew mode {'100755' if mode == '100644' else '100644'}\n"
        case how:
            new = random.choice(("moved.txt", "d/moved.txt"))
            body = index + _diff(random, lines, lines[:-1], f"a/{path}", f"b/{new}") if random.random() < 0.5 else ""
            body = body if "@@" in body else ""
            move = f"similarity index 90%\n{how} from {path}\n{how} to {new}\n"
            return f"diff --git a/{path} b/{new}\n{move}{body}"


def _edited(random: Random, lines: list[str]) -> list[str]:
    new = list(lines)
    for _ in range(random.randint(1, 3)):
        at = random.randint(0, len(new))
        new[at : at + random.randint(0, 2)] = [random.choice(LINES) for _ in range(random.randint(0, 2))]
    return new


def _diff(random: Random, old: list[str], new: list[str], old_name: str, new_name: str) -> str:
    context = random.choice((0, 1, 3, 3, 3))
    written = difflib.unified_diff(old, new, old_name, new_name, n=context)
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in written)


def mutated(random: Random, data: bytes) -> bytes:
    """Bytes turned, lines lost, doubled, moved, counts changed, line ends converted; or nothing at all."""
    for _ in range(random.choice((0, 1, 1, 1, 2, 3))):
        data = random.choice(MUTATIONS)(random, data)
    return data


def _byte(random: Random, data: bytes) -> bytes:
    at = random.randrange(len(data) + 1)
    return data[:at] + bytes([random.choice(BYTES)]) + data[at + 1 :]


def _cut(random: Random, data: bytes) -> bytes:
    return data[: random.randrange(len(data) + 1)]


def _converted(random: Random, data: bytes) -> bytes:
    return data.replace(b"\n", b"\r\n")


def _lines(random: Random, data: bytes) -> bytes:
    """Something happens to a line, or to a few of them."""
    lines = data.split(b"\n")
    at, other = sorted((random.randrange(len(lines)), random.randrange(len(lines))))
    change = {
        "lose": lines[:at] + lines[at + 1 :],
        "lose some": lines[:at] + lines[other:],
        "double": [*lines[:at], lines[other], *lines[at:]],
        "double some": lines[:at] + lines[at : other + 1] + lines[at:],
        "swap": [*lines[:at], lines[other], *lines[at + 1 : other], lines[at], *lines[other + 1 :]],
        "return": [*lines[:at], lines[at] + b"\r", *lines[at + 1 :]],
        "indent": [*lines[:at], b" " + lines[at], *lines[at + 1 :]],
        "dedent": [*lines[:at], lines[at][1:], *lines[at + 1 :]],
        "strip": [*lines[:at], lines[at].rstrip(b" "), *lines[at + 1 :]],
        "stray": [*lines[:at], random.choice(STRAY), *lines[at:]],
        "level": [*lines[:at], lines[at].replace(b"a/", b"").replace(b"b/", b""), *lines[at + 1 :]],
        "name": [*lines[:at], lines[at].replace(b"f.txt", random.choice(NAMES)), *lines[at + 1 :]],
    }
    return b"\n".join(change[random.choice(list(change))])


def _count(random: Random, data: bytes) -> bytes:
    """A number of an @@ line."""
    numbers = [found for line in re.finditer(rb"(?m)^@@.*$", data) for found in re.finditer(rb"\d+", line[0])]
    starts = [line.start() for line in re.finditer(rb"(?m)^@@.*$", data) for _ in re.finditer(rb"\d+", line[0])]
    if not numbers:
        return data
    at = random.randrange(len(numbers))
    value = max(0, int(numbers[at][0]) + random.choice((-2, -1, 1, 2, 5)))
    begin, end = starts[at] + numbers[at].start(), starts[at] + numbers[at].end()
    return data[:begin] + str(value).encode() + data[end:]


MUTATIONS = (_byte, _cut, _converted, _count, *[_lines] * 12)
