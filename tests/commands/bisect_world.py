"""A pipeline whose servers exist only as a value: what is deployed, what fails, and what the bisect asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from stackctl.commands.bisect.run import Pipeline
from stackctl.commands.selection import Selection
from stackctl.core.deploy.values import Deployment, DeployResult, Outcome
from stackctl.core.names import Digest, PatchName, ReleaseId, TreeId
from stackctl.core.patches.values import FilePatch, Header, Need, Patch, Queue
from stackctl.core.stack.resolved import (
    BisectSpec,
    Element,
    HostSpec,
    Instance,
    Model,
    PathBase,
    ResolvedStack,
    Serve,
    TestSpec,
    Variant,
)
from stackctl.core.stack.variant import leave_out
from stackctl.core.verify.report import TestReport
from stackctl.errors import PatchConflict, StackctlError
from stackctl.ports import Ports

PATCHES = ("demo/alpha", "demo/beta", "demo/gamma", "demo/delta", "demo/epsilon")
FLAGS = ("enable-tier", "chunk")


def patch(name: str, path: str = "python/engine/core.py", data: bytes = b"") -> Patch:
    header = Header("Title", None, None, "")
    return Patch(
        PatchName(name), f"/ws/patches/{name}.patch", data, Digest(f"sha-{name}"), header, (FilePatch(path, path, ()),)
    )


def stack(**changes: object) -> ResolvedStack:
    engine = Instance("single", 0, "here", 31001, flags=dict.fromkeys(FLAGS, True))
    plain = ResolvedStack(
        name="demo",
        file="/ws/stacks/demo.yaml",
        workspace="/ws",
        base=PathBase("/ws/base"),
        patches=tuple(map(PatchName, PATCHES)),
        model=Model("m", "m"),
        serve=Serve(),
        engines=(engine,),
        router=None,
        router_package=None,
        hosts={"here": HostSpec("here", "local")},
        tests={"c60": TestSpec("c60", "toolcalls"), "smoke": TestSpec("smoke", "command", run="./smoke")},
        bisect=BisectSpec(test="c60"),
        patch_files={PatchName(name): f"/ws/patches/{name}.patch" for name in PATCHES},
    )
    return replace(plain, **changes)  # type: ignore[arg-type]


NEEDS = (Need(PatchName("demo/delta"), PatchName("demo/alpha"), "context"),)


@dataclass
class Machine:
    """`bad(elements that are in)` decides a test. `before`, when given, runs ahead of every verb and may raise."""

    bad: Callable[[frozenset[str]], bool]
    stack: ResolvedStack = field(default_factory=stack)
    needs: tuple[Need, ...] = NEEDS
    unbuildable: Callable[[frozenset[str]], bool] = lambda elements: False
    report: Callable[[TestReport], TestReport] = lambda report: report
    before: Callable[[str, int], None] = lambda verb, count: None
    serving: tuple[str, ReleaseId, str] | None = None
    asked: list[tuple[str, str]] = field(default_factory=list)
    kept_releases: Mapping[str, str] = field(default_factory=dict)
    hold: str | None = None  # of a cut-over that goes on

    def _enter(self, verb: str, what: str = "") -> None:
        self.asked.append((verb, what))
        self.before(verb, sum(v == verb for v, _ in self.asked))

    def _elements(self, taken: ResolvedStack) -> frozenset[str]:
        flags = {f"flag:{name}" for engine in taken.engines for name in engine.flags}
        return frozenset({f"patch:{name}" for name in taken.patches} | flags)

    def load(self, ports: Ports, selection: Selection) -> ResolvedStack:
        elements = (word.partition(":") for word in selection.without)
        without = tuple(Element(kind, name) for kind, _, name in elements)  # type: ignore[arg-type]
        return replace(self.stack, variant=Variant(without))

    def queue_of(self, ports: Ports, stack: ResolvedStack) -> Queue:
        return Queue(TreeId("base"), tuple(patch(name) for name in self.stack.patches), self.needs)

    def compose(self, ports: Ports, stack: ResolvedStack) -> ResolvedStack:
        taken = leave_out(stack, self.needs)
        if self.unbuildable(self._elements(taken)):
            raise PatchConflict("demo/beta does not apply")
        return taken

    def deploy(self, ports: Ports, selection: Selection) -> DeployResult:
        taken = self.compose(ports, self.load(ports, selection))
        self._enter("deploy", str(taken.variant))
        release = ReleaseId(f"r{abs(hash(str(taken.variant))) % 10**8:08}" if str(taken.variant) else "plain")
        outcome: Outcome = "kept" if self.serving and self.serving[1] == release else "deployed"
        self.serving = ("demo", release, str(taken.variant))
        self._taken = taken
        return DeployResult(outcome, "demo", release, str(taken.variant), "http://here", start_seconds=2.0)

    def stop(self, ports: Ports, selection: Selection) -> None:
        self._enter("stop")
        self.serving = None

    def restore(self, ports: Ports, selection: Selection, release: str) -> DeployResult:
        self._enter("restore", release)
        if release not in self.kept_releases:
            raise StackctlError(f"{release} is not there any more")
        self.hold = None  # waited for
        if self.serving and self.serving[1] == release:
            raise StackctlError(f"{release} serves already")
        self.serving = ("demo", ReleaseId(release), self.kept_releases[release])
        return DeployResult("deployed", "demo", ReleaseId(release), self.kept_releases[release], "http://here")

    def status(self, ports: Ports, selection: Selection) -> Deployment:
        if self.serving is None:
            return Deployment("demo", None)
        return Deployment("demo", self.serving[1], variant=self.serving[2], hold=self.hold)

    def run_test(self, ports: Ports, name: str, selection: Selection) -> TestReport:
        self._enter("test")
        assert self.serving
        bad = self.bad(self._elements(self._taken))
        plain = TestReport(
            test=name,
            kind="toolcalls",
            verdict="bad" if bad else "clean",
            reason="",
            url="http://here",
            release=self.serving[1],
            signature="leak" if bad else None,
            classes={"leak": 12} if bad else {},
        )
        return self.report(plain)

    def pipeline(self) -> Pipeline:
        return Pipeline(
            self.load, self.queue_of, self.compose, self.deploy, self.stop, self.restore, self.status, self.run_test
        )
