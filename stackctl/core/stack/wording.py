"""What flags and variables may be called, which of them stackctl makes itself, and which look like a secret.

It does not know sglang's table of flags: whether the base has a flag is asked of the base.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from stackctl.core.stack.merge import Merged
from stackctl.core.stack.resolved import Instance, ResolvedStack
from stackctl.core.stack.source import Path
from stackctl.errors import Problem

FLAG = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]*")
ENGINE_MADE = {
    "model-path": "model.path",
    "model": "model.path",
    "served-model-name": "model.name",
    "tool-call-parser": "serve.tool_call_parser",
    "reasoning-parser": "serve.reasoning_parser",
    "chat-template": "serve.chat_template",
    "host": "the host's address",
    "port": "port",
    "weight-version": "the release",
    "disaggregation-mode": "the role",
    "disaggregation-bootstrap-port": "roles.prefill.bootstrap_port",
}
ROUTER_MADE = {
    "host": "the host's address",
    "port": "port",
    "pd-disaggregation": "the roles",
    "prefill": "roles.prefill",
    "decode": "roles.decode",
    "worker-urls": "roles.single",
}
ENV_MADE = ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "PYTHONSAFEPATH")
SECRET_NAME = re.compile(
    r"(^|[_-])((API|ACCESS|PRIVATE|SECRET|AUTH)[_-]?KEYS?|TOKEN|PASSWORD|PASSWD|SECRET|CREDENTIALS?)$", re.IGNORECASE
)
SECRET_VALUE = re.compile(
    r"\b(sk|pk)-[A-Za-z0-9_-]{16,}|\bhf_[A-Za-z0-9]{16,}|\bgh[pousr]_[A-Za-z0-9]{20,}|\bAKIA[A-Z0-9]{16}"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY|://[^/@:\s]+:[^/@\s]+@"
)


def instance(merged: Merged, stack: ResolvedStack, one: Instance, place: Path) -> Iterator[Problem]:
    """The flags and variables of one process, each at the place that set it."""
    made = ROUTER_MADE if one.role == "router" else ENGINE_MADE
    if one.gpus:
        made = {**made, "base-gpu-id": "gpus"}
    for name in one.flags:
        path = _setter(merged, place, one, "flags", name)
        if FLAG.fullmatch(name) is None:
            yield merged.problem(path, f"`{name}` is not how a flag is written here", _spelling(name))
        elif name in made:
            yield _made(merged, path, name, made[name])
    if one.role == "router" and "mini-lb" in one.flags:
        path = _setter(merged, place, one, "flags", "mini-lb")
        yield merged.problem(path, "the mini load balancer is not the router", "leave it out")
    for name in one.env:
        path = _setter(merged, place, one, "env", name)
        if name in ENV_MADE or name.startswith("STACKCTL_"):
            yield merged.problem(path, "stackctl sets this variable itself")
        elif name == "CUDA_VISIBLE_DEVICES" and one.gpus:
            yield merged.problem(path, "set in two places: here and by `gpus`", "keep `gpus`")
        elif name in stack.secrets:
            yield merged.problem(path, "set in two places: here and as one of `secrets`", "keep it under `secrets`")


def _setter(merged: Merged, place: Path, one: Instance, kind: str, name: str) -> Path:
    """The role's own line if it has one, else the line in `serve`."""
    own: Path = (*place, kind, name)
    return own if own in merged.marks or one.role == "router" else ("serve", kind, name)


def _made(merged: Merged, path: Path, name: str, by: str) -> Problem:
    other = tuple(by.split("."))
    if other in merged.marks:
        line = merged.where(other)
        return merged.problem(path, f"set in two places: here and in {by} ({line})", "keep one")
    is_key = by.partition(".")[0] in ("serve", "model", "roles", "port", "gpus")
    return merged.problem(path, f"stackctl makes --{name} from {by}", f"write `{by}`" if is_key else "leave it out")


def _spelling(name: str) -> str | None:
    right = name.lstrip("-").replace("_", "-")
    return f"as sglang spells it, without dashes in front: `{right}`" if FLAG.fullmatch(right) else None


def secrets(merged: Merged) -> Iterator[Problem]:
    """Values that look like a key, wherever they stand. The value itself is never repeated."""
    yield from _secrets(merged, merged.value, ())


def _secrets(merged: Merged, value: object, path: Path) -> Iterator[Problem]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _secrets(merged, inner, (*path, str(key)))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _secrets(merged, inner, (*path, index))
    elif isinstance(value, str) and (SECRET_VALUE.search(value) or _named_secret(path, value)):
        hint = "name the variable under `secrets:` and give its value in the environment"
        if "://" in value:
            hint = "leave name and password out; an ssh:// URL uses the keys of who runs stackctl"
        yield merged.problem(path, "looks like a secret, and a stack file holds none", hint)


def _named_secret(path: Path, value: str) -> bool:
    inside = len(path) > 1 and path[-2] in ("flags", "env")
    return inside and bool(SECRET_NAME.search(str(path[-1]))) and bool(value) and not value.isdigit()
