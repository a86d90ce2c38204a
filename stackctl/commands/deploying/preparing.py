"""What happens on a host before anything is stopped: tree, files, secrets, and every reason to refuse, at once."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from stackctl.commands.environment import environment_faults
from stackctl.commands.hosts.folder import differences
from stackctl.commands.release import MANIFEST, RECIPE
from stackctl.commands.site import Site
from stackctl.core.deploy.archive import archive
from stackctl.core.deploy.cutover import release_files
from stackctl.core.deploy.delta import Delta, nearest
from stackctl.core.deploy.facts import HostFacts, Prepared, parse_prepared
from stackctl.core.deploy.record import Record
from stackctl.core.deploy.refuse import refusals
from stackctl.core.deploy.values import Release
from stackctl.core.modeldir.manifest import parse
from stackctl.core.names import TreeId
from stackctl.errors import InvalidFile, StackctlError
from stackctl.ports import TreeEntry

NEIGHBOURS = 3  # trees of a host that a new one is compared with
UPLOAD = 1800.0  # seconds that a tree may take
IMPORTS = 300.0  # seconds that all checks may take; a first import of torch is slow
MODEL = 1800.0  # seconds that a recipe may take
MAKE_MODEL = (
    'test -d "$3" || { mkdir -p "$(dirname "$3")" && rm -rf "$3.new" && "$1" -B "$2" "$3.new" && mv "$3.new" "$3"; }'
)
MODULES = {"sglang-router": "sglang_router.sglang_router_rs"}  # distribution -> what proves that it works


def upload_trees(site: Site, facts: HostFacts, record: Record, attempt: str) -> None:
    """Once for each tree id, and of it only what no other tree there has."""
    for tree in dict.fromkeys(record.trees):
        if not facts.has_tree(tree):
            _upload_tree(site, facts, tree, attempt)


def _upload_tree(site: Site, facts: HostFacts, tree: TreeId, attempt: str) -> None:
    entries = site.ports.git.list(tree)
    size = sum(entry.size for entry in entries)
    if facts.free < 3 * size:
        raise StackctlError(
            f"{site.name}: {facts.free >> 20} MiB are free, the tree needs {(3 * size >> 20) + 1}", "Make room."
        )
    near = _nearest(site, facts, entries)
    sending = Sending(tree, attempt, entries)
    if near is not None and _upload(site, sending, near) is None:
        return
    # there is no other, or somebody changed it
    problem = _upload(site, sending, None)
    if problem is not None:
        raise StackctlError(f"{site.name}: the tree did not arrive whole: {problem}", "Try again.")


def _nearest(site: Site, facts: HostFacts, entries: Sequence[TreeEntry]) -> Delta | None:
    """Of a few trees that are there, and that our store knows: those that serve or served, then any."""
    served = [tree for record in facts.records.values() for tree in record.trees if tree in facts.trees]
    known = [tree for tree in dict.fromkeys([*served, *map(TreeId, facts.trees)]) if site.ports.git.has_tree(tree)]
    return nearest(entries, {tree: site.ports.git.list(tree) for tree in known[:NEIGHBOURS]})


@dataclass(frozen=True)
class Sending:
    """A tree on its way to a host."""

    tree: TreeId
    attempt: str
    entries: Sequence[TreeEntry]


def _upload(site: Site, sending: Sending, near: Delta | None) -> str | None:
    """None, or why the tree is not there."""
    tree, entries = sending.tree, sending.entries
    sends = set(near.sends) if near else set()
    sent = entries if near is None else [entry for entry in entries if entry.path in sends]
    request: dict[str, object] = {"tree": tree, "attempt": sending.attempt}
    if near is not None:
        # on production a rollback must not suffer from what somebody did to the tree that serves; else be quick
        copy = site.host.spec.purpose == "production"
        request |= {"sibling": near.sibling, "except": near.apart, "copy": copy}
    files = f"{len(entries)} files" if near is None else f"{len(sent)} of {len(entries)} files"
    with site.ports.progress.step(f"{site.name}: upload tree {tree[:12]} ({files})"):
        contents = site.ports.git.read(tree, [entry.path for entry in sent])
        said = site.ask("tree", request, archive(sent, contents), UPLOAD)
    return None if said["tree"] == tree else str(said["problem"])


def look(site: Site, record: Record, files: dict[str, str] | None, attempt: str = "") -> Prepared:
    """Facts that could refuse a start. With `files` they are written first, else nothing changes."""
    faults = environment_faults(site, record.python)
    request = {
        "attempt": attempt,
        "tree": record.tree,
        "sources": list(record.trees[1:]),
        "module": record.module,
        "paths": [f"releases/{record.release}/{name}" for name in record.paths],
        "packages": {name: MODULES.get(name, name.replace("-", "_")) for name in record.packages},
        "ports": list(record.ports),
        "cards": list(record.cards),
    }
    if files is not None:
        request["files"] = files
    model = model_differences(site, record, files or {})
    if faults:  # it would be no news that such an interpreter cannot import something
        found = parse_prepared(site.ask("prepare", request, timeout=IMPORTS))
        return replace(found, imports={}, versions={}, environment=faults, model=model)
    found = parse_prepared(replace(site, python=record.python).ask("prepare", request, timeout=IMPORTS))
    return replace(found, model=model)


def model_differences(site: Site, record: Record, files: Mapping[str, str]) -> tuple[str, ...]:
    """What of the model's folder is not as the release's manifest says; nothing is asked when it has none."""
    if not record.pinned:
        return ()
    file = f"releases/{record.release}/{MANIFEST}"
    there = files[file].encode() if file in files else site.host.get(f"{site.root}/{file}")
    pins = there or site.stack.model.pins  # a plan asks before anything of the release is there
    if pins is None:
        raise StackctlError(f"{site.name}: {site.root}/{file} is gone", f"Deploy {record.stack} again.")
    return differences(site, record.pinned, parse(pins))


def prepare(site: Site, release: Release, record: Record, facts: HostFacts, attempt: str) -> None:
    """Write the release's folder and refuse, with all reasons, what could not start."""
    write_secrets(site, record)
    program = site.ports.templates.onhost("instance.sh")
    files = release_files(release, record, facts.root, {"instance.sh": program})
    found = look(site, record, {f"releases/{record.release}/{name}": text for name, text in files.items()}, attempt)
    refuse(record, facts, found)
    make_model(site, record)


def make_model(site: Site, record: Record) -> None:
    """By the release's recipe, once for each content; whole or not at all."""
    if not record.model:
        return
    folder = f"{site.root.removeprefix('~/')}/models/{record.model}"
    recipe = f"{site.root.removeprefix('~/')}/releases/{record.release}/{RECIPE}"
    argv = ("sh", "-c", MAKE_MODEL, "make-model", record.python, recipe, folder)
    done = site.host.run(argv, timeout=MODEL)
    if not done.ok:
        words = done.stderr.decode("utf-8", "replace").strip().splitlines() or [f"exit {done.code}"]
        raise StackctlError(f"{site.name}: the model was not made: {words[-1]}", f"Its recipe: model.make, {recipe}.")


def refuse(record: Record, facts: HostFacts, found: Prepared) -> None:
    gone = ("it is not there",)
    sources = {tree: gone if faults is None else faults for tree, faults in found.sources.items()}
    found = replace(found, tree=gone if found.tree is None else found.tree, sources=sources)
    if problems := refusals(record, facts, found):
        raise Refused(problems, "Nothing was stopped.")


class Refused(InvalidFile):
    """All reasons not to start, as one error; exit 1."""

    exit_code = 1


def _own_secrets(site: Site, record: Record) -> dict[str, str]:
    return {name: value for name in record.secrets if (value := site.ports.who.env(name)) is not None}


def with_own_secrets(site: Site, record: Record, found: Prepared) -> Prepared:
    """As it will be when a deploy has brought those of our environment."""
    return replace(found, secrets=(*found.secrets, *_own_secrets(site, record)))


def write_secrets(site: Site, record: Record) -> None:
    """Those that are in our environment go to the host's `env` file (0600); what is there already stays."""
    given = _own_secrets(site, record)
    if not given:
        return
    for name, value in given.items():
        if "\n" in value or "\0" in value:
            raise StackctlError(f"the secret {name} has more than one line", "A secret is one line of text.")
    path = f"{site.root}/env"
    there = (site.host.get(path) or b"").decode("utf-8", "replace").splitlines()
    kept = [line for line in there if line.partition("=")[0] not in given]
    lines = [*kept, *(f"{name}={shlex.quote(value)}" for name, value in given.items())]
    site.host.put(path, "".join(f"{line}\n" for line in lines).encode(), 0o600)


def prune(site: Site, keep: int) -> None:
    """Old releases and trees; a failure here undoes no deploy."""
    try:
        gone = site.ask("prune", {"keep": keep}, timeout=120.0)
    except StackctlError as error:
        site.ports.progress.say(f"{site.name}: old releases stay for now: {error.message}")
        return
    if names := [one["name"] for one in gone["releases"]]:
        site.ports.progress.say(f"{site.name}: removed old releases {', '.join(names)}")
