"""Every reason not to start a release on a host, all at once, while nothing that serves has been touched."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from stackctl.core.deploy.facts import HostFacts, Prepared
from stackctl.core.deploy.record import Record
from stackctl.errors import Problem

SPARE = 64 << 20  # bytes that must be left for logs and the journal
FREE_MEMORY = 2048  # MiB on a card that nothing of ours uses
SHOWN = 5  # files of a tree that are named


def refusals(record: Record, facts: HostFacts, prepared: Prepared) -> tuple[Problem, ...]:
    host = f"{record.host}: "
    found = (
        *_environment(record, prepared),
        *_imports(record, prepared),
        *_versions(record, prepared),
        *_scripts(prepared),
        *_tree(record, prepared),
        *_origin(record, prepared),
        *_strays(record, prepared),
        *_model(record, prepared),
        *_ports(prepared),
        *_cards(prepared.cards),
        *_secrets(record, prepared),
        *_disk(facts),
    )
    return tuple(Problem(host + problem.message, hint=problem.hint) for problem in found)


def _environment(record: Record, prepared: Prepared) -> Iterator[Problem]:
    for fault in prepared.environment:
        folder = record.python.removesuffix("/bin/python")
        yield Problem(
            f"the environment of {record.release} is not whole: {fault}",
            hint=f"Remove {folder} there and deploy again: it is made anew.",
        )


def _imports(record: Record, prepared: Prepared) -> Iterator[Problem]:
    for name, why in sorted(prepared.imports.items()):
        yield Problem(
            f"{record.python} cannot import {name} ({why})",
            hint=f"Install it there, or name another interpreter: hosts.{record.host}.python.",
        )


def _versions(record: Record, prepared: Prepared) -> Iterator[Problem]:
    for name, wanted in record.packages.items():
        there = prepared.versions.get(name)
        if there is not None and there != wanted:
            yield Problem(
                f"{record.python} has {name} {there}, the stack pins {wanted}",
                hint="Install that version there, or change roles.router.package.",
            )


def _scripts(prepared: Prepared) -> Iterator[Problem]:
    for fault in prepared.scripts:
        yield Problem(f"the shell cannot read {fault}", hint="Look at the workspace's own templates/.")


def _tree(record: Record, prepared: Prepared) -> Iterator[Problem]:
    for tree, faults in {**prepared.sources, record.tree: prepared.tree}.items():
        if faults:
            more = len(faults) - SHOWN
            files = "; ".join(faults[:SHOWN]) + (f"; and {more} more" if more > 0 else "")
            yield Problem(
                f"tree {tree} was tampered with on the disk: {files}",
                hint=f"Look who did it; then remove ~/.stackctl/{record.stack}/trees/{tree} there and deploy again.",
            )


def _origin(record: Record, prepared: Prepared) -> Iterator[Problem]:
    if prepared.origin:
        yield Problem(
            f"{record.python} would take {record.module} from {prepared.origin}, not from tree {record.tree}",
            hint="Something there comes before PYTHONPATH: a .pth file, a sitecustomize.py, an import hook.",
        )


def _strays(record: Record, prepared: Prepared) -> Iterator[Problem]:
    names = {str(tree): name for name, tree in record.sources.items()}
    for package, tree, place in prepared.strays:
        yield Problem(
            f"{record.python} would take {package} from {place}, not from tree {tree} of source {names.get(tree, '?')}",
            hint="Something there comes before it on the path: sglang's own tree, a .pth file, an import hook.",
        )


def _model(record: Record, prepared: Prepared) -> Iterator[Problem]:
    for difference in prepared.model[:SHOWN]:
        yield Problem(
            f"the model in {record.pinned} is not the one that was locked: {difference}",
            hint=f"Put the right files there; or, if this model is meant: stackctl lock --model {record.stack}",
        )
    if (more := len(prepared.model) - SHOWN) > 0:
        yield Problem(f"the model in {record.pinned}: {more} more files are not as they were locked")


def _ports(prepared: Prepared) -> Iterator[Problem]:
    for item in prepared.listeners:
        if not item["ours"]:
            who = (
                f"pid {item['pid']} ({item['user']}) {item['command']}" if item["pid"] else "a process of another user"
            )
            yield Problem(f"port {item['port']} is in use by {who}", hint="End it, or choose another port.")


def _cards(cards: Mapping[str, Any] | None) -> Iterator[Problem]:
    if cards is None:
        return
    if "problem" in cards:
        yield Problem(f"nobody can tell whether the cards are free: {cards['problem']}", hint="Is the driver there?")
        return
    for app in cards["foreign"]:
        yield Problem(
            f"card {app['card']} is in use by pid {app['pid']} ({app['user']}) {app['command']}, {app['memory']} MiB",
            hint="stackctl never touches processes that are not its own.",
        )
    # while the release that will be stopped is on them, their memory says nothing
    if not cards["ours"] and not cards["foreign"]:
        for card, used in cards["used"].items():
            if not str(used).isdigit() or int(used) > FREE_MEMORY:
                yield Problem(f"card {card} has {used} MiB in use, by no process that nvidia-smi shows")


def _secrets(record: Record, prepared: Prepared) -> Iterator[Problem]:
    for name in record.secrets:
        if name not in prepared.secrets:
            yield Problem(
                f"the secret {name} is missing",
                hint=f"Set {name} in the environment of stackctl, or put {name}=… into "
                f"~/.stackctl/{record.stack}/env there (mode 0600).",
            )


def _disk(facts: HostFacts) -> Iterator[Problem]:
    if facts.free < SPARE:
        yield Problem(
            f"only {facts.free >> 20} MiB are free below {facts.root}", hint="Make room, or lower releases.keep."
        )
