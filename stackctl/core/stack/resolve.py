"""From the checked keys to a ResolvedStack: defaults, absolute paths, roles merged with what engines share.

It decides nothing about whether the result makes sense (checks.py does) and reads no file: `wanted` says which
files it needs, the caller brings them.
"""

from __future__ import annotations

import hashlib
import posixpath
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from stackctl.core.names import Commit, Digest, PatchName
from stackctl.core.stack.merge import Merged
from stackctl.core.stack.model import BaseKeys, EngineKeys, HostKeys, PrefillKeys, RouterKeys, StackKeys, TestKeys
from stackctl.core.stack.resolved import (
    Base,
    BisectSpec,
    GateSpec,
    GitBase,
    HostSpec,
    ImageSpec,
    Instance,
    Model,
    PathBase,
    PypiBase,
    PythonSpec,
    ResolvedStack,
    Role,
    Serve,
    TestSpec,
    Timeouts,
    Value,
)
from stackctl.core.stack.source import Path
from stackctl.core.stack.versions import patch_file

MANIFEST = "manifest"
MISSING = "there is no such file"  # the fault of a path where nothing is


@dataclass(frozen=True)
class Site:
    """Where the stack file lies. All paths are absolute; `home` is what `~` means."""

    file: str
    workspace: str
    home: str
    versions: Mapping[str, str] = field(default_factory=dict)  # patch -> its file for this base, where it has its own

    def patch_file(self, name: str) -> str:
        return self.versions.get(name) or patch_file(self.workspace, name)

    @property
    def stem(self) -> str:
        return posixpath.splitext(posixpath.basename(self.file))[0]


@dataclass(frozen=True)
class Wanted:
    """A file that a key names; `what` says it in a message."""

    key: Path
    path: str
    what: str
    optional: bool = False  # a verb may be about to write it


@dataclass(frozen=True)
class Found:
    """What the caller read: absolute path -> bytes, or why it could not. `patches`: names that the workspace has."""

    contents: Mapping[str, bytes] = field(default_factory=dict)
    faults: Mapping[str, str] = field(default_factory=dict)
    patches: tuple[str, ...] = ()


def absolute(text: str, folder: str, home: str) -> str:
    if text == "~" or text.startswith("~/"):
        text = home + text[1:]
    return posixpath.normpath(posixpath.join(folder, text))


def base_of(keys: StackKeys, merged: Merged, site: Site) -> Base | None:
    """The base that the keys name, as far as they do."""
    return _Maker(keys, merged, site).base(("base",), keys.base)


def wanted(keys: StackKeys, merged: Merged, site: Site) -> Iterator[Wanted]:
    """Every file that the stack names and that is read on this machine."""
    for index, name in enumerate(keys.patches):
        yield Wanted(("patches", index), site.patch_file(name), "patch")
    named: list[tuple[Path, str | None, str]] = []
    if keys.serve.chat_template != "native":
        named.append((("serve", "chat_template"), keys.serve.chat_template, "chat template"))
    if keys.python:
        named.append((("python", "requirements"), keys.python.requirements, "requirements file"))
    if keys.model:
        named.append((("model", "make"), keys.model.make, "recipe"))
        named.append((("model", "manifest"), keys.model.manifest, MANIFEST))
    if keys.gate.cases:
        named.append((("gate", "cases", "expect"), keys.gate.cases.expect, "file of cases"))
    for name, test in keys.tests.items():
        named.append((("tests", name, "cases", "expect"), test.cases.expect if test.cases else None, "file of cases"))
    for key, text, what in named:
        if text is not None:
            yield Wanted(key, absolute(text, merged.folder(key), site.home), what, optional=what == MANIFEST)


def resolve(keys: StackKeys, merged: Merged, site: Site, found: Found) -> ResolvedStack:
    """`keys` may lack base or model: checks.py refuses that, and the values here stand in until then."""
    maker = _Maker(keys, merged, site)
    routers = maker.routers()
    hosts = maker.hosts()
    template = maker.path(("serve", "chat_template"), keys.serve.chat_template)
    native = keys.serve.chat_template == "native"
    return ResolvedStack(
        name=keys.stack or site.stem,
        file=merged.file,
        workspace=site.workspace,
        base=maker.base(("base",), keys.base) or PathBase(""),
        patches=tuple(PatchName(name) for name in keys.patches),
        model=maker.model(found),
        serve=Serve(
            module=keys.serve.module,
            tool_call_parser=keys.serve.tool_call_parser,
            reasoning_parser=keys.serve.reasoning_parser,
            chat_template=None if native else template,
            chat_template_text=None if native else found.contents.get(template, b"").decode("utf-8", "replace"),
        ),
        engines=maker.engines(),
        router=routers[0] if routers else None,
        router_package=keys.roles.router[0].package if routers else None,
        hosts=hosts,
        timeouts=Timeouts(keys.timeouts.start, keys.timeouts.probe, keys.timeouts.drain),
        gate=maker.gate(found),
        keep_releases=keys.releases.keep,
        secrets=tuple(keys.secrets),
        tests={name: maker.test(name, test) for name, test in keys.tests.items()},
        bisect=maker.bisect(),
        patch_files={PatchName(name): site.patch_file(name) for name in keys.patches},
        python=maker.python(found),
        image=ImageSpec(keys.image.from_, tuple(keys.image.arch)) if keys.image else None,
        sources={name: base for name, spec in keys.sources.items() if (base := maker.base(("sources", name), spec))},
        severity=dict(keys.lint.severity),
        merged=merged,
    )


class _Maker:
    def __init__(self, keys: StackKeys, merged: Merged, site: Site) -> None:
        self._keys = keys
        self._merged = merged
        self._site = site

    def path(self, key: Path, text: str) -> str:
        return absolute(text, self._merged.folder(key), self._site.home)

    def _path_or_none(self, key: Path, text: str | None) -> str | None:
        return None if text is None else self.path(key, text)

    def base(self, key: Path, spec: BaseKeys | None) -> Base | None:
        if spec is None:
            return None
        if spec.pypi and spec.sha256:
            return PypiBase(spec.pypi, Digest(spec.sha256))
        if spec.git and spec.commit:
            url = spec.git if "://" in spec.git or "@" in spec.git else self.path((*key, "git"), spec.git)
            return GitBase(url, spec.ref or "HEAD", Commit(spec.commit))
        if spec.path:
            return PathBase(self.path((*key, "path"), spec.path), Commit(spec.commit) if spec.commit else None)
        return None

    def gate(self, found: Found) -> GateSpec:
        keys = self._keys.gate
        expect = self._path_or_none(("gate", "cases", "expect"), keys.cases.expect if keys.cases else None)
        cases = None if expect is None else found.contents.get(expect, b"")
        return GateSpec(keys.requests, expect, cases, keys.test, keys.bursts)

    def model(self, found: Found) -> Model:
        model = self._keys.model
        if model is None:
            return Model("", "")
        path = model.path or ""
        if path.startswith("."):
            path = self.path(("model", "path"), path)
        make = self._path_or_none(("model", "make"), model.make)
        recipe = None if make is None else found.contents.get(make, b"").decode("utf-8", "replace")
        manifest = self._path_or_none(("model", "manifest"), model.manifest)
        origin = (model.repo, model.revision, manifest, found.contents.get(manifest or ""))
        return Model(path, model.name, model.architecture, model.quantization, make, recipe, *origin)

    def engines(self) -> tuple[Instance, ...]:
        roles = self._keys.roles
        named: list[tuple[Role, list[EngineKeys]]] = [
            ("prefill", list(roles.prefill)),
            ("decode", roles.decode),
            ("single", roles.single),
        ]
        return tuple(self._engine(role, index, one) for role, many in named for index, one in enumerate(many))

    def _engine(self, role: Role, index: int, keys: EngineKeys) -> Instance:
        return Instance(
            role=role,
            index=index,
            host=keys.host,
            port=keys.port,
            gpus=tuple(keys.gpus),
            bootstrap_port=keys.bootstrap_port if isinstance(keys, PrefillKeys) else None,
            flags=_flags({**self._keys.serve.flags, **keys.flags}),
            env=dict(sorted({**self._keys.serve.env, **keys.env}.items())),
        )

    def routers(self) -> list[Instance]:
        return [self._router(index, keys) for index, keys in enumerate(self._keys.roles.router)]

    @staticmethod
    def _router(index: int, keys: RouterKeys) -> Instance:
        env = dict(sorted(keys.env.items()))
        return Instance("router", index, keys.host, keys.port, flags=_flags(keys.flags), env=env)

    def hosts(self) -> dict[str, HostSpec]:
        """Those that serve, and those that a bisect serves on instead."""
        roles = self._keys.roles
        used = {one.host for many in (roles.prefill, roles.decode, roles.single, roles.router) for one in many}
        used |= set(self._keys.bisect.on.values())
        return {name: self._host(name, keys) for name, keys in sorted(self._keys.hosts.items()) if name in used}

    def _host(self, name: str, keys: HostKeys) -> HostSpec:
        return HostSpec(
            name=name,
            address=keys.address,
            purpose=keys.purpose,
            runtime=keys.runtime,
            python=keys.python,
            identity=self._path_or_none(("hosts", name, "identity"), keys.identity),
            known_hosts=self._path_or_none(("hosts", name, "known_hosts"), keys.known_hosts),
            gpu_count=keys.gpus.count if keys.gpus else 0,
            gpu_arch=keys.gpus.arch if keys.gpus else None,
            gpu_memory=keys.gpus.memory if keys.gpus else None,
            env=dict(sorted(keys.env.items())),
        )

    def test(self, name: str, keys: TestKeys) -> TestSpec:
        expect = keys.cases.expect if keys.cases else None
        return TestSpec(
            name=name,
            kind=keys.kind,
            run=keys.run,
            timeout=keys.timeout,
            concurrency=keys.concurrency,
            bursts_min=keys.bursts.min,
            bursts_max=keys.bursts.max,
            arms=tuple(keys.arms),
            control_concurrency=keys.control.concurrency,
            control_requests=keys.control.requests,
            max_rate=keys.max_rate,
            confidence=keys.confidence,
            max_tokens=keys.max_tokens,
            gap=keys.gap,
            wedge=keys.wedge,
            ttft=keys.ttft,
            probe=keys.probe,
            stagger=keys.stagger or 0.0,
            expect=self._path_or_none(("tests", name, "cases", "expect"), expect),
        )

    def bisect(self) -> BisectSpec:
        keys = self._keys.bisect
        patches = _chosen(keys.elements.patches)
        return BisectSpec(
            test=keys.test,
            patches=patches if isinstance(patches, bool) else tuple(PatchName(name) for name in patches),
            flags=_chosen(keys.elements.flags),
            env=_chosen(keys.elements.env),
            flip=_flags(keys.flip, keep_false=True),
            on=dict(keys.on),
            take_over_until=keys.take_over.until if keys.take_over else None,
            budget=keys.budget,
            prior=keys.prior,
        )

    def python(self, found: Found) -> PythonSpec | None:
        keys = self._keys.python
        if keys is None:
            return None
        requirements = self._path_or_none(("python", "requirements"), keys.requirements)
        paths = tuple(self.path(("python", "paths", index), text) for index, text in enumerate(keys.paths))
        locked = found.contents.get(requirements or "")
        digest = None if locked is None else Digest(hashlib.sha256(locked).hexdigest())
        return PythonSpec(keys.version, requirements, digest, paths)


def _flags(flags: Mapping[str, object], *, keep_false: bool = False) -> dict[str, Value]:
    """By name. `false` takes a flag away; that is how a role drops what `serve` gives to all."""
    result: dict[str, Value] = {}
    for name, value in sorted(flags.items()):
        if isinstance(value, (bool, int, str, list, dict)) and (keep_false or value is not False):
            result[name] = value
    return result


def _chosen(value: object) -> bool | tuple[str, ...]:
    return tuple(str(name) for name in value) if isinstance(value, list) else value is True
