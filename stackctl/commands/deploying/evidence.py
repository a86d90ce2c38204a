"""Before something that is not well is stopped: saves what shows why, beside the evidence of tests.

It costs at most BOUND seconds and never keeps a stop or a restart from going on.
"""

from __future__ import annotations

from datetime import UTC, datetime

from stackctl.commands.site import Site
from stackctl.core.deploy.evidence import SUMMARY, Heading, files
from stackctl.core.deploy.facts import HostFacts
from stackctl.core.verify.evidence import folder_name
from stackctl.errors import StackctlError

BOUND = 19.0  # seconds for all of it
AT_WORK = 15.5  # of these for the program there
ANSWER = 5.0  # for one answer: a server that is well gives one token long before that


def save_evidence(site: Site, facts: HostFacts, verb: str) -> str:
    """The folder that it was saved to; empty when what serves is well, or nothing serves, or it could not be saved."""
    if facts.served is None:
        return ""
    try:
        return _save(site, facts.served, verb)
    except (StackctlError, OSError, KeyError, TypeError, ValueError) as error:
        site.ports.progress.say(f"{site.name}: no evidence was saved: {error}; going on")
        return ""


def _save(site: Site, release: str, verb: str) -> str:
    ports, stack = site.ports, site.stack
    request = {"release": release, "model": stack.model.name, "bound": ANSWER, "seconds": AT_WORK}
    began = ports.clock.monotonic()
    with ports.progress.step(f"{site.name}: look whether {release} is well, and save evidence if it is not"):
        said = site.ask("evidence", request, timeout=BOUND)
    if not said["sick"]:
        return ""
    ports.progress.say(f"{site.name}: {release} is not well: {'; '.join(said['sick'])}")
    now = ports.clock.now()
    heading = Heading(verb, stack.name, release, site.name, datetime.fromtimestamp(now, UTC).isoformat(" ", "seconds"))
    folder = _free(site, folder_name(now, f"{verb}-{stack.name}", release))
    for name, text in files(said, heading).items():
        ports.files.write(f"{folder}/{name}", text.encode("utf-8", "replace"))
    took = ports.clock.monotonic() - began
    ports.progress.say(f"{site.name}: evidence saved in {took:.1f} s: {folder}/{SUMMARY}")
    if said["spy"] is None:
        ports.progress.say(f"{site.name}: without stacks of its processes, for py-spy is missing there")
    return folder


def _free(site: Site, name: str) -> str:
    """A folder that is not there yet."""
    home = f"{site.stack.workspace}/.stackctl/evidence"
    numbers = ("", *(f"-{number}" for number in range(2, 1000)))
    return next(path for path in (f"{home}/{name}{number}" for number in numbers) if not site.ports.files.exists(path))
