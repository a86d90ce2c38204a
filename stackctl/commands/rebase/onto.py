"""Reads what `--onto` says: the base that a queue is to be rebased onto, fetched and pinned."""

from __future__ import annotations

import re
from dataclasses import dataclass

from stackctl.commands.base import fetch_base, pin_release
from stackctl.core.names import Commit, Digest, TreeId
from stackctl.core.stack.resolve import absolute
from stackctl.core.stack.resolved import Base, GitBase, PathBase, PypiBase
from stackctl.core.stack.versions import key_of
from stackctl.errors import UsageError
from stackctl.ports import Ports

RELEASE = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)==([A-Za-z0-9.!+_-]+)")
COMMIT = re.compile(r"[0-9a-f]{40}")
FORMS = "Say NAME==VERSION, URL@COMMIT with all 40 digits, a COMMIT of the stack's own repository, or a folder."


@dataclass(frozen=True)
class Pinned:
    """A base with its tree. `label`: how people call it; `release`: its version, where it is a release."""

    base: Base
    tree: TreeId

    @property
    def label(self) -> str:
        return label_of(self.base)

    @property
    def key(self) -> str | None:
        return key_of(self.base)

    @property
    def release(self) -> str | None:
        return self.base.requirement.partition("==")[2] if isinstance(self.base, PypiBase) else None

    @property
    def repository(self) -> str | None:
        match self.base:
            case GitBase():
                return self.base.url
            case PathBase():
                return self.base.path if self.base.commit else None
            case _:
                return None

    @property
    def commit(self) -> Commit | None:
        return None if isinstance(self.base, PypiBase) else self.base.commit


def label_of(base: Base) -> str:
    match base:
        case PypiBase():
            return base.requirement
        case GitBase():
            return f"{base.url}@{base.commit[:12]}"
        case PathBase():
            return f"{base.path}@{base.commit[:12]}" if base.commit else base.path


def pin(ports: Ports, text: str, old: Base, sha256: str | None = None) -> Pinned:
    """Raises UsageError for a text that names no base, StackctlError when it cannot be had."""
    base = _base(ports, text, old, sha256)
    return Pinned(base, fetch_base(ports, base))


def _base(ports: Ports, text: str, old: Base, sha256: str | None) -> Base:
    release = RELEASE.fullmatch(text)
    if sha256 and not (release and re.fullmatch("[0-9a-f]{64}", sha256)):
        raise UsageError(
            "--sha256 takes the 64 digits of a wheel", "Give it with --onto NAME==VERSION, or leave it out."
        )
    if release:
        if isinstance(old, PypiBase) and old.requirement.partition("==")[0] != release[1]:
            raise UsageError(f"the base is {old.requirement}, which no {text} can follow", FORMS)
        return PypiBase(text, Digest(sha256)) if sha256 else pin_release(ports, text)
    url, at, commit = text.rpartition("@")
    if COMMIT.fullmatch(commit):
        return _at_commit(ports, url if at else "", Commit(commit), old)
    folder = absolute(text, ports.files.cwd(), ports.who.env("HOME") or "/")
    if text and ports.files.is_dir(folder):
        return PathBase(folder)
    raise UsageError(f"--onto {text!r} names no base", FORMS)


def _at_commit(ports: Ports, url: str, commit: Commit, old: Base) -> Base:
    if url:
        here = "://" in url or "@" in url
        url = url if here else absolute(url, ports.files.cwd(), ports.who.env("HOME") or "/")
        return GitBase(url, "HEAD", commit)
    if isinstance(old, GitBase):
        return GitBase(old.url, old.ref, commit)
    if isinstance(old, PathBase) and old.commit:
        return PathBase(old.path, commit)
    raise UsageError(f"the base of the stack is no repository, so {commit[:12]} is no commit of it", FORMS)
