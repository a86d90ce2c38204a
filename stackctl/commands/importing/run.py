"""Follows the commands of one RUN: where they run, whether they run at all, and what of them cannot be replayed.

A command that ran only on a condition, or in a folder that cannot be told, is not replayed, since nobody knows here
what it did. Whether that is alarming depends on whether it has to do with the tree.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from dataclasses import dataclass

from stackctl.commands.importing.replay import Left, LeftInTree, Replay, do_step, speaks_of_tree
from stackctl.commands.importing.script import ScriptRefused
from stackctl.core.importing.decide import Note
from stackctl.core.importing.replay import HARMLESS, PYTHONS, SHELLS, Nothing, step_of
from stackctl.core.importing.roots import in_tree
from stackctl.core.importing.shell import Command
from stackctl.errors import InvalidFile, PatchConflict

INSTALLERS = frozenset(
    ("apt-get", "apt", "pip", "pip3", "uv", "dnf", "yum", "apk", "conda", "npm", "cargo", "make", "cmake")
)
EXCUSES = ("true", ":", "echo", "exit")  # behind `||` they change nothing
CONDITIONS = ("!", "[[", "test", "[", "grep", "egrep", "fgrep", "cmp", "diff", "command", "which", "type", "false")
EDITS = re.compile(r"write|open\(|shutil|unlink|remove|rename|replace\(|\bsed\b|\btee\b")


@dataclass
class _State:
    """`cwd`: None when it cannot be told. `chain`, `rest`: why what follows may not have run."""

    cwd: str | None
    chain: str | None = None
    rest: str | None = None


def follow_commands(replay: Replay, line: int, read: Sequence[Command]) -> None:
    """Does what can be done again; the notes say what cannot. `line`: where the script begins in the Dockerfile."""
    state = _State(replay.cwd)
    for number, command in enumerate(read):
        where = f"{replay.name}:{line + command.line - 1}"
        following = read[number + 1] if number + 1 < len(read) else None
        if command.joint in (";", "\n", "&"):
            state.chain = None
        if command.joint == "||" and _excused(replay, where, command, state):
            continue
        doubt = state.rest or state.chain
        if command.joint == "||":
            state.chain = doubt = "it runs only when what stands before it fails"
        if command.words[:1] and posixpath.basename(command.words[0]) in CONDITIONS:
            state.chain = state.chain or f"it runs only when `{_short(command.text)}` says so"
        if command.words[:1] and command.words[0] in ("cd", "pushd", "popd"):
            _go(state, command, doubt)
            continue
        if _feeds(command, following, state.cwd):
            continue
        _command(replay, where, command, state, doubt)


def _excused(replay: Replay, where: str, command: Command, state: _State) -> bool:
    """`|| true` and its like: a remark, and what follows runs in any case."""
    words = command.words[1:] if command.words[:1] == ["{"] else command.words
    if not words or words[0] not in EXCUSES or command.writes:
        return False
    replay.notes.append(Note("remark", f"`|| {command.text}` hides a failure of what stands before it", where))
    state.chain = None
    if words[:2] == ["exit", "0"]:
        state.rest = state.rest or "`|| exit 0` before it may have ended the script"
    return True


def _go(state: _State, command: Command, doubt: str | None) -> None:
    """Another folder; one that cannot be told makes everything behind it doubtful."""
    plain = command.words[0] == "cd" and len(command.words) == 2 and command.words[1][:1] not in ("-", "~", "")
    if command.dark or doubt or not plain or (state.cwd is None and not command.words[1].startswith("/")):
        state.cwd, state.rest = None, state.rest or f"where `{_short(command.text)}` leads is not known"
        return
    state.cwd = posixpath.normpath(posixpath.join(state.cwd or "/", command.words[1]))


def _feeds(command: Command, following: Command | None, cwd: str | None) -> bool:
    """Whether it is but the input of the next one; other pipes are not followed."""
    feeds = following is not None and following.joint == "|"
    plain = command.words[:1] == ["cat"] and len(command.words) == 2 and command.joint != "|" and not command.dark
    if following is not None and feeds and plain and cwd is not None:
        following.reads = posixpath.join(cwd, command.words[1])
        return True
    if feeds or (command.joint == "|" and command.reads is None):
        command.dark = command.dark or "a pipe is not followed"
    return False


def _command(replay: Replay, where: str, command: Command, state: _State, doubt: str | None) -> None:
    """Only what the step itself does wrong makes it one that is not replayed: a full disk ends the import."""
    step = step_of(command, state.cwd or "/")
    if isinstance(step, Nothing) or _harmless(command):
        return
    try:
        if doubt:
            raise Left(doubt)
        do_step(replay, where, step, command.text)
    except LeftInTree as left:
        replay.notes.append(Note("not-replayed", f"{_short(command.text)}: {left}", where))
    except (Left, PatchConflict, InvalidFile, ScriptRefused) as why:
        kind = "not-replayed" if _touches(replay, command, state.cwd) else "other-step"
        replay.notes.append(Note(kind, f"{_short(command.text)}: {why}", where))


def _harmless(command: Command) -> bool:
    """It edits nothing whatever its words are: a question, or the end of a compound command."""
    ends = len(command.words) == 1 and command.words[0] in ("}", "fi", "done", "esac")
    return not command.writes and (ends or (bool(command.words) and command.words[0] in (*HARMLESS, "[[")))


def _touches(replay: Replay, command: Command, cwd: str | None) -> bool:
    """Whether its words, what it reads and writes, or where it runs, have to do with the tree."""
    roots = replay.ground.how.roots
    if set(command.words) & {"sed", "patch"} or {"git", "apply"} <= set(command.words):
        return True
    if command.writes and in_tree(posixpath.join(cwd or "/", command.writes), roots) is not None:
        return True
    if {posixpath.basename(word) for word in command.words[:3]} & INSTALLERS:
        return False  # they run in the tree, and do not edit it
    words = [word for word in command.words if not word.startswith("-")]
    touches = any(in_tree(posixpath.join(cwd or "/", word), roots) is not None for word in words if "/" in word)
    touches = touches or cwd is None or in_tree(cwd, roots) is not None or any(root in command.text for root in roots)
    return touches or speaks_of_tree(replay, list(_programs(replay, command, cwd or "/")))


def _programs(replay: Replay, command: Command, cwd: str) -> list[str]:
    """The texts that it may run: files of the image that it names, and what is given to an interpreter.

    Of a text after `-c` only one that may write: most of them print a version.
    """
    names = [posixpath.normpath(posixpath.join(cwd, word)) for word in (*command.words, command.reads or "")]
    texts = [replay.image[name].decode("utf-8", "replace") for name in names if name in replay.image]
    name = posixpath.basename(command.words[0]) if command.words else ""
    if name.rstrip("0123456789.") in PYTHONS or name in SHELLS:
        texts.append(command.stdin or "")
        texts += [command.text] if "-c" in command.words and EDITS.search(command.text) else []
    return texts


def _short(text: str) -> str:
    return text if len(text) < 100 else text[:97] + "…"
