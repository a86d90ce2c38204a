"""Imports an installation, or a checkout that was edited, as it stands: here, or on a host of the stack over SSH.

A program of ours lists it there by git's ids, so only files that differ travel. All that is odd is told: bytecode that
is not of its source, links, binaries, backups. Nothing there is changed.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from stackctl.commands.importing.ground import Ground
from stackctl.commands.tree import listing_of
from stackctl.core.base.values import TreeFile
from stackctl.core.deploy.bundle import bundle
from stackctl.core.importing import installed
from stackctl.core.importing.decide import Incoming, Note, Taken, made_header
from stackctl.core.importing.installed import Compared, Found
from stackctl.core.importing.roots import in_tree
from stackctl.core.names import TreeId
from stackctl.core.stack.merge import did_you_mean
from stackctl.core.stack.resolve import absolute
from stackctl.core.stack.resolved import HostSpec
from stackctl.errors import StackctlError, UsageError
from stackctl.ports import Host, Ports

PROGRAM = "installation"
WAIT = 600.0  # seconds for one answer: a slow disk with many thousand files
SHOWN = 5


@dataclass(frozen=True)
class _Place:
    """A folder on a host; `said` is what the user calls it."""

    host: Host
    python: str
    path: str
    said: str


def take_installed(ports: Ports, ground: Ground, place: str, *, split: bool, keep_missing: bool) -> Taken:
    """Raises UsageError for a folder that is no installation of the base, StackctlError when it cannot be asked."""
    spec, python, path = _where(ports, ground, place)
    with closing(ports.hosts.open(spec)) as host:
        there = _Place(host, python, path, place)
        start, base = listing_of(ports, ground.tree), listing_of(ports, ground.base)
        with ports.progress.step(f"looking at {place}"):
            folder = _folder(ports, ground, there, base)
            answer = _ask(ports, there, {"tops": installed.tops(base, folder)})
        compared = _compared(answer, start, base, folder)
        _refuse_without_queue(place, compared)
        contents = _contents(ports, there, folder, compared.wanted)
    return _taken(ports, ground, (place, folder, answer), (compared, contents), (split, keep_missing))


def _where(ports: Ports, ground: Ground, place: str) -> tuple[HostSpec, str, str]:
    name, colon, path = place.partition(":")
    here = absolute(place, ports.files.cwd(), ports.who.env("HOME") or "/")
    if not colon or "/" in name or (name not in ground.stack.hosts and ports.files.is_dir(here)):
        return HostSpec("this machine", "local"), ports.who.python(), here
    spec = ground.stack.hosts.get(name)
    if spec is None:
        known = ", ".join(ground.stack.hosts)
        hint = did_you_mean(name, list(ground.stack.hosts)) or f"Hosts of {ground.stack.name}: {known}."
        raise UsageError(f"{ground.stack.name} has no host {name}", hint)
    return spec, spec.python or (ports.who.python() if spec.is_local else "python3"), path


def _folder(ports: Ports, ground: Ground, there: _Place, base: Mapping[str, tuple[str, str]]) -> str:
    """The folder of the tree that the installation is of: said by a root, else found by looking."""
    said = in_tree(there.path, ground.how.roots)
    tried = {said: installed.probes(base, said)} if said is not None else installed.candidates(base)
    answer = _ask(ports, there, {"probes": list(tried.values())})
    fits = installed.fitting(tried, answer["found"])
    if len(fits) == 1:
        return fits[0]
    what = f"as {' and as '.join(fits)}" if fits else "is no installation and no checkout of the base"
    message = f"{there.said} {'fits the base ' if fits else ''}{what}"
    raise UsageError(message, "Give the folder that holds the package, or say `--root PATH=FOLDER`.")


def _ask(ports: Ports, there: _Place, request: Mapping[str, Any]) -> dict[str, Any]:
    text = json.dumps({"path": there.path, **request}).encode()
    program = bundle(PROGRAM, {PROGRAM: ports.templates.onhost(f"{PROGRAM}.py")})
    done = there.host.run((there.python, "-B", "-I", "-S", "-c", program), input=text, timeout=WAIT)
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        last = (done.stderr.decode("utf-8", "replace").strip().splitlines() or [f"exit {done.code}"])[-1]
        message = f"{there.said}: cannot be read by {there.python}: {last}"
        raise StackctlError(message, "Python 3.8 or newer must be there: `hosts.NAME.python`.") from None
    if not isinstance(answer, dict) or "problem" in answer:
        raise UsageError(f"{there.said}: {answer['problem']}", "Look at the path, on the machine that has it.")
    return answer


def _compared(
    answer: Mapping[str, Any], start: Mapping[str, tuple[str, str]], base: Mapping[str, tuple[str, str]], folder: str
) -> Compared:
    found = {_in(folder, path): Found(*facts) for path, facts in answer["files"].items()}
    odd = {_in(folder, path): f"a link to {target}" for path, target in answer["links"].items()}
    odd |= {_in(folder, path): f"cannot be read: {why}" for path, why in answer["unreadable"]}
    return installed.compare(start, base, found, odd, folder)


def _in(folder: str, path: str) -> str:
    return f"{folder}/{path}" if folder else path


def _refuse_without_queue(place: str, compared: Compared) -> None:
    if compared.as_base:
        names = ", ".join(compared.as_base[:SHOWN])
        message = f"{place} does not carry the whole queue; as in the base ({len(compared.as_base)}): {names}"
        raise UsageError(message, "`--onto base` compares it with the base alone.")


def _contents(ports: Ports, there: _Place, folder: str, paths: Sequence[str]) -> dict[str, Mapping[str, Any]]:
    start = len(folder) + 1 if folder else 0
    answer = _ask(ports, there, {"wanted": [path[start:] for path in paths]}) if paths else {"contents": {}}
    return {_in(folder, path): facts for path, facts in answer["contents"].items()}


def _taken(
    ports: Ports,
    ground: Ground,
    asked: tuple[str, str, Mapping[str, Any]],
    difference: tuple[Compared, Mapping[str, Mapping[str, Any]]],
    flags: tuple[bool, bool],
) -> Taken:
    (place, folder, answer), (compared, contents), (split, keep_missing) = asked, difference, flags
    modes = {_in(folder, path): str(facts[0]) for path, facts in answer["files"].items()}
    files: dict[str, TreeFile | None] = {}
    notes = list(_notes(place, folder, answer, compared))
    for path in compared.wanted:
        facts = contents[path]
        data = base64.b64decode(facts.get("data", ""))
        problem = f"{facts['big']} bytes are nothing to review" if "big" in facts else _binary(data)
        if problem:
            notes.append(Note("unexplained", problem, path))
            continue
        files[path] = TreeFile(path, data, modes[path])
        notes.append(Note("modified" if path in compared.modified else "added", path))
        if facts.get("bytecode"):
            notes.append(Note("stale", facts["bytecode"], path))
    for path in compared.missing:
        notes.append(Note("missing", "kept (--keep-missing)" if keep_missing else "the patch deletes it", path))
    files |= {} if keep_missing else dict.fromkeys(compared.missing)
    changes = tuple(_changes(ports, ground, (place, files), split=split))
    return Taken(changes, ports.git.change(ground.tree, files) if files else ground.tree, tuple(notes))


def _changes(
    ports: Ports, ground: Ground, found: tuple[str, Mapping[str, TreeFile | None]], *, split: bool
) -> Iterable[Incoming]:
    place, files = found
    tree: TreeId = ground.tree
    said = f"As it stood in {place}, compared with {ground.stack.name}'s base."
    groups = [{path: file} for path, file in files.items()] if split else [dict(files)] if files else []
    for group in groups:
        tree = ports.git.change(tree, group)
        title = ground.how.title or "Edits found in an installation"
        if split:
            path = next(iter(group))
            title = f"{ground.how.title or 'Edit'} {'/'.join(path.split('/')[-3:])}"
        yield Incoming(place, made_header(title, said), tree)


def _binary(data: bytes) -> str | None:
    return "a binary file, which no patch carries" if b"\0" in data else None


def _notes(place: str, folder: str, answer: Mapping[str, Any], compared: Compared) -> Iterable[Note]:
    yield Note("remark", f"compared with {folder or 'the top'} of the base", place)
    if not folder and answer["others"]:
        yield Note("left-out", f"not of the base: {', '.join(answer['others'])}", place)
    for path, why in answer["bytecode"]:
        yield Note("stale", why, _in(folder, path))
    for path, why in compared.unexplained:
        yield Note("unexplained", why, path)
    for path in compared.backups:
        yield Note("left-out", "a backup", path)
