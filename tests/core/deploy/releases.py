"""A release made by hand for tests of plans, gates and cut-overs."""

from __future__ import annotations

from dataclasses import replace

from stackctl.commands.gather import load
from stackctl.core.deploy.facts import HostFacts, Prepared, Seen, Status
from stackctl.core.deploy.record import Made, Record, record_of
from stackctl.core.deploy.values import Release
from stackctl.core.names import ReleaseId
from stackctl.core.patches.values import PatchedTree
from stackctl.core.render.launch import launches
from tests.workspaces import MAIN, ports_of, tree_id

NEW, OLD = ReleaseId("0123456789ab"), ReleaseId("ba9876543210")
STACK = """
base: {path: engine}
model: {path: /models/m, name: m}
serve: {flags: {tp-size: 2, page-size: 256}}
roles:
  prefill: {host: gpu1, port: 30000, bootstrap_port: 8998, gpus: [0, 1], flags: {chunked-prefill-size: 4096}}
  decode: {host: gpu1, port: 30300, gpus: [2, 3]}
  router: {host: gpu1, port: 31000, package: sglang-router==0.3.2}
hosts: {gpu1: {address: ops@gpu1.example, purpose: production, python: /opt/python, gpus: {count: 4}}}
timeouts: {start: 60m, probe: 25s, drain: 120s}
secrets: [KEY]
"""


def release() -> Release:
    stack = load(ports_of({"stacks/main.yaml": STACK}), MAIN)
    tree = PatchedTree(tree_id("base"), tree_id("tree"), ())
    scripts = {f"serve-{one.id}.sh": "#!/bin/sh\n" for one in stack.instances}
    return Release(NEW, stack, tree, launches(stack), scripts)


def record(made: Release | None = None) -> Record:
    return record_of(made or release(), Made("ops@here", 1_700_000_000.0, "1.2.3", "/opt/python"))


def last(state: str, **changed: object) -> Status:
    plain = Status("a1", "deploy", OLD, "", "committed", "", "", 1.0, 7, 8)
    return replace(plain, state=state, **changed)  # type: ignore[arg-type]


def facts(**changed: object) -> HostFacts:
    return replace(HostFacts("/home/ops/.stackctl/main", "3.11.7", "gpu1", 1 << 40), **changed)  # type: ignore[arg-type]


def running(release_id: str) -> tuple[Seen, ...]:
    names = ("prefill-0", "decode-0", "router-0")
    return tuple(Seen(release_id, name, pid, True, None) for pid, name in enumerate(names, 100))


def prepared(**changed: object) -> Prepared:
    fine = Prepared({"sglang-router": "0.3.2"}, (), {"used": {}, "foreign": [], "ours": False}, ("KEY",), (), {})
    return replace(fine, **changed)  # type: ignore[arg-type]
