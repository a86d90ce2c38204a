"""Looks at every host of a stack, side by side, and says what is wrong there. It changes nothing on any of them.

A host that cannot be reached is a finding, and keeps no other from being looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version

from stackctl.commands.gather import load
from stackctl.commands.hosts.folder import judge
from stackctl.commands.hosts.looking import ask_doctor, looking_python
from stackctl.commands.hosts.running import look_running, running_findings
from stackctl.commands.hosts.together import side_by_side
from stackctl.commands.selection import Selection
from stackctl.commands.site import Site, site_on
from stackctl.core.doctor.findings import findings, in_order
from stackctl.core.doctor.findings_host import absent
from stackctl.core.doctor.hide import anonymous, harmless, without_secrets
from stackctl.core.doctor.there import There
from stackctl.core.doctor.values import Evidence, Finding, HostReport, Look, Report
from stackctl.core.doctor.wanted import PACKAGES, Wanted, hosts_of, wanted
from stackctl.core.stack.resolved import HostSpec, ResolvedStack
from stackctl.errors import StackctlError, UsageError
from stackctl.ports import Host, Ports

LOOK = 120.0  # seconds for one host; a card that hangs lets nvidia-smi wait for a minute


@dataclass(frozen=True)
class DoctorRequest:
    """`hosts`: names of the stack's hosts, none for all. `anonymous`: without names of machines and people."""

    selection: Selection
    hosts: tuple[str, ...] = ()
    anonymous: bool = False


def doctor(ports: Ports, request: DoctorRequest) -> Report:
    """Raises UsageError for a host that the stack has not; whatever a host says is in the report."""
    stack = load(ports, request.selection)
    names = chosen(stack, request.hosts)
    when = ports.clock.now()
    with ports.progress.step(f"look at {', '.join(names)}"):
        seen = side_by_side(names, lambda name: examine(ports, stack, name))
    there = {one.report.name: one.there for one in seen if one.there is not None}
    running = running_findings(ports, request.selection, stack, there)
    hosts = tuple(one.report if one.there is None else _with(one.report, running[one.report.name]) for one in seen)
    report = harmless(Report(stack.name, hosts, when, version("stackctl")))
    values = [value for name in stack.secrets if (value := ports.who.env(name))]
    report = without_secrets(report, values)
    return anonymous(report) if request.anonymous else report


def chosen(stack: ResolvedStack, asked: Sequence[str]) -> tuple[str, ...]:
    """The hosts that were named, else all. Raises UsageError."""
    every = hosts_of(stack)
    if unknown := [name for name in asked if name not in every]:
        raise UsageError(f"{stack.name} has no host {', '.join(unknown)}", f"It has: {', '.join(every)}.")
    return tuple(name for name in every if not asked or name in asked)


@dataclass(frozen=True)
class Examined:
    """`there`: what of the stack is on the host; None when it could not be asked."""

    report: HostReport
    there: There | None = None


def _with(report: HostReport, more: tuple[Finding, ...]) -> HostReport:
    return replace(report, findings=in_order((*report.findings, *more)))


def examine(ports: Ports, stack: ResolvedStack, name: str) -> Examined:
    """One host: facts and findings, or why there are none."""
    spec, wants = stack.hosts[name], wanted(stack, name)
    roles = tuple(one.id for one in wants.instances)
    report = HostReport(name, spec.address, spec.purpose, roles)
    began = ports.clock.monotonic()
    try:
        with site_on(ports, stack, spec, looking_python(ports, spec)) as site:
            site = replace(site, python=_answering(site.host, site.python))
            look = ask_doctor(site, _request(ports, stack, wants), LOOK)
            found = (*findings(look, wants), *_model(site, wants, look))
            there = look_running(site, look.facts)
    except StackctlError as error:
        silent = replace(report, findings=(_unreachable(spec, error),), seconds=ports.clock.monotonic() - began)
        return Examined(silent)
    seconds = ports.clock.monotonic() - began
    report = replace(report, facts=look.facts, findings=found, commands=look.commands, seconds=seconds)
    return Examined(report, there)


def _request(ports: Ports, stack: ResolvedStack, wants: Wanted) -> dict[str, object]:
    own = ports.who.python() if wants.spec.is_local and stack.python is None else ""
    packages = dict.fromkeys((*PACKAGES, *(wants.pins or {})))
    python = wants.python or own
    return {"paths": list(wants.paths), "images": list(wants.images), "python": python, "packages": list(packages)}


def _answering(host: Host, python: str) -> str:
    """The interpreter that is named, if it runs; else the host's own, so that a wrong name is found and told."""
    said = host.run((python, "-I", "-S", "-B", "-c", "print('python')"), timeout=30.0)
    return python if said.ok and said.stdout.strip() == b"python" else "python3"


def _model(site: Site, wants: Wanted, look: Look) -> tuple[Finding, ...]:
    """The folder against what the stack says of it; a stand-in reads none, and one that is not there is told before."""
    missing = any(disk.path == wants.model and absent(disk) for disk in look.facts.disks)
    if not wants.sglang or wants.model is None or missing:
        return ()
    try:
        found = judge(site, min((card.memory_total for card in look.facts.cards if card.memory_total), default=None))
    except StackctlError as error:
        evidence = Evidence(f"ls {wants.model}", error.message)
        return (Finding("MODEL-UNREAD", "warning", error.message, (evidence,), host=site.name, section="model"),)
    return found.findings


def _unreachable(spec: HostSpec, error: StackctlError) -> Finding:
    typed = "this machine" if spec.is_local else f"ssh {spec.address}"
    return Finding(
        "HOST-SILENT",
        "error",
        error.message if error.message.startswith(spec.name) else f"{spec.name}: {error.message}",
        (Evidence(typed, error.message),),
        error.hint or "",
        spec.name,
        "reach",
    )


def save_report(ports: Ports, path: str, text: str) -> None:
    """On this machine; a relative path is from here."""
    full = path if path.startswith("/") else f"{ports.files.cwd()}/{path}"
    ports.files.write(full, text.encode("utf-8", "replace"))
    ports.progress.say(f"the report is in {path}; look through it before you publish it")
