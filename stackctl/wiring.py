"""Builds the real ports. Vendor libraries are imported by their adapters, and those only when first used."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import cast

from stackctl.adapters.clock import SystemClock
from stackctl.adapters.files import LocalFiles
from stackctl.adapters.process import LocalProcess
from stackctl.adapters.templates import PackageTemplates
from stackctl.adapters.who import SystemWho
from stackctl.ports import Branches, Git, Hosts, Http, Index, Merges, Ports, Progress, Revisions, Scratch, WorkTrees


def real_ports(progress: Progress, *, yes: bool = False) -> Ports:
    files = LocalFiles()
    process = LocalProcess()
    return Ports(
        git=_git(files),
        revisions=cast(Revisions, Late(lambda: _revisions(files))),
        branches=cast(Branches, Late(lambda: _branches(files))),
        scratch=_scratch(process),
        merges=cast(Merges, Late(lambda: _merges(files))),
        index=cast(Index, Late(lambda: _index(process, files))),
        hosts=cast(Hosts, Late(lambda: _hosts(process))),
        http=cast(Http, Late(_http)),
        process=process,
        files=files,
        clock=SystemClock(),
        progress=progress,
        who=SystemWho(yes=yes),
        templates=PackageTemplates(files),
        work_trees=cast(WorkTrees, Late(lambda: _work_trees(files))),
    )


class Late:
    """A port that is made when it is first asked for something: making one may import half a library."""

    def __init__(self, make: Callable[[], object]) -> None:
        self._make = make

    def __getattr__(self, name: str) -> object:
        if "_made" not in self.__dict__:
            self._made = self._make()
        return getattr(self._made, name)


def _git(files: LocalFiles) -> Git:
    from stackctl.adapters.git import GitStore

    return GitStore(files)


def _work_trees(files: LocalFiles) -> WorkTrees:
    from stackctl.adapters.git import GitWorkTrees

    return GitWorkTrees(files)


def _revisions(files: LocalFiles) -> Revisions:
    from stackctl.adapters.git import GitRevisions

    return GitRevisions(files)


def _merges(files: LocalFiles) -> Merges:
    from stackctl.adapters.git import GitMerges

    return GitMerges(files)


def _branches(files: LocalFiles) -> Branches:
    from stackctl.adapters.git import GitBranches

    return GitBranches(files)


def _scratch(process: LocalProcess) -> Callable[[], AbstractContextManager[Scratch]]:
    from stackctl.adapters.scratch import scratch

    return lambda: scratch(process)


def _index(process: LocalProcess, files: LocalFiles) -> Index:
    from stackctl.adapters.index import PipIndex

    return PipIndex(process, files)


def _hosts(process: LocalProcess) -> Hosts:
    from stackctl.adapters.host import RealHosts

    return RealHosts(process)


def _http() -> Http:
    from stackctl.adapters.http import AiohttpClient

    return AiohttpClient()
