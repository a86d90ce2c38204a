"""Takes, shows and frees the hold of a stack by hand: so that nobody deploys while a person looks at a host."""

from __future__ import annotations

from dataclasses import dataclass

from stackctl.commands.deploying.holding import client_gone, free, new_holder, take
from stackctl.commands.gather import load
from stackctl.commands.selection import Selection
from stackctl.commands.site import site_of
from stackctl.core.deploy.hold import is_stale, told
from stackctl.errors import StackctlError
from stackctl.ports import Ports


@dataclass(frozen=True)
class HoldState:
    """`holder`: in words, None when it is free. `stale`: the next deploy will take it over."""

    stack: str
    host: str
    holder: str | None
    stale: bool = False


def take_hold(ports: Ports, selection: Selection, message: str) -> HoldState:
    """Raises Held. It stays until it is freed; no deploy waits for it or takes it over."""
    stack = load(ports, selection)
    with site_of(ports, stack) as site:
        holder = new_holder(site, "stackctl hold take", message, hand=True)
        take(site, holder)
        return HoldState(stack.name, site.name, told(holder))


def show_hold(ports: Ports, selection: Selection) -> HoldState:
    stack = load(ports, selection)
    with site_of(ports, stack) as site:
        facts = site.look()
        holder = facts.hold
        if holder is None:
            return HoldState(stack.name, site.name, None)
        stale = is_stale(holder, cutover=facts.cutover, client_gone=client_gone(site, holder))
        return HoldState(stack.name, site.name, told(holder), stale)


def release_hold(ports: Ports, selection: Selection, attempt: str | None = None) -> HoldState:
    """Frees one taken by hand, or, named by its attempt, another one whose cut-over is not at work."""
    stack = load(ports, selection)
    with site_of(ports, stack) as site:
        facts = site.look()
        holder = facts.hold
        if holder is None:
            raise StackctlError(f"{site.name}: nobody holds {stack.name}")
        if facts.cutover:
            raise StackctlError(f"{site.name}: a cut-over is at work; it frees the hold at its end", told(holder))
        if attempt is None and not holder.hand:
            hint = f"If it is really over: stackctl hold release {stack.name} --attempt {holder.attempt}"
            raise StackctlError(f"{site.name}: the hold was not taken by hand but by {told(holder)}", hint)
        if not free(site, attempt or holder.attempt):
            raise StackctlError(f"{site.name}: the hold is not of attempt {attempt} but of {told(holder)}")
        return HoldState(stack.name, site.name, None)
