"""The name of a release: a digest of everything that decides what is served, and of nothing else.

Comments, stackctl's version and the stack's name are no part of it; neither are secrets.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from stackctl.core.deploy.values import Launch
from stackctl.core.modeldir.manifest import digest, parse
from stackctl.core.names import ReleaseId, TreeId
from stackctl.core.stack.lock import canonical
from stackctl.core.stack.resolved import Instance, ResolvedStack

FORMAT = 1


def release_id(
    stack: ResolvedStack, trees: Mapping[str, TreeId], launches: Sequence[Launch], paths: Mapping[str, str] = {}
) -> ReleaseId:
    """The first 12 hex digits of sha256 over canonical JSON.

    `trees`: the patched tree of each source. `paths`: files of `python.paths`, name -> text.
    """
    content = {
        "format": FORMAT,
        "trees": dict(trees),
        "runtime": _runtime(stack),
        **({"paths": dict(paths)} if paths else {}),
        **({"model": digest(parse(stack.model.pins))} if stack.model.pins is not None else {}),
        "instances": [_instance(one, launch) for one, launch in zip(stack.instances, launches, strict=True)],
    }
    return ReleaseId(hashlib.sha256(canonical(content).encode()).hexdigest()[:12])


def _runtime(stack: ResolvedStack) -> dict[str, object]:
    used = sorted({instance.host for instance in stack.instances})
    python = stack.python
    locked = {"version": python.version, "requirements": python.requirements_sha256} if python else None
    return {
        "interpreters": {name: stack.hosts[name].python for name in used},
        "runtimes": {name: stack.hosts[name].runtime for name in used},
        "router": stack.router_package,
        **({"python": locked} if locked else {}),
    }


def _instance(instance: Instance, launch: Launch) -> dict[str, object]:
    return {
        "role": instance.role,
        "host": instance.host,
        "argv": list(launch.argv),
        "env": dict(launch.env),
        "cards": list(instance.gpus),
        "ports": [instance.port, instance.bootstrap_port],
    }
