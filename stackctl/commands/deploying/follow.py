"""Starts a cut-over on its host and watches it to its end. Watching is all: it goes on without us."""

from __future__ import annotations

from dataclasses import dataclass

from stackctl.commands.deploying.holding import Hold, free
from stackctl.commands.site import Site
from stackctl.core.deploy.cutover import SCRIPT, TEMPLATE, Cutover, script
from stackctl.core.deploy.facts import Status
from stackctl.core.deploy.journal import Seen, seen
from stackctl.errors import Interrupted, StackctlError

APPEARS = 20.0  # seconds until the script must have written its first word
QUICK, SLOW, QUICK_FOR = 0.2, 1.0, 30.0  # seconds between looks, and how long the quick ones last
LOST_FOR = 300.0  # seconds without an answer from the host until we stop watching


@dataclass(frozen=True)
class Watched:
    """`failure`: the failing request and answer, or the end of a log, when a step failed."""

    status: Status
    failure: str


def run(site: Site, hold: Hold, cutover: Cutover) -> Watched:
    """Upload the script, start it, watch it. From its start on it has the hold."""
    host = site.host
    text = script(site.ports.templates.text(TEMPLATE, site.stack.workspace), cutover)
    host.put(cutover.probes, site.program("gate").encode())
    host.put(f"{cutover.root}/{SCRIPT}", text.encode(), 0o700)
    hold.passed_on = True
    host.start_detached(("sh", f"{cutover.root}/{SCRIPT}"))
    try:
        return watch(site, cutover.root, cutover.attempt)
    except _Died as error:
        free(site, cutover.attempt)
        raise StackctlError(error.message, f"`stackctl deploy {site.stack.name}` puts it right.") from error


class _Died(StackctlError):
    """The script ended without a last word."""


def watch(site: Site, root: str, attempt: str) -> Watched:
    """Raises Interrupted on Ctrl-C, saying that the host goes on."""
    try:
        status = _end_of(site, root, attempt)
    except KeyboardInterrupt:
        raise Interrupted(
            f"interrupted; the cut-over goes on on {site.name} without this client, to its end or back",
            f"`stackctl status {site.stack.name}` shows it, `stackctl deploy {site.stack.name}` waits for it.",
        ) from None
    if status.state not in ("failed", "restored", "broken") or not status.release:
        return Watched(status, "")
    failure = site.host.get(f"{root}/releases/{status.release}/failure.txt") or b""
    return Watched(status, failure.decode("utf-8", "replace").strip())


def _end_of(site: Site, root: str, attempt: str) -> Status:
    clock, progress = site.ports.clock, site.ports.progress
    began = answered = clock.monotonic()
    said, dead = 0, False
    while True:
        now = clock.monotonic()
        try:
            found = _look(site, root, attempt)
            answered = now
        except StackctlError as error:
            if now - answered > LOST_FOR:
                raise
            progress.live(f"{site.name}: lost ({error.message}), trying again; the cut-over goes on there")
            clock.sleep(SLOW)
            continue
        if found.status is None:
            if now - began > APPEARS:
                raise _Died(f"{site.name}: the cut-over did not start; see {root}/cutover.log there")
        else:
            for step in found.status.steps[said:]:
                progress.say(f"{site.name}: {'✓' if step.phase == 'done' else '✗'} {step.name}  {step.seconds:.1f} s")
            said = len(found.status.steps)
            if found.status.state != "running":
                return found.status
            if not found.alive and dead:
                raise _Died(f"{site.name}: the cut-over was killed while it did: {found.status.step}")
            dead = not found.alive  # it may have ended between our two reads: look once more
            progress.live(f"{site.name}: {found.status.step} ({now - began:.0f} s)")
        clock.sleep(QUICK if now - began < QUICK_FOR else SLOW)


def _look(site: Site, root: str, attempt: str) -> Seen:
    """Its status, and whether its process is there: one cheap call."""
    done = site.host.run(("sh", "-c", LOOK, "sh", f"{root}/status.json"), timeout=30.0)
    return seen(done.stdout.decode("utf-8", "replace"), attempt)


# the status is one line; the second is the stat of the process that it names
LOOK = """cat "$1" 2>/dev/null || exit 0
pid=$(sed -n 's/.*"pid": \\([0-9]*\\),.*/\\1/p' "$1"); [ -z "$pid" ] || cat "/proc/$pid/stat" 2>/dev/null || true"""
