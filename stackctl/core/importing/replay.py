"""What a command of a Dockerfile does to files, as far as it can be done again elsewhere: a closed list of steps.

A step is a value; nothing is run here. What is not on the list is `Unknown`, with the reason, and gets listed. GNU
patch is never run: its patches go through the strict parser, without fuzz.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from stackctl.core.importing.shell import Command


@dataclass(frozen=True)
class Sed:
    """`options` for every expression; `files` may hold wildcards."""

    options: tuple[str, ...]
    expressions: tuple[str, ...]
    files: tuple[str, ...]


@dataclass(frozen=True)
class Diff:
    """Patch files (or a `text` given here) applied in `folder`; `loose`: what would have let them slip in."""

    files: tuple[str, ...]
    text: str | None
    level: int | None
    folder: str
    loose: tuple[str, ...] = ()


@dataclass(frozen=True)
class Write:
    path: str
    text: str
    append: bool


@dataclass(frozen=True)
class Program:
    """A file, or a `text` given here, that an interpreter runs."""

    runner: str
    file: str | None
    text: str | None
    args: tuple[str, ...]


@dataclass(frozen=True)
class Copy:
    sources: tuple[str, ...]
    target: str
    move: bool


@dataclass(frozen=True)
class Remove:
    paths: tuple[str, ...]


@dataclass(frozen=True)
class Nothing:
    """It touches no file that anybody here looks at."""


@dataclass(frozen=True)
class Unknown:
    why: str


Step = Sed | Diff | Write | Program | Copy | Remove | Nothing | Unknown
HARMLESS = frozenset(
    ("set", "true", ":", "echo", "mkdir", "export", "printf", "test", "[", "ls", "cat", "pwd", "sync", "exit", "umask")
)
PYTHONS = ("python", "python3")
SHELLS = ("sh", "bash", "dash")
LOOSE = {
    "-F": "fuzz", "--fuzz": "fuzz", "-l": "white space ignored", "--ignore-whitespace": "white space ignored",
    "-3": "a 3-way merge", "--3way": "a 3-way merge", "--reject": "hunks left out", "-C": "less context",
    "--unidiff-zero": "no context", "--inaccurate-eof": "inexact ends", "-f": "no questions asked",
    "--force": "no questions asked", "-t": "no questions asked", "--batch": "no questions asked",
    "-N": "already applied ones skipped", "--forward": "already applied ones skipped",
}  # fmt: skip


def step_of(command: Command, cwd: str) -> Step:
    """What the command does, in absolute paths; `cwd` is where it runs."""
    if command.dark:
        return Unknown(command.dark)
    words = command.words
    at: Callable[[str], str] = lambda path: posixpath.normpath(posixpath.join(cwd, path))  # noqa: E731
    if command.writes and command.writes != "/dev/null":
        return _written(command, at)
    if not words:
        return Nothing()
    name = posixpath.basename(words[0])
    if name.rstrip("0123456789.") in PYTHONS or name in SHELLS:
        return _program(command, name, at)
    match name:
        case "sed":
            return _sed(words[1:], at)
        case "patch":
            return _patch(command, cwd, at)
        case "git":
            return _git(command, cwd, at)
        case "cp" | "mv" | "install":
            return _copied(words[1:], at, move=name == "mv")
        case "rm":
            return Remove(tuple(at(word) for word in words[1:] if not word.startswith("-")))
    if name in HARMLESS:
        return Nothing()
    return _program(command, "", at) if words[0].startswith(("./", "/")) else Unknown(f"`{name}` is not replayed")


def _sed(words: Sequence[str], at: Callable[[str], str]) -> Step:
    options, expressions, rest, inplace = list[str](), list[str](), list[str](), False
    given = list(words)
    while given:
        word = given.pop(0)
        if word in ("-e", "--expression") and given:
            expressions.append(given.pop(0))
        elif word.startswith("--expression="):
            expressions.append(word.partition("=")[2])
        elif word in ("-f", "--file") or word.startswith("--file="):
            return Unknown("a sed script in a file is not replayed")
        elif word.startswith("--in-place"):
            inplace = True
        elif word == "--":
            rest += given
            break
        elif word.startswith("--"):
            options.append(word)
        elif word.startswith("-") and len(word) > 1:
            flags = word[1:]
            if "i" in flags:  # what follows it is the suffix of a backup
                flags, inplace = flags.partition("i")[0], True
            if flags.endswith("e") and given:
                flags = flags[:-1]
                expressions.append(given.pop(0))
            options += [f"-{flags}"] if flags else []
        else:
            rest.append(word)
    if not inplace:
        return Nothing()
    if not expressions and rest:
        expressions.append(rest.pop(0))
    return Sed(tuple(options), tuple(expressions), tuple(at(file) for file in rest))


def _patch(command: Command, cwd: str, at: Callable[[str], str]) -> Step:
    level, folder, files, loose, rest = None, cwd, list[str](), list[str](), list[str]()
    given = list(command.words[1:])
    while given:
        word = given.pop(0)
        key, equals, value = word.partition("=")
        if word.startswith("-p") and word[2:].isdigit():
            level = int(word[2:])
        elif key in ("-p", "--strip"):
            level = int(value if equals else given.pop(0))
        elif word.startswith("-d") or key == "--directory":
            folder = at(value if equals else word[2:] or given.pop(0))
        elif word.startswith("-i") or key == "--input":
            files.append(value if equals else word[2:] or given.pop(0))
        elif word in ("-R", "--reverse"):
            return Unknown("a patch taken back is not replayed")
        elif word in ("-o", "--output", "-r", "-D", "--ifdef"):
            return Unknown(f"patch {word} is not replayed")
        elif word.startswith("-") and word != "-":
            loose += [LOOSE[one] for one in (key, word[:2]) if one in LOOSE][:1]
        else:
            rest.append(word)
    if len(rest) > 1:
        files.append(rest[1])
    if rest and rest[0] != "-":
        return Unknown("a patch whose file is named on the command line is not replayed")
    where = at(command.reads) if command.reads else posixpath.join(folder, files[0]) if files else None
    if where is None and command.stdin is None:
        return Unknown("the patch comes from somewhere else")
    return Diff((where,) if where else (), command.stdin, level, folder, tuple(dict.fromkeys(loose)))


def _git(command: Command, cwd: str, at: Callable[[str], str]) -> Step:
    folder, given = cwd, list(command.words[1:])
    while given and given[0] in ("-C", "-c") and len(given) > 1:
        folder = at(given[1]) if given[0] == "-C" else folder
        given = given[2:]
    verb = given.pop(0) if given else ""
    if verb in ("config", "init", "status", "diff", "log", "rev-parse", "add", "commit", "fetch"):
        return Nothing()
    if verb not in ("apply", "am"):
        return Unknown(f"`git {verb}` is not replayed")
    level, files, loose, top = 1, list[str](), list[str](), folder
    while given:
        word = given.pop(0)
        if word.startswith("-p"):
            level = int(word[2:] or given.pop(0))
        elif word.startswith("--directory"):
            top = posixpath.normpath(posixpath.join(folder, word.partition("=")[2] or given.pop(0)))
        elif word in ("-R", "--reverse"):
            return Unknown("a patch taken back is not replayed")
        elif word in ("--check", "--stat", "--numstat", "--summary"):
            return Nothing()
        elif word.startswith("-") and word != "-":
            loose += [LOOSE[one] for one in (word, word[:2]) if one in LOOSE and one not in ("-f", "-t", "-N")][:1]
        elif word != "-":
            files.append(posixpath.normpath(posixpath.join(folder, word)))
    if command.reads and not files:
        files.append(at(command.reads))
    if not files and command.stdin is None:
        return Unknown("the patch comes from somewhere else")
    return Diff(tuple(files), None if files else command.stdin, level, top, tuple(dict.fromkeys(loose)))


def _written(command: Command, at: Callable[[str], str]) -> Step:
    name = posixpath.basename(command.words[0]) if command.words else ""
    path = at(command.writes or "")
    if name == "cat" and command.stdin is not None and len(command.words) == 1:
        return Write(path, command.stdin, command.appends)
    if name == "echo" and not any(word.startswith("-") for word in command.words[1:2]):
        return Write(path, " ".join(command.words[1:]) + "\n", command.appends)
    if name in ("", ":", "true"):
        return Write(path, "", command.appends)
    return Unknown(f"what `{name}` prints is not known")


def _program(command: Command, name: str, at: Callable[[str], str]) -> Step:
    runner = "python" if name.rstrip("0123456789.") in PYTHONS else name
    args = list(command.words[1:]) if name else list(command.words)
    while args and args[0] in ("-u", "-B", "-I", "-E", "-s", "-x", "-e", "-eu", "-ex", "-eux"):
        args.pop(0)
    if args[:1] == ["-c"] and len(args) > 1:
        return Program(runner, None, args[1], tuple(args[2:]))
    if args[:1] == ["-m"]:
        return Unknown(f"`{name} -m {' '.join(args[1:2])}` is not replayed")
    if command.stdin is not None and args in ([], ["-"]):
        return Program(runner, None, command.stdin, ())
    if command.reads and not args:
        return Program(runner, at(command.reads), None, ())
    if not args or args[0].startswith("-"):
        return Unknown("the program is not known")
    return Program(runner, at(args[0]), None, tuple(args[1:]))


def _copied(words: Sequence[str], at: Callable[[str], str], *, move: bool) -> Step:
    names = [word for word in words if not word.startswith("-")]
    if any(word.startswith(("-t", "--target")) for word in words) or len(names) < 2:
        return Unknown("a copy written like this is not replayed")
    target = at(names[-1]) + ("/" if names[-1].endswith("/") else "")
    return Copy(tuple(at(name) for name in names[:-1]), target, move)
