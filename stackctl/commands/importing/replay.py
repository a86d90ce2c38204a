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

from stackctl.commands.importing.ground import Draft, Ground, follow
from stackctl.commands.importing.script import run_edits, run_in
from stackctl.commands.tree import listing_of
from stackctl.core.importing.decide import Incoming, Note, made_header, title_of, titled
from stackctl.core.importing.installed import tops
from stackctl.core.importing.replay import Copy, Diff, Nothing, Program, Remove, Sed, Step, Unknown, Write
from stackctl.core.importing.roots import in_tree, renamer, rewritten, taken_off
from stackctl.core.names import TreeId
from stackctl.core.patches.canonical import slug
from stackctl.core.patches.faults import Fault, error_of
from stackctl.core.patches.parse import ParsedPatch, parse
from stackctl.ports import Ports, TreeFile


class Left(Exception):
    """A step that is not replayed; its reason."""


class LeftInTree(Left):
    """One that would change the tree for certain."""


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
    """As a shell fills a wildcard: it crosses no `/`, and takes no name with a dot in front that it does not say."""
    if name.count("/") != pattern.count("/") or not fnmatchcase(name, pattern):
        return False
    parts = zip(name.split("/"), pattern.split("/"), strict=True)
    return all(meant.startswith(".") or not part.startswith(".") for part, meant in parts)


def landing(replay: Replay, target: str, source: str) -> str:
    """Where a file that is copied to `target` comes to lie: inside of it, when that is a folder here."""
    place = in_tree(target.rstrip("/"), replay.ground.how.roots)
    known = replay.image if place is None else listing_of(replay.ports, replay.tree)
    top = target.rstrip("/") if place is None else place
    if target.endswith("/") or not top or any(name.startswith(f"{top}/") for name in known):
        target = posixpath.join(target, posixpath.basename(source))
    return posixpath.normpath(target)


def put(replay: Replay, where: str, files: Mapping[str, bytes], said: str, gone: Sequence[str] = ()) -> None:
    """What one step brings into the image, by absolute paths; what lies below a root is one change of the tree.

    `gone`: places of the tree that it takes away. Raises Left for a name that is a folder of the tree.
    """
    roots, listing = replay.ground.how.roots, listing_of(replay.ports, replay.tree)
    changes: dict[str, TreeFile | None] = dict.fromkeys(gone)
    names: dict[str, TreeFile] = {}
    for path, data in sorted(files.items()):
        place = in_tree(path, roots)
        if place is not None:
            _refuse_folder(place, listing)
            names[place] = TreeFile(place, data, listing[place][0] if place in listing else "100644")
    replay.image |= {path: data for path, data in files.items() if in_tree(path, roots) is None}
    changes |= names
    if not changes:
        return
    tree = replay.ports.git.change(replay.tree, changes)
    for place in names:
        if place in listing and tree != replay.tree:
            text = f"{place} is replaced whole; nothing says which file it was cut from: look at the patch"
            replay.notes.append(Note("remark", text, where))
    _changed(replay, where, tree, (_title(list(names), listing, gone), said))


def _refuse_folder(place: str, listing: Mapping[str, object]) -> None:
    above = [place[:at] for at, letter in enumerate(place) if letter == "/"]
    if not place or any(name.startswith(f"{place}/") for name in listing):
        raise LeftInTree(f"{place or 'the top of the tree'} is a folder")
    if any(name in listing for name in above):
        raise LeftInTree(f"{place} would lie below a file")


def _title(places: Sequence[str], listing: Mapping[str, object], gone: Sequence[str]) -> str:
    if not places:
        return f"Move {posixpath.basename(gone[0])} away"
    verb = "Move" if gone else "Replace" if all(place in listing for place in places) else "Add"
    return f"{verb} {posixpath.basename(places[0])}" if len(places) == 1 else f"{verb} {len(places)} files"


def _changed(replay: Replay, where: str, tree: TreeId, words: tuple[str, str]) -> None:
    """`words`: what is done, and the command's own text."""
    what, said = words
    if tree == replay.tree:
        replay.notes.append(Note("nothing", said, where))
        return
    title = _free_title(replay, what, where.rpartition(":")[2])
    header = made_header(title, f"{where} says:\n\n  " + said.replace("\n", "\n  "))
    replay.changes.append(Incoming(where, header, tree))
    replay.tree = tree


def _free_title(replay: Replay, what: str, line: str) -> str:
    """A second step of the same kind in one line is numbered, so that both have names."""
    taken = {slug(change.header.subject or "") for change in replay.changes}
    title, number = f"{what} ({replay.name} line {line})", 2
    while slug(title) in taken:
        title, number = f"{what} ({replay.name} line {line}, {number})", number + 1
    return title


def do_step(replay: Replay, where: str, step: Step, said: str) -> None:
    match step:
        case Sed():
            _sed(replay, where, step, said)
        case Diff():
            _diff(replay, where, step)
        case Write():
            old = _file(replay, step.path) if step.append else None
            put(replay, where, {step.path: (old or b"") + step.text.encode("utf-8", "surrogateescape")}, said)
        case Program():
            _program(replay, where, step, said)
        case Copy():
            _copy(replay, where, step, said)
        case Remove():
            _remove(replay, where, step, said)
        case Nothing():
            pass
        case Unknown():
            raise Left(step.why)


def _remove(replay: Replay, where: str, step: Remove, said: str) -> None:
    """Wildcards are filled from the tree; one that fits nothing there, or reaches above a root, is not replayed."""
    listing, gone = listing_of(replay.ports, replay.tree), list[str]()
    folders = {name[:at] for name in listing for at, letter in enumerate(name) if letter == "/"}
    for path in step.paths:
        place = in_tree(path, replay.ground.how.roots)
        if place == "" or (place is None and _reaches(path, replay.ground.how.roots)):
            raise LeftInTree(f"{path} may take a whole --root away")
        if place is None:
            continue
        wild = bool(set(place) & set("*?["))
        hits = sorted(one for one in (*listing, *folders) if matches(one, place)) if wild else [place]
        if not hits:
            raise LeftInTree(f"{place}: there is no such file")
        gone += hits
    if gone:
        paths = [one for one in listing if any(one == place or one.startswith(f"{place}/") for place in gone)]
        tree = replay.ports.git.change(replay.tree, dict.fromkeys(paths))
        _changed(replay, where, tree, (f"Remove {posixpath.basename(gone[0])}", said))


def _reaches(pattern: str, roots: Iterable[str]) -> bool:
    """Whether a path may be a root, something above one, or, by its wildcards, something in one."""
    parts = pattern.strip("/").split("/")
    return any(all(map(fnmatchcase, root.strip("/").split("/"), parts)) for root in roots)


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
        ran = run_in(scratch, argv, replay.timeout)
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
    if not speaks_of_tree(replay, (data.decode("utf-8", "replace"), said, replay.cwd)):
        text = f"{said}: nothing in it names a package or a folder of --root"
        replay.notes.append(Note("other-step", text, where))
        return
    tree, notes = run_edits(replay.ports, replay.ground, replay.tree, (name, data, step.args), replay.timeout)
    replay.notes += [replace(note, where=where) if note.where == name else note for note in notes]
    _changed(replay, where, tree, (f"Run {name}", f"{said}\n(sha256 {sha256(data).hexdigest()})"))


def speaks_of_tree(replay: Replay, texts: Sequence[str]) -> bool:
    """Whether a program names an installation folder, or a package that lies in one."""
    roots, listing = replay.ground.how.roots, listing_of(replay.ports, replay.tree)
    packages = {top for folder in roots.values() for top in tops(listing, folder.strip("./")) if top.isidentifier()}
    words = re.compile(
        "|".join([*(re.escape(root.strip("/")) for root in roots), *(rf"\b{one}\b" for one in packages)])
    )
    return bool(roots) and any(words.search(text) for text in texts)


def _copy(replay: Replay, where: str, step: Copy, said: str) -> None:
    many = len(step.sources) > 1
    files, gone = dict[str, bytes](), list[str]()
    for source in step.sources:
        data = _file(replay, source)
        if data is None:
            raise Left(f"{source}: no step brought it into the image")
        files[landing(replay, f"{step.target}/" if many else step.target, source)] = data
        place = in_tree(source, replay.ground.how.roots)
        if step.move and place is not None:
            gone.append(place)
    put(replay, where, files, said, gone)
