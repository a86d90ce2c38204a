"""Makes forks for tests: a git repository of a tree, with a branch of edits like those that people make."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

AUTHORS = (("Ada Example", "ada@example.org"), ("Jörg Ünlü", "joerg@example.org"), ("李明", "li@example.org"))
MESSAGES = (
    "[Fix] Bound the {name} queue of {file}",
    "Say why {file} waits\n\nA reader of the log could not tell a wait from a wedge.\n\nFrom here on it says so:\n\n"
    "    diff --git a/x b/x\n    --- a/x\n",
    "feat({name}): count calls of {file}\n\nSigned-off-by: Ada Example <ada@example.org>\n"
    "Co-authored-by: 李明 <li@example.org>",
    "Keep {file} quiet\n\nArea: scheduler\nWhy: Its log grew by a line for every token that was made, which nobody"
    " ever read, and the disk was full after two days of a long run.\nUpstream: Pending\nRemove-when: never",
)


def git(folder: Path, *args: str, input: bytes | None = None, **env: str) -> str:
    settings = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C.UTF-8"}
    identity = ("-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "init.defaultBranch=main")
    done = subprocess.run(
        ["git", *identity, *args], cwd=folder, env=settings | env, check=True, capture_output=True, input=input
    )
    return done.stdout.decode("utf-8", "surrogateescape").strip()


def repository(folder: Path, files: Mapping[str, tuple[str, bytes]]) -> str:
    """A repository whose one commit holds these files (path -> mode, contents); its commit."""
    folder.mkdir(parents=True)
    git(folder, "init", "-q")
    marks = b"".join(b"blob\nmark :%d\ndata %d\n%s\n" % (n, len(data), data)
                     for n, (_, data) in enumerate(files.values(), 1))  # fmt: skip
    lines = b"".join(f"M {mode} :{n} ".encode() + _quoted(path) + b"\n"
                     for n, (path, (mode, _)) in enumerate(files.items(), 1))  # fmt: skip
    commit = b"commit refs/heads/main\ncommitter x <x@example.org> 1700000000 +0000\ndata 4\nbase\n"
    git(folder, "fast-import", "--quiet", input=marks + commit + lines)
    git(folder, "reset", "-q", "--hard", "main")
    return git(folder, "rev-parse", "main")


def _quoted(path: str) -> bytes:
    return b'"' + path.encode().replace(b"\\", b"\\\\").replace(b'"', b'\\"') + b'"'


def commit(folder: Path, message: str, number: int = 0) -> str:
    """All that was edited, as one commit; author and date go with the number."""
    name, mail = AUTHORS[number % len(AUTHORS)]
    git(folder, "add", "-A")
    zone = ("+0000", "-0330", "+0545")[number % 3]
    who = {"GIT_AUTHOR_NAME": name, "GIT_AUTHOR_EMAIL": mail, "GIT_AUTHOR_DATE": f"{1700000000 + number * 4321} {zone}"}
    git(folder, "commit", "-q", "--allow-empty", "-F", "-", input=message.encode(), **who)
    return git(folder, "rev-parse", "HEAD")


def branch(folder: Path, paths: Iterable[str], count: int) -> list[str]:
    """`count` commits on a branch `fork`: edits, some beside lines of an earlier one, new files, modes."""
    git(folder, "checkout", "-q", "-b", "fork")
    chosen = list(paths)
    commits = []
    for number in range(count):
        path = folder / chosen[number % len(chosen)]
        name = f"{path.stem}_{number}"
        match number % 8:
            case 5:
                path.with_name(f"{name}.py").write_text(f"VALUE = {number}\n")
            case 6:
                path.with_name(f"{chosen[(number - 1) % len(chosen)].rpartition('/')[2][:-3]}_x.txt").write_text(
                    "no end"
                )
            case 7 if path.exists():
                path.chmod(0o755)
                _edit(path, number)
            case _:
                _edit(path, number)
                _edit(folder / chosen[(number * 3 + 1) % len(chosen)], number)
        message = MESSAGES[number % len(MESSAGES)].format(name=name, file=f"{path.name} ({number})")
        commits.append(commit(folder, message, number))
    return commits


def _edit(path: Path, number: int) -> None:
    lines = path.read_text("utf-8").split("\n")
    at = (number * 37) % max(1, len(lines) - 1)
    lines.insert(at, f"# edit {number}")
    if len(lines) > at + 20:
        del lines[at + 12]
    path.write_text("\n".join(lines), "utf-8")
