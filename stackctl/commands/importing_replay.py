"""Does the steps of a Dockerfile again on a tree of the store: sed, patches, programs, files that are written.

A step that cannot be done here raises `Left` with the reason. The real sed runs, without its commands that start
programs or write other files; GNU patch never does.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from hashlib import sha256

from stackctl.commands.importing_ground import Draft, Ground, follow, listing_of
from stackctl.commands.importing_script import run_edits
from stackctl.core.names import TreeId
from stackctl.core.patches.faults import Fault, error_of
from stackctl.core.patches.importing import Incoming, Note, made_header, title_of, titled
from stackctl.core.patches.installed import tops
from stackctl.core.patches.parse import ParsedPatch, parse
from stackctl.core.patches.replay import Copy, Diff, Nothing, Program, Remove, Sed, Step, Unknown, Write
from stackctl.core.patches.roots import in_tree, renamer, rewritten, taken_off
from stackctl.ports import Ports, TreeFile


class Left(Exception):
    """A step that is not replayed; its reason."""


@dataclass
class Replay:
    """The image as far as we see it: the tree, and the files that steps brought into it."""

    ports: Ports
    ground: Ground
    name: str
    context: str
    timeout: float
    tree: TreeId
    cwd: str = "/"
    variables: dict[str, str] = field(default_factory=dict)
    image: dict[str, bytes] = field(default_factory=dict)
    applied: list[str] = field(default_factory=list)  # patch files of the image
    changes: list[Incoming] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)


def matches(name: str, pattern: str) -> bool:
    return name.count("/") == pattern.count("/") and fnmatchcase(name, pattern)


def put(replay: Replay, where: str, path: str, data: bytes, said: str) -> None:
    """A file of the image; one below a root is a change of the tree."""
    place = in_tree(path, replay.ground.how.roots)
    if place is None:
        replay.image[path] = data
        return
    listing = listing_of(replay.ports, replay.tree)
    mode = listing[place][0] if place in listing else "100644"
    tree = replay.ports.git.change(replay.tree, {place: TreeFile(place, data, mode)})
    if place in listing and tree != replay.tree:
        text = f"{place} is replaced whole; nothing says which file it was cut from: look at the patch"
        replay.notes.append(Note("remark", text, where))
    _changed(replay, where, tree, (f"{'Replace' if place in listing else 'Add'} {posixpath.basename(place)}", said))


def _changed(replay: Replay, where: str, tree: TreeId, words: tuple[str, str]) -> None:
    """`words`: what is done, and the command's own text."""
    what, said = words
    if tree == replay.tree:
        replay.notes.append(Note("nothing", said, where))
        return
    line = where.rpartition(":")[2]
    header = made_header(f"{what} ({replay.name} line {line})", f"{where} says:\n\n  " + said.replace("\n", "\n  "))
    replay.changes.append(Incoming(where, header, tree))
    replay.tree = tree


def do_step(replay: Replay, where: str, step: Step, said: str) -> None:
    match step:
        case Sed():
            _sed(replay, where, step, said)
        case Diff():
            _diff(replay, where, step)
        case Write():
            old = _file(replay, step.path) if step.append else None
            put(replay, where, step.path, (old or b"") + step.text.encode("utf-8", "surrogateescape"), said)
        case Program():
            _program(replay, where, step, said)
        case Copy():
            _copy(replay, where, step, said)
        case Remove():
            gone = [place for path in step.paths if (place := in_tree(path, replay.ground.how.roots)) is not None]
            paths = [one for one in listing_of(replay.ports, replay.tree) if _under(one, gone)]
            if gone:
                tree = replay.ports.git.change(replay.tree, dict.fromkeys(paths))
                _changed(replay, where, tree, (f"Remove {posixpath.basename(gone[0])}", said))
        case Nothing():
            pass
        case Unknown():
            raise Left(step.why)


def _under(path: str, places: Sequence[str]) -> bool:
    return any(path == place or path.startswith(f"{place}/") for place in places)


def _file(replay: Replay, path: str) -> bytes | None:
    place = in_tree(path, replay.ground.how.roots)
    if place is None:
        return replay.image.get(path)
    return replay.ports.git.read(replay.tree, [place]).get(place)


def _places(replay: Replay, patterns: Iterable[str]) -> list[str]:
    """Paths of the tree; a wildcard is filled from it. Raises for what is not there."""
    listing, found = listing_of(replay.ports, replay.tree), list[str]()
    for pattern in patterns:
        place = in_tree(pattern, replay.ground.how.roots)
        if place is None:
            raise Left(f"{pattern} is in no --root")
        hits = [place] if place in listing else [one for one in listing if matches(one, place)]
        if not hits:
            raise Left(f"{place}: there is no such file")
        found += hits
    return found


def _sed(replay: Replay, where: str, step: Sed, said: str) -> None:
    """The real sed, without its commands that run programs or write other files, on copies of the files."""
    places = _places(replay, step.files)
    contents = replay.ports.git.read(replay.tree, places)
    modes = listing_of(replay.ports, replay.tree)
    current = dict(contents)
    for expression in step.expressions:
        made = _sed_once(replay, step, [expression], current)
        if made == current:
            replay.notes.append(Note("nothing", f"sed {expression!r} in {', '.join(places)}", where))
        current = made
    if len(step.expressions) > 1:  # together they may do other than one after the other
        current = _sed_once(replay, step, step.expressions, contents)
    for place in places:
        if len(places) > 1 and current[place] == contents[place]:
            replay.notes.append(Note("nothing", f"sed in {place}", where))
    if current == contents:
        return
    files = {place: TreeFile(place, current[place], modes[place][0]) for place in places}
    tree = replay.ports.git.change(replay.tree, files)
    _changed(replay, where, tree, (f"Edit {posixpath.basename(places[0])} by sed", said))


def _sed_once(replay: Replay, step: Sed, expressions: Sequence[str], contents: Mapping[str, bytes]) -> dict[str, bytes]:
    with replay.ports.scratch() as scratch:
        scratch.put(TreeFile(path, data) for path, data in contents.items())
        words = [word for expression in expressions for word in ("-e", expression)]
        argv = ["sed", "--sandbox", "-i", *step.options, *words, "--", *(f"./{path}" for path in contents)]
        ran = scratch.run(argv, cwd=scratch.root, timeout=replay.timeout)
        if ran.code:
            raise Left(f"sed: {ran.words}")
        return {file.path: file.data for file in scratch.files()}


def _diff(replay: Replay, where: str, step: Diff) -> None:
    for text in step.loose:
        replay.notes.append(Note("remark", f"it allows {text}; here nothing of the kind is done", where))
    names = [name for pattern in step.files for name in _image_files(replay, pattern)]
    replay.applied += names
    texts = [(posixpath.basename(name), replay.image[name]) for name in names]
    if step.text is not None:
        texts.append((f"{replay.name}-line-{where.rpartition(':')[2]}", step.text.encode("utf-8", "surrogateescape")))
    for name, data in texts:
        draft = _draft(replay, (name, data), step)
        changes, moved = follow(replay.ports, replay.tree, [draft])
        replay.notes += moved
        replay.changes += [replace(change, origin=f"{where} {name}", kept=None) for change in changes]
        replay.tree = changes[-1].tree


def _image_files(replay: Replay, pattern: str) -> list[str]:
    names = sorted(name for name in replay.image if name == pattern or matches(name, pattern))
    if not names:
        raise Left(f"{pattern}: no step brought it into the image")
    return names


def _draft(replay: Replay, file: tuple[str, bytes], step: Diff) -> Draft:
    """The patch in names of the tree: its names are those of the image once the level is off and the folder before."""
    name, data = file
    roots = replay.ground.how.roots
    parsed = _read(parse(data, name, rename=lambda one: f"a{one}" if one.startswith("/") else one))
    level = 1 if step.level is None else step.level
    absolute = any(one.startswith("/") for one in _names_as_written(data))
    placed = _read(parse(rewritten(parsed, 1 if absolute else level, "" if absolute else step.folder.strip("/")), name))
    lost = [one for section in placed.files for one in section.names if taken_off(one, roots) is None]
    if lost:
        raise Left(f"{name}: {lost[0].partition('/')[2]} is in no --root")
    said = f"{replay.name} applies {name}, sha256 {sha256(data).hexdigest()}."
    diff = _read(parse(placed.data, name, rename=renamer(roots)))
    return Draft(name, titled(parsed.header, title_of(name), said), _read(parse(rewritten(diff, 1), name)))


def _names_as_written(data: bytes) -> list[str]:
    return [line[4:].decode("utf-8", "replace") for line in data.splitlines() if line.startswith((b"--- ", b"+++ "))]


def _read(result: ParsedPatch | Fault) -> ParsedPatch:
    if isinstance(result, Fault):
        raise error_of([result])
    return result


def _program(replay: Replay, where: str, step: Program, said: str) -> None:
    data = _file(replay, step.file) if step.file else (step.text or "").encode("utf-8", "surrogateescape")
    if data is None:
        raise Left(f"{step.file}: no step brought it into the image")
    base = posixpath.basename(step.file or "") or ("inline.py" if step.runner == "python" else "inline.sh")
    name = base if "." in base or not step.runner else base + (".py" if step.runner == "python" else ".sh")
    if not _speaks_of_tree(replay, (data.decode("utf-8", "replace"), said, replay.cwd)):
        text = f"{said}: nothing in it names a package or a folder of --root"
        replay.notes.append(Note("other-step", text, where))
        return
    tree, notes = run_edits(replay.ports, replay.ground, replay.tree, (name, data, step.args), replay.timeout)
    replay.notes += [replace(note, where=where) if note.where == name else note for note in notes]
    _changed(replay, where, tree, (f"Run {name}", f"{said}\n(sha256 {sha256(data).hexdigest()})"))


def _speaks_of_tree(replay: Replay, texts: Sequence[str]) -> bool:
    """Whether a program names an installation folder, or a package that lies in one."""
    roots, listing = replay.ground.how.roots, listing_of(replay.ports, replay.tree)
    packages = {top for folder in roots.values() for top in tops(listing, folder.strip("./")) if top.isidentifier()}
    words = re.compile(
        "|".join([*(re.escape(root.strip("/")) for root in roots), *(rf"\b{one}\b" for one in packages)])
    )
    return bool(roots) and any(words.search(text) for text in texts)


def _copy(replay: Replay, where: str, step: Copy, said: str) -> None:
    many = step.target.endswith("/") or len(step.sources) > 1
    for source in step.sources:
        data = _file(replay, source)
        if data is None:
            raise Left(f"{source}: no step brought it into the image")
        target = posixpath.join(step.target, posixpath.basename(source)) if many else step.target
        put(replay, where, posixpath.normpath(target), data, said)
        place = in_tree(source, replay.ground.how.roots)
        if step.move and place is not None:
            tree = replay.ports.git.change(replay.tree, {place: None})
            _changed(replay, where, tree, (f"Move {posixpath.basename(place)} away", said))
