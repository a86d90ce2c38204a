"""Imports a Dockerfile that changes the engine in an image: its steps are replayed on the tree, each becomes a patch.

`--root` says which folders of the image are the tree. What touches those and cannot be replayed stops the import,
unless it is asked for in part; everything else that is not replayed is listed. Nothing of the image is ever built.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Sequence
from dataclasses import replace

from stackctl.commands.importing_ground import Ground, listing_of
from stackctl.commands.importing_replay import Left, LeftInTree, Replay, do_step, landing, matches, put
from stackctl.core.patches import folder as folders
from stackctl.core.patches.dockerfile import Instruction, assigned, expanded, instructions
from stackctl.core.patches.importing import Note, Taken
from stackctl.core.patches.replay import step_of
from stackctl.core.patches.roots import in_tree
from stackctl.core.patches.shell import Command, commands, unrolled
from stackctl.errors import PatchConflict, StackctlError
from stackctl.ports import Ports

INSTALLERS = frozenset(
    ("apt-get", "apt", "pip", "pip3", "uv", "dnf", "yum", "apk", "conda", "npm", "cargo", "make", "cmake")
)
INERT = ("CMD", "ENTRYPOINT", "EXPOSE", "LABEL", "MAINTAINER", "STOPSIGNAL", "HEALTHCHECK", "USER", "VOLUME", "SHELL")


def take_dockerfile(ports: Ports, ground: Ground, file: str, context: str, timeout: float) -> Taken:
    """Raises PatchConflict when steps that touch the tree cannot be replayed, with all of them."""
    text = ports.files.read(file).decode("utf-8", "surrogateescape")
    replay = Replay(ports, ground, posixpath.basename(file), context, timeout, ground.tree)
    for instruction in instructions(text):
        _instruction(replay, instruction)
    replay.notes += _of_the_patches(replay)
    lost = [note for note in replay.notes if note.kind == "not-replayed"]
    if lost and not ground.how.partial:
        said = "\n".join(f"{note.where}: {note.text}" for note in lost)
        message = f"{len(lost)} steps touch the tree and cannot be replayed:\n{said}"
        raise PatchConflict(message, "Replay them by hand (`patches new`); `--partial` imports the others.")
    return Taken(tuple(replay.changes), replay.tree, tuple(replay.notes))


def _of_the_patches(replay: Replay) -> Iterator[Note]:
    """Numbers that no applied patch has, and patches that were brought into the image for nothing."""
    gaps = folders.gaps([posixpath.basename(name) for name in replay.applied])
    if gaps:
        yield Note("remark", f"no patch that is applied has the number {', '.join(map(str, gaps))}", replay.name)
    for name in sorted(replay.image):
        if name.endswith((".patch", ".diff")) and name not in replay.applied:
            yield Note("left-out", "it is copied into the image, and no step that is replayed applies it", name)


def _instruction(replay: Replay, one: Instruction) -> None:
    where = f"{replay.name}:{one.line}"
    match one.word:
        case "FROM":
            replay.cwd, replay.variables = "/", {**replay.variables}
        case "WORKDIR":
            replay.cwd = posixpath.join(replay.cwd, expanded(one.rest, replay.variables))
        case "ARG" | "ENV":
            replay.variables |= assigned(one.rest, replay.variables)
        case "COPY" | "ADD":
            _copy_in(replay, one, where)
        case "RUN":
            _run(replay, one)
        case word if word not in INERT:
            replay.notes.append(Note("other-step", f"{word} is not replayed", where))
        case _:
            pass


def _copy_in(replay: Replay, one: Instruction, where: str) -> None:
    words = [expanded(word, replay.variables) for word in one.words]
    target = posixpath.join(replay.cwd, words[-1]) if words else ""
    touches = in_tree(target.rstrip("/") or "/", replay.ground.how.roots) is not None
    if one.texts:
        files = {target: one.texts[0].text.encode("utf-8", "surrogateescape")}
    elif "from" in one.flags or any("://" in word for word in words[:-1]):
        kind = "not-replayed" if touches else "other-step"
        replay.notes.append(Note(kind, f"{one.word} {one.rest}: it comes from elsewhere", where))
        return
    else:
        files = _from_context(replay, words[:-1], target, where)
    try:
        put(replay, where, files, f"{one.word} {one.rest}")
    except Left as left:
        replay.notes.append(Note("not-replayed", f"{one.word} {one.rest}: {left}", where))


def _from_context(replay: Replay, sources: Sequence[str], target: str, where: str) -> dict[str, bytes]:
    """Absolute path in the image -> contents."""
    files = replay.ports.files
    names = files.walk(replay.context)
    found: dict[str, bytes] = {}
    for source in sources:
        source = posixpath.normpath(source.lstrip("/"))
        exact = [name for name in names if matches(name, source)]
        inside = [name for name in names if source == "." or name.startswith(f"{source}/")]
        if not exact and not inside:
            replay.notes.append(Note("not-replayed", f"{source}: the context has no such file", where))
        folder = f"{target}/" if len(sources) > 1 or len(exact) > 1 else target
        for name in exact:
            found[landing(replay, folder, name)] = files.read(posixpath.join(replay.context, name))
        for name in inside:
            rest = name if source == "." else name[len(source) + 1 :]
            found[posixpath.normpath(posixpath.join(target, rest))] = files.read(posixpath.join(replay.context, name))
    return found


def _mounted(replay: Replay, one: Instruction) -> None:
    """Files that a `--mount=type=bind` lends to a RUN; what comes from another stage stays away."""
    facts = dict(pair.partition("=")[::2] for pair in one.flags.get("mount", "").split(","))
    target = facts.get("target") or facts.get("dst")
    if facts.get("type") != "bind" or not target or "from" in facts:
        return
    source = facts.get("source") or facts.get("src") or "."
    where = f"{replay.name}:{one.line}"
    files = _from_context(replay, [source], target, where)
    replay.image |= {path: data for path, data in files.items() if in_tree(path, replay.ground.how.roots) is None}


def _files_of_loop(replay: Replay, one: Instruction, word: str) -> list[str]:
    roots = replay.ground.how.roots
    pattern = posixpath.join(replay.cwd, expanded(word, replay.variables))
    place = in_tree(pattern, roots)
    if place is None:
        found = sorted(name for name in replay.image if matches(name, pattern))
    else:
        root = max((root for root in roots if pattern.startswith(f"{root.rstrip('/')}/")), key=len)
        inside = in_tree(root, roots) or ""
        names = sorted(path for path in listing_of(replay.ports, replay.tree) if matches(path, place))
        found = [posixpath.join(root, path[len(inside) :].lstrip("/")) for path in names]
    if not found:  # as a shell does; whatever is done to it will not be found either
        return [pattern]
    told = f"the loop takes {len(found)} files by their names: {', '.join(map(posixpath.basename, found))}"
    replay.notes.append(Note("remark", told, f"{replay.name}:{one.line}"))
    return found


def _run(replay: Replay, one: Instruction) -> None:
    script = one.rest
    _mounted(replay, one)
    if one.is_json:
        read = [Command(1, words=list(one.words))]
    else:
        alone = script.startswith("<<") and len(script.split()) == 1 and one.texts
        body = one.texts[0].text if alone else script + "\n" + "".join(f"{x.text}{x.name}\n" for x in one.texts)
        read = commands(unrolled(body, lambda word: _files_of_loop(replay, one, word)), replay.variables)
        one = replace(one, line=one.line + 1) if alone else one
    outer, cwd = replay.cwd, replay.cwd
    for number, command in enumerate(read):
        where = f"{replay.name}:{one.line + command.line - 1}"
        following = read[number + 1] if number + 1 < len(read) else None
        if command.joint == "||":
            replay.notes.append(Note("remark", f"`|| {command.text}` hides a failure of what stands before it", where))
            continue
        if command.words[:1] == ["cd"]:
            cwd = posixpath.normpath(posixpath.join(cwd, *command.words[1:2]))
            continue
        feeds = following is not None and following.joint == "|"
        if following is not None and feeds and command.words[:1] == ["cat"] and len(command.words) == 2:
            following.reads = posixpath.join(cwd, command.words[1])
            continue
        if feeds or (command.joint == "|" and command.reads is None):
            command.dark = command.dark or "a pipe is not followed"
        _command(replay, where, command, cwd)
    replay.cwd = outer


def _command(replay: Replay, where: str, command: Command, cwd: str) -> None:
    step = step_of(command, cwd)
    try:
        do_step(replay, where, step, command.text)
    except LeftInTree as left:
        replay.notes.append(Note("not-replayed", f"{_short(command.text)}: {left}", where))
    except Left as left:
        _not_replayed(replay, where, command, cwd, str(left))
    except StackctlError as error:
        _not_replayed(replay, where, command, cwd, str(error))


def _short(text: str) -> str:
    return text if len(text) < 100 else text[:97] + "…"


def _edits(command: Command) -> bool:
    """Not one of the programs that install packages or build, which run in the tree but do not edit it."""
    return not {posixpath.basename(word) for word in command.words[:3]} & INSTALLERS


def _not_replayed(replay: Replay, where: str, command: Command, cwd: str, why: str) -> None:
    """Alarming when its words, or where it runs, have to do with the tree."""
    roots = replay.ground.how.roots
    words = [posixpath.join(cwd, word) for word in command.words if not word.startswith("-")]
    touches = any(in_tree(word, roots) is not None for word in words if "/" in word)
    touches = touches or in_tree(cwd, roots) is not None or any(root in command.text for root in roots)
    tools = set(command.words) & {"sed", "patch"} or {"git", "apply"} <= set(command.words)
    replay.notes.append(
        Note(
            "not-replayed" if (touches and _edits(command)) or tools else "other-step",
            f"{_short(command.text)}: {why}",
            where,
        )
    )
