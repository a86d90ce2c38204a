"""The kinds of sources an import reads, each as a function of the ports and the ground that it stands on."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence

from stackctl.commands.importing.diffs import Item, take_files, take_folder
from stackctl.commands.importing.dockerfile import take_dockerfile
from stackctl.commands.importing.fork import take_fork
from stackctl.commands.importing.ground import Ground
from stackctl.commands.importing.installed import take_installed
from stackctl.commands.importing.overlay import take_overlays
from stackctl.commands.importing.script import take_script
from stackctl.commands.importing.verb import Take
from stackctl.core.importing.decide import Taken
from stackctl.core.stack.resolve import absolute
from stackctl.errors import UsageError
from stackctl.ports import Ports


def fork(repository: str, range_: str) -> Take:
    return lambda ports, ground: take_fork(ports, ground, _absolute(ports, repository), range_)


def files(paths: Sequence[str]) -> Take:
    """Mailboxes, mails and diffs, in this order."""

    def take(ports: Ports, ground: Ground) -> Taken:
        return take_files(ports, ground, [Item(_file(ports, path), path) for path in paths])

    return take


def folder(path: str, order: str | None) -> Take:
    return lambda ports, ground: take_folder(ports, ground, _absolute(ports, path), order)


def installed(place: str, *, split: bool, keep_missing: bool) -> Take:
    return lambda ports, ground: take_installed(ports, ground, place, split=split, keep_missing=keep_missing)


def overlays(pairs: Mapping[str, str], replaces: Sequence[str]) -> Take:
    """`pairs`: file -> the path that it replaces; `replaces`: the sha256 of each of those, or `none`."""
    if len(replaces) != len(pairs):
        hint = "`sha256sum` of the file that it was cut from; `none` for one that is new."
        raise UsageError(f"{len(pairs)} overlays, and {len(replaces)} times --replaces: one for each", hint)

    def take(ports: Ports, ground: Ground) -> Taken:
        whole = [(_file(ports, one), one, path) for one, path in pairs.items()]
        return take_overlays(ports, ground, whole, replaces)

    return take


def script(file: str, args: Sequence[str], timeout: float) -> Take:
    return lambda ports, ground: take_script(ports, ground, _file(ports, file), args, timeout)


def dockerfile(file: str, context: str | None, timeout: float) -> Take:
    def take(ports: Ports, ground: Ground) -> Taken:
        path = _file(ports, file)
        return take_dockerfile(ports, ground, path, _absolute(ports, context or posixpath.dirname(path)), timeout)

    return take


def _file(ports: Ports, text: str) -> str:
    path = _absolute(ports, text)
    if not ports.files.exists(path) or ports.files.is_dir(path):
        raise UsageError(f"there is no file {text}", "The path counts from the current folder.")
    return path


def _absolute(ports: Ports, text: str) -> str:
    return absolute(text, ports.files.cwd(), ports.who.env("HOME") or "/")
