"""The interpreter that serves: one that the host names, or one made there from the stack's hash lock.

Made once for each content, kept under $STACKCTL_HOME (on a remote host under its default), shared by all releases
and variants. A half-built one is never used: its record is written last.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from stackctl.commands.site import Site
from stackctl.core.environment.lockfile import EnvironmentSpec, parse_lock
from stackctl.core.stack.resolved import HostSpec, ResolvedStack
from stackctl.errors import StackctlError
from stackctl.ports import Ports

REMOTE_HOME = "~/.local/share/stackctl"
BUILD = 3600.0  # seconds: torch alone may be gigabytes
POLL = 1.0
DEFAULT_PYTHON = "3.11"
UNREACHABLE = ("connection", "Connection", "timed out", "dns error", "resolve")
INSTALLER = ("PIP_", "UV_", "SSL_", "REQUESTS_CA", "http", "HTTP", "no_proxy", "NO_PROXY")  # of the user's environment


def environment_spec(ports: Ports, stack: ResolvedStack) -> EnvironmentSpec | None:
    """What `python:` of the stack asks for; None when it asks for none."""
    if stack.python is None or stack.python.requirements is None:
        return None
    file = stack.python.requirements
    text = ports.files.read(file).decode("utf-8", "replace")
    return EnvironmentSpec(stack.python.version or DEFAULT_PYTHON, parse_lock(text, file))


def folder_of(ports: Ports, host: HostSpec, key: str) -> str:
    return f"{ports.files.home() if host.is_local else REMOTE_HOME}/environments/{key}"


def _wanted(site: Site) -> EnvironmentSpec | None:
    """What stackctl has to make there; None when the host names an interpreter, or the stack has no lock."""
    return environment_spec(site.ports, site.stack) if site.host.spec.python is None else None


def engine_python(site: Site) -> str:
    """Path of the interpreter that runs engines and router there, whether it is made already or not."""
    spec = _wanted(site)
    if spec is None:
        return site.python
    return f"{_state(site, folder_of(site.ports, site.host.spec, spec.key))['dir']}/bin/python"


def planned_python(site: Site) -> str:
    """The same without asking the host; a path in its home stays unexpanded."""
    spec = _wanted(site)
    if spec is None:
        return site.python
    return f"{folder_of(site.ports, site.host.spec, spec.key)}/bin/python"


def environment_wanted(site: Site) -> str:
    """What has to be made there before a start, as a sentence of a plan; empty when nothing has."""
    spec = _wanted(site)
    if spec is None:
        return ""
    folder = folder_of(site.ports, site.host.spec, spec.key)
    if _state(site, folder)["state"] == "whole":
        return ""
    return f"{site.name}: make the environment {spec.key}: {len(spec.pins)} packages, python {spec.python}, in {folder}"


def make_environment(site: Site) -> None:
    """Make what the stack's lock asks for, unless it is there, is none of ours, or was made before."""
    spec = _wanted(site)
    if spec is None:
        return
    folder = folder_of(site.ports, site.host.spec, spec.key)
    if _state(site, folder)["state"] != "whole":
        _build(site, spec, folder)


def installed_torch(site: Site) -> Mapping[str, str]:
    """Which build of torch is in the environment that stackctl made: version and sha256; empty when it has none."""
    spec = _wanted(site)
    if spec is None:
        return {}
    return dict(_state(site, folder_of(site.ports, site.host.spec, spec.key))["torch"] or {})


def _state(site: Site, folder: str) -> dict[str, Any]:
    return site.ask("environment", {"do": "state", "dir": folder})


def _build(site: Site, spec: EnvironmentSpec, folder: str) -> None:
    """Whoever comes second waits for the first, and builds when that one fails."""
    what = f"{site.name}: make the environment {spec.key} ({len(spec.pins)} packages, python {spec.python})"
    content = {"python": spec.python, "locked": spec.locked, "free": spec.free, "env": _installer_settings(site)}
    ends = site.ports.clock.monotonic() + BUILD
    with site.ports.progress.step(what):
        while True:
            said = site.ask("environment", {"do": "build", "dir": folder}, json.dumps(content).encode())
            found = _end_of_build(site, folder, ends)
            if found["state"] == "whole":
                return
            if said["started"]:
                raise _not_made(site, found)


def _installer_settings(site: Site) -> Mapping[str, str]:
    """The user's settings of pip and uv, for this machine only: another one has its own."""
    if not site.host.spec.is_local:
        return {}
    return {name: value for name, value in site.ports.who.environment().items() if name.startswith(INSTALLER)}


def _end_of_build(site: Site, folder: str, ends: float) -> dict[str, Any]:
    """The state when nobody builds any more; raises StackctlError after an hour."""
    clock = site.ports.clock
    began = clock.monotonic()
    while (now := clock.monotonic()) < ends:
        found = _state(site, folder)
        if found["state"] != "building":
            return found
        site.ports.progress.live(f"{site.name}: {now - began:4.0f} s  {found['line'] or 'begins'}")
        clock.sleep(POLL)
    raise StackctlError(f"{site.name}: the environment was not made in {BUILD:g} s", f"See {folder}.log there.")


def _not_made(site: Site, found: Mapping[str, Any]) -> StackctlError:
    folder = found["dir"]
    why = found["error"] or f"its builder was killed; its last words: {found['line']}"
    hint = f"The whole story is in {folder}.log there. Deploying again begins anew."
    if any(word in why for word in UNREACHABLE):
        hint = f"No package index answers there. {hint}"
    return StackctlError(f"{site.name}: the environment was not made: {why}", hint)


def environment_faults(site: Site, python: str) -> tuple[str, ...]:
    """What is not as it was installed; empty for an interpreter that stackctl did not make (that `python` names)."""
    folder = python.removesuffix("/bin/python")
    if "/environments/" not in folder:
        return ()
    said = site.ask("environment", {"do": "verify", "dir": folder}, timeout=120.0)
    return tuple(said["faults"])
