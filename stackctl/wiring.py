"""Builds the real ports. Vendor libraries are imported by their adapters, and those only when first used."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

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
        revisions=_revisions(files),
        branches=_branches(files),
        scratch=_scratch(process),
        merges=_merges(files),
        index=_index(process, files),
        hosts=_hosts(process),
        http=_http(),
        process=process,
        files=files,
        clock=SystemClock(),
        progress=progress,
        who=SystemWho(yes=yes),
        templates=PackageTemplates(files),
        work_trees=_work_trees(files),
    )


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
