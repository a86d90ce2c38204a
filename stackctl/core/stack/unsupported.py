"""What a stack file may say but a verb of this version cannot do yet: accepted by the schema, refused by that verb.

Never a silent half: a verb that would need such a key stops and names it.
"""

from __future__ import annotations

from collections.abc import Mapping

from stackctl.core.stack.model import StackKeys
from stackctl.core.stack.resolved import HostSpec, ResolvedStack
from stackctl.errors import Problem, Where


def found(keys: StackKeys, hosts: Mapping[str, HostSpec]) -> dict[str, str]:
    """Key path -> the verbs that refuse it, separated by commas."""
    result: dict[str, str] = {}
    for name, host in hosts.items():
        if host.runtime == "docker":
            result[f"hosts.{name}.runtime"] = "build, deploy"
        elif host.python is None and not host.is_local and not (keys.python and keys.python.requirements):
            result[f"hosts.{name}.python"] = "deploy"
    for name in keys.sources:
        result[f"sources.{name}"] = "build"
    if keys.image:
        result["image"] = "build"
    if keys.python:
        result["python"] = "build"
    if keys.gate.test:
        result["gate.test"] = "deploy"
    if keys.bisect.take_over:
        result["bisect.take_over"] = "bisect"
    return result


def refusals(stack: ResolvedStack, verb: str) -> tuple[Problem, ...]:
    """One problem for each key that this verb would need; empty when it can go on."""
    return tuple(
        Problem(
            f"`{verb}` cannot do this yet", Where(stack.file), key, hint="leave the key out, or do this step by hand"
        )
        for key, verbs in stack.unsupported.items()
        if verb in verbs.split(", ")
    )
