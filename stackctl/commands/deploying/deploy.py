"""Replaces what a stack serves by the release that its file says: look, plan, prepare, cut over, gate.

Everything that can refuse does so before anything is stopped. The cut-over itself runs on the host.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib.metadata import version

from stackctl.commands.deploying import follow, preparing
from stackctl.commands.deploying.cutting import confirm, cut_over, gate_again, raise_unless_up
from stackctl.commands.deploying.holding import Busy, Hold, held
from stackctl.commands.environment import (
    engine_python,
    environment_wanted,
    installed_torch,
    make_environment,
    planned_python,
)
from stackctl.commands.hosts.saving import save_served
from stackctl.commands.linting.stack import refuse_errors
from stackctl.commands.release import release as make_release
from stackctl.commands.selection import Selection
from stackctl.commands.site import Site, site_of
from stackctl.core.deploy.facts import HostFacts
from stackctl.core.deploy.journal import start_seconds
from stackctl.core.deploy.plan import decide, sentences
from stackctl.core.deploy.record import Made, Record, record_of
from stackctl.core.deploy.values import DeployResult, Outcome, Release
from stackctl.core.names import ReleaseId
from stackctl.core.stack.resolved import ResolvedStack
from stackctl.core.stack.unsupported import refusals
from stackctl.errors import InvalidFile, Problem, StackctlError, Where
from stackctl.ports import Ports


@dataclass(frozen=True)
class DeployRequest:
    """`wait`: seconds to wait for a hold. `yes`: do not ask before something that serves on production is replaced.

    `lint`: refuse what the linter calls an error, unless the release is a variant.
    """

    selection: Selection
    dry_run: bool = False
    yes: bool = False
    wait: float | None = None
    lint: bool = True


@dataclass(frozen=True)
class Attempt:
    """One deploy under its hold."""

    site: Site
    hold: Hold
    release: Release
    record: Record


def deploy(ports: Ports, request: DeployRequest) -> DeployResult:
    """Raises StackctlError (refused, or failed and nothing serves), Held, GateFailed, RollbackFailed, Interrupted."""
    release = make_release(ports, request.selection)
    if problems := (*refusals(release.stack, "deploy"), *unlocked(release.stack)):
        raise InvalidFile(problems)
    warned = refuse_errors(ports, release.stack, release.tree) if request.lint else ()
    result = _reached(ports, request, release)
    return replace(result, warnings=(*warned, *result.warnings))


def _reached(ports: Ports, request: DeployRequest, release: Release) -> DeployResult:
    with site_of(ports, release.stack) as site:
        if request.dry_run:
            return _planned(site, release)
        record = _record(site, release, engine_python(site))
        try:
            with held(site, "stackctl deploy", request.wait) as hold:
                return _deploy(Attempt(site, hold, release, record), request)
        except Busy as busy:
            return _join(site, release, record, busy)


def unlocked(stack: ResolvedStack) -> Iterator[Problem]:
    """A manifest that is named is wanted: without it nobody knows whether the model is the one that is meant."""
    if stack.model.manifest is not None and stack.model.pins is None:
        hint = f"`stackctl lock --model {stack.name}` writes it."
        yield Problem(f"there is no {stack.model.manifest}", Where(stack.file), "model.manifest", hint)


def _record(site: Site, release: Release, python: str) -> Record:
    ports = site.ports
    return record_of(release, Made(ports.who.user(), ports.clock.now(), version("stackctl"), python))


def _planned(site: Site, release: Release) -> DeployResult:
    facts = prepared = None
    warnings: tuple[str, ...] = ()
    plan: tuple[str, ...] = ()
    record = _record(site, release, planned_python(site))
    try:
        record = _record(site, release, engine_python(site))
        facts = site.look(release=release.id)
        prepared = preparing.with_own_secrets(site, record, preparing.look(site, record, None))
        if wanted := environment_wanted(site):  # then it is no reason to refuse that it is not whole
            plan = (wanted,)
            prepared = replace(prepared, environment=())
    except StackctlError as error:
        warnings = (error.message,)
    plan += sentences(release, record, facts, prepared)
    result = _result(release, record, "planned", facts.served if facts else None)
    return replace(result, plan=plan, warnings=warnings)


def _deploy(attempt: Attempt, request: DeployRequest) -> DeployResult:
    site, hold, release, record = attempt.site, attempt.hold, attempt.release, attempt.record
    facts = site.look(release=release.id, attempt=hold.attempt)
    if decide(release.id, facts) != "keep":
        confirm(site, facts, f"replace it by {release.id}", request.yes)
    record = _prepare(attempt, facts)
    if decide(release.id, facts) == "keep":
        failure = gate_again(site, record, facts)
        if failure is None:
            save_served(site, "deploy", record)
            return _kept(release, record, facts)
        again = f"{site.name}: {release.id} serves but fails its gate, so it is started anew: {failure}"
        site.ports.progress.say(again)
    watched = cut_over(site, hold, "deploy", facts, release.id)
    save_served(site, "deploy", record)
    preparing.prune(site, release.stack.keep_releases)
    return _result(release, record, "deployed", facts.served, start_seconds(watched.status))


def _prepare(attempt: Attempt, facts: HostFacts) -> Record:
    """The record as it was written there: only now is it known which build of torch is in the environment."""
    site, release = attempt.site, attempt.release
    make_environment(site)
    record = replace(attempt.record, torch=installed_torch(site))
    preparing.upload_trees(site, facts, record, attempt.hold.attempt)
    with site.ports.progress.step(f"{site.name}: prepare release {release.id}"):
        preparing.prepare(site, release, record, facts, attempt.hold.attempt)
    return record


def _kept(release: Release, record: Record, facts: HostFacts) -> DeployResult:
    took = float(facts.deployed.get(release.id, {}).get("start_seconds", 0.0))
    return _result(release, record, "kept", facts.previous, took)


def _join(site: Site, release: Release, record: Record, busy: Busy) -> DeployResult:
    """A cut-over to this very release goes on without its client: become its client."""
    running = busy.status
    if running is None or running.release != release.id:
        raise busy
    site.ports.progress.say(f"{site.name}: a cut-over to {release.id} goes on there already; watching it")
    facts = site.look(release=release.id)
    watched = follow.watch(site, facts.root, running.attempt)
    raise_unless_up(site, watched)
    save_served(site, "deploy", record)
    previous = ReleaseId(running.old) if running.old else None
    return _result(release, record, "deployed", previous, start_seconds(watched.status))


def _result(
    release: Release, record: Record, outcome: Outcome, previous: ReleaseId | None, took: float = 0.0
) -> DeployResult:
    return DeployResult(outcome, record.stack, release.id, record.variant, record.url, previous, took)
