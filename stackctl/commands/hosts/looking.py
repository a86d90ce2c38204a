"""Asks a host what it is like, by the program of `stackctl doctor`: all of it, or what a quick look can see."""

from __future__ import annotations

from stackctl.commands.site import Site
from stackctl.core.doctor.read import Times, look_of
from stackctl.core.doctor.values import Facts, Look
from stackctl.core.doctor.wanted import PACKAGES
from stackctl.core.stack.resolved import HostSpec
from stackctl.errors import StackctlError
from stackctl.ports import Ports

QUICK = 15.0  # seconds


def looking_python(ports: Ports, spec: HostSpec) -> str:
    """What runs our programs on a host that is only looked at: any Python 3.9 will do."""
    return spec.python or (ports.who.python() if spec.is_local else "python3")


def quick_look(site: Site, python: str) -> Facts:
    """What lasts, without what takes long. Raises StackctlError."""
    request = {"paths": [], "images": [], "python": python, "packages": [*PACKAGES], "quick": True}
    return ask_doctor(site, request, QUICK).facts


def ask_doctor(site: Site, request: dict[str, object], seconds: float) -> Look:
    clock = site.ports.clock
    asked = clock.now()
    said = site.ask("doctor", request, timeout=seconds)
    try:
        return look_of(site.name, said, Times(asked, clock.now()))
    except (KeyError, TypeError, ValueError) as error:
        raise StackctlError(f"{site.name}: what it said cannot be read: {type(error).__name__}: {error}") from error
