"""Imports a Dockerfile that changes the engine in an image: its steps are replayed on the tree, each becomes a patch.

`--root` says which folders of the image are the tree. What touches those and cannot be replayed stops the import,
unless it is asked for in part; everything else that is not replayed is listed. Nothing of the image is ever built.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Sequence
from dataclasses import replace

from stackctl.commands.importing.ground import Ground
from stackctl.commands.importing.replay import Left, Replay, landing, matches, put
from stackctl.commands.importing.run import follow_commands
from stackctl.commands.tree import listing_of
from stackctl.core.importing import folder as folders
from stackctl.core.importing.decide import Note, Taken
from stackctl.core.importing.dockerfile import (
    HERE,
    Instruction,
    assigned,
    expanded,
    instructions,
    of_last_stage,
    unknown_variables,
)
from stackctl.core.importing.roots import in_tree
from stackctl.core.importing.shell import Command, commands, unrolled
from stackctl.errors import PatchConflict
from stackctl.ports import Ports

INERT = (
    "FROM",
    "CMD",
    "ENTRYPOINT",
    "EXPOSE",
    "LABEL",
    "MAINTAINER",
    "STOPSIGNAL",
    "HEALTHCHECK",
    "USER",
    "VOLUME",
    "SHELL",
)


def take_dockerfile(ports: Ports, ground: Ground, file: str, context: str, timeout: float) -> Taken:
    """Raises PatchConflict when steps that touch the tree cannot be replayed, with all of them."""
    text = ports.files.read(file).decode("utf-8", "surrogateescape")
    replay = Replay(ports, ground, posixpath.basename(file), context, timeout, ground.tree)
    kept, left = of_last_stage(instructions(text))
    for begins in left:
        said = f"the last stage is not made from FROM {begins.rest}, so no step of that is replayed"
        replay.notes.append(Note("left-out", said, f"{replay.name}:{begins.line}"))
    for instruction in kept:
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
    sources = [word for word in words[:-1] if not HERE.fullmatch(word)]
    if "from" in one.flags or any("://" in word for word in sources):
        kind = "not-replayed" if touches else "other-step"
        replay.notes.append(Note(kind, f"{one.word} {one.rest}: it comes from elsewhere", where))
        return
    try:
        files = _from_context(replay, sources, target if len(words) == 2 else f"{target}/", where)
        files |= _texts(replay, one, words)
        put(replay, where, files, f"{one.word} {one.rest}")
    except Left as left:
        replay.notes.append(Note("not-replayed", f"{one.word} {one.rest}: {left}", where))


def _texts(replay: Replay, one: Instruction, words: Sequence[str]) -> dict[str, bytes]:
    """The here-documents of a COPY: a file each, in a folder by the name of its end word."""
    target = posixpath.join(replay.cwd, words[-1])
    found: dict[str, bytes] = {}
    marks = [match for word in words[:-1] if (match := HERE.fullmatch(word))]
    for mark, text in zip(marks, one.texts, strict=True):
        said = text.text
        if not mark[2]:
            unknown = unknown_variables(said, replay.variables)
            if unknown:
                raise Left(f"{unknown[0]} is not known here")
            said = expanded(said, replay.variables)
        place = posixpath.join(target, text.name) if target.endswith("/") or len(words) > 2 else target
        found[posixpath.normpath(place)] = said.encode("utf-8", "surrogateescape")
    return found


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
        root = next(one for one in sorted(roots, key=len, reverse=True) if in_tree(pattern, {one: roots[one]}) == place)
        inside = in_tree(root, roots) or ""
        names = sorted(path for path in listing_of(replay.ports, replay.tree) if matches(path, place))
        found = [posixpath.join("/", root, path[len(inside) :].lstrip("/")) for path in names]
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
    follow_commands(replay, one.line, read)
