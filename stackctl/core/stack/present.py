"""A resolved stack as a stack file again: merged, every default written out, all paths absolute.

Reading it back gives the same stack; what `extends` and `serve` share is repeated in every role.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import yaml

from stackctl.core.stack.resolved import (
    Base,
    BisectSpec,
    GitBase,
    HostSpec,
    Instance,
    PathBase,
    PypiBase,
    PythonSpec,
    ResolvedStack,
    TestSpec,
)
from stackctl.core.stack.units import duration_text, share_text, size_text

READ = ("recipe", "pins")  # contents of files that other keys name
Tree = dict[str, object]


class _Dumper(yaml.SafeDumper):
    """No anchors: every value stands where it means something."""

    def ignore_aliases(self, data: object) -> bool:
        return True


def text(stack: ResolvedStack) -> str:
    """YAML, keys in the order of the example, long lines unbroken."""
    return yaml.dump(as_file(stack), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=10**6)


def as_file(stack: ResolvedStack) -> Tree:
    """The keys of a stack file, without those that say nothing."""
    serve = stack.serve
    image = stack.image
    return _said(
        stack=stack.name,
        base=_base(stack.base),
        sources={name: _base(base) for name, base in stack.sources.items()},
        patches=list(stack.patches),
        model=_said(**{key: value for key, value in vars(stack.model).items() if key not in READ and value}),
        serve=_said(
            module=serve.module,
            tool_call_parser=serve.tool_call_parser,
            reasoning_parser=serve.reasoning_parser,
            chat_template=serve.chat_template or "native",
        ),
        roles=_roles(stack),
        hosts={name: _host(host) for name, host in stack.hosts.items()},
        python=_python(stack.python) if stack.python else None,
        image=_said(**{"from": image.from_, "arch": list(image.arch)}) if image else None,
        timeouts={name: duration_text(seconds) for name, seconds in vars(stack.timeouts).items()},
        gate=_said(
            requests=stack.gate.requests,
            cases={"expect": stack.gate.expect} if stack.gate.expect else None,
            test=stack.gate.test,
            bursts=stack.gate.bursts,
        ),
        releases={"keep": stack.keep_releases},
        secrets=list(stack.secrets),
        tests={name: _test(test) for name, test in stack.tests.items()},
        bisect=_bisect(stack.bisect),
        lint=_said(severity=dict(stack.severity)),
    )


def _said(**values: object) -> Tree:
    plain = {key: list(value) if isinstance(value, tuple) else value for key, value in values.items()}
    return {key: value for key, value in plain.items() if value is not None and value not in ([], {})}


def _base(base: Base) -> Tree:
    match base:
        case PypiBase(requirement, sha256):
            return {"pypi": requirement, "sha256": str(sha256)}
        case GitBase(url, ref, commit):
            return {"git": url, "ref": ref, "commit": str(commit)}
        case PathBase(path, commit):
            return _said(path=path, commit=commit)


def _python(python: PythonSpec) -> Tree:
    return _said(version=python.version, requirements=python.requirements, paths=list(python.paths))


def _roles(stack: ResolvedStack) -> Tree:
    """One mapping for a role with one instance, a list for several."""
    named: dict[str, list[Tree]] = {}
    for instance in stack.instances:
        package = stack.router_package if instance.role == "router" else None
        named.setdefault(instance.role, []).append(_instance(instance, package))
    return {role: many[0] if len(many) == 1 else many for role, many in named.items()}


def _instance(instance: Instance, package: str | None) -> Tree:
    return _said(
        host=instance.host,
        gpus=list(instance.gpus),
        port=instance.port,
        bootstrap_port=instance.bootstrap_port,
        package=package,
        flags=dict(instance.flags),
        env=dict(instance.env),
    )


def _host(host: HostSpec) -> Tree:
    memory = None if host.gpu_memory is None else size_text(host.gpu_memory)
    return _said(
        address=host.address,
        purpose=host.purpose,
        runtime=host.runtime,
        python=host.python,
        identity=host.identity,
        known_hosts=host.known_hosts,
        gpus=_said(count=host.gpu_count or None, arch=host.gpu_arch, memory=memory),
        env=dict(host.env),
    )


def _test(test: TestSpec) -> Tree:
    if test.kind == "command":
        return _said(kind=test.kind, run=test.run, timeout=duration_text(test.timeout))
    return _said(
        kind=test.kind,
        timeout=duration_text(test.timeout),
        concurrency=test.concurrency,
        bursts={"min": test.bursts_min, "max": test.bursts_max},
        arms=list(test.arms),
        control={"concurrency": test.control_concurrency, "requests": test.control_requests},
        max_rate=share_text(test.max_rate),
        confidence=share_text(test.confidence),
        max_tokens=test.max_tokens,
        gap=duration_text(test.gap),
        wedge=duration_text(test.wedge),
        ttft=duration_text(test.ttft),
        probe=duration_text(test.probe),
        stagger=duration_text(test.stagger) if test.stagger else None,
        cases={"expect": test.expect} if test.expect else None,
    )


def _bisect(spec: BisectSpec) -> Tree:
    return _said(
        test=spec.test,
        elements={"patches": _chosen(spec.patches), "flags": _chosen(spec.flags), "env": _chosen(spec.env)},
        flip=dict(cast(Mapping[str, object], spec.flip)),
        on=dict(spec.on),
        take_over={"until": spec.take_over_until} if spec.take_over_until else None,
        budget=duration_text(spec.budget) if spec.budget else None,
        prior=spec.prior,
    )


def _chosen(value: bool | tuple[str, ...]) -> object:
    if isinstance(value, bool):
        return "all" if value else "none"
    return list(value)
