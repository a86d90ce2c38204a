"""Takes the hold of a stack on its host for as long as a command works, and gives it back whatever happens."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass

from stackctl.commands.site import Site
from stackctl.core.deploy.facts import Holder, Status, parse_holder, parse_status
from stackctl.core.deploy.hold import is_stale, told
from stackctl.errors import Held, Interrupted, StackctlError
from stackctl.ports import Who

EVERY = 1.0  # seconds between two tries


@dataclass
class Hold:
    """`taken`: the host said so. `passed_on`: the cut-over's script has it now, and frees it at its end."""

    holder: Holder
    taken: bool = False
    passed_on: bool = False

    @property
    def attempt(self) -> str:
        return self.holder.attempt


class Busy(Held):
    """Held, and by whom: `status` is of a cut-over that is at work without its client."""

    def __init__(self, message: str, hint: str, holder: Holder, status: Status | None) -> None:
        super().__init__(message, hint)
        self.holder = holder
        self.status = status


def new_holder(site: Site, command: str, message: str = "", *, hand: bool = False) -> Holder:
    who, now = site.ports.who, site.ports.clock.now()
    attempt = hashlib.sha256(f"{who.user()} {who.pid()} {now!r} {site.stack.name}".encode()).hexdigest()[:12]
    machine = who.user().rpartition("@")[2]
    return Holder(attempt, who.user(), machine, who.pid(), now, command, message, hand)


@contextmanager
def held(site: Site, command: str, wait: float | None = None) -> Iterator[Hold]:
    """Raises Busy (exit 4) when someone else has it; with `wait` only after so many seconds."""
    hold = Hold(new_holder(site, command))
    ours = True
    try:
        take(site, hold.holder, wait)
        hold.taken = True
        yield hold
    except Busy:
        ours = False
        raise
    except KeyboardInterrupt:
        raise _interrupted(site, hold) from None
    finally:
        if ours and not hold.passed_on:
            _give_back(site, hold)


def _interrupted(site: Site, hold: Hold) -> Interrupted:
    if hold.passed_on:
        return Interrupted("interrupted; the host goes on", f"stackctl status {site.stack.name}")
    return Interrupted("interrupted before anything was stopped; the hold is free again")


def _give_back(site: Site, hold: Hold) -> None:
    """An error here must not hide the one that led here. A host that never answered has nothing to free; if its
    answer was lost, the hold is stale as soon as this client is gone."""
    try:
        free(site, hold.attempt)
    except StackctlError as error:
        if not hold.taken:
            return
        hint = f"stackctl hold release {site.stack.name} --attempt {hold.attempt}"
        site.ports.progress.say(f"{site.name}: the hold could not be freed ({error.message}); later: {hint}")


def take(site: Site, holder: Holder, wait: float | None = None) -> None:
    """A stale hold is taken over, and said so. One taken by hand is never waited for."""
    clock = site.ports.clock
    deadline = clock.monotonic() + (wait or 0.0)
    details = {key: value for key, value in asdict(holder).items() if key != "age"}
    while True:
        said = site.ask("hold", {"do": "take", "details": details})
        if said["taken"]:
            return
        other = parse_holder(said.get("holder"))
        if other is None:  # freed in this very moment
            continue
        gone = client_gone(site, other)
        if is_stale(other, cutover=said["cutover"], client_gone=gone):
            site.ports.progress.say(f"{site.name}: taking over a stale hold of {told(other)}")
            free(site, other.attempt)
            continue
        if other.hand or clock.monotonic() >= deadline:
            running = parse_status(said["status"]) if said["cutover"] and gone else None
            raise _busy(site, other, running)
        site.ports.progress.live(f"{site.name}: waiting for the hold of {told(other)}")
        clock.sleep(EVERY)


def client_gone(site: Site, holder: Holder) -> bool:
    """It ran on this machine, and is no more. Of another machine nobody can tell."""
    return same_machine(site.ports.who, holder) and not site.ports.who.alive(holder.pid)


def same_machine(who: Who, holder: Holder) -> bool:
    return holder.host == who.user().rpartition("@")[2]


def free(site: Site, attempt: str) -> bool:
    return bool(site.ask("hold", {"do": "free", "attempt": attempt})["freed"])


def _busy(site: Site, other: Holder, running: Status | None) -> Busy:
    if running is not None:
        message = f"a cut-over to {running.release or 'nothing'} goes on there without its client: {running.step}"
        return Busy(
            f"{site.name}: {message} ({told(other)})",
            f"`stackctl status {site.stack.name}` follows it.",
            other,
            running,
        )
    if other.hand:
        hint = f"It was taken by hand; who took it frees it: stackctl hold release {site.stack.name}."
    else:
        hint = f"Wait with --wait, or look: stackctl status {site.stack.name}."
    return Busy(f"{site.stack.name} is held on {site.name} by {told(other)}", hint, other, None)
