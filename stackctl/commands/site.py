"""One host of one stack, as the verbs that deploy see it: ask its programs, put its files, find its interpreter.

It decides nothing. All that it asks runs by the host's own interpreter and changes only ~/.stackctl/STACK there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from stackctl.core.deploy.bundle import NEEDS, bundle
from stackctl.core.deploy.facts import HostFacts, parse_facts
from stackctl.core.stack.resolved import HostSpec, ResolvedStack
from stackctl.errors import StackctlError
from stackctl.ports import Completed, Host, Ports

OS_ERROR = re.compile(r"\w*Error: \[Errno \d+\] (.+)")  # the last line of a program that could not write or read
NO_SUCH_PROGRAM = (126, 127)  # what a shell says


@dataclass(frozen=True)
class Site:
    ports: Ports
    host: Host
    stack: ResolvedStack
    python: str

    @property
    def name(self) -> str:
        return self.host.spec.name

    @property
    def root(self) -> str:
        return f"~/.stackctl/{self.stack.name}"

    def program(self, name: str) -> str:
        """The text of a program for a host, with all that it needs."""
        names = (name, *NEEDS[name])
        return bundle(name, {one: self.ports.templates.onhost(f"{one}.py") for one in names})

    def ask(self, name: str, request: Mapping[str, Any], input: bytes = b"", timeout: float = 60.0) -> dict[str, Any]:
        """Run a program there; its answer. `prepare` reads its request from stdin, since files are in it."""
        words = {"root": self.root, **request}
        by_stdin = name == "prepare"
        text = json.dumps(words)
        # `prepare` looks at the packages that are installed; the others start quicker without them
        flags = ("-B",) if by_stdin else ("-B", "-I", "-S")
        argv = (self.python, *flags, "-c", self.program(name), *(() if by_stdin else (text,)))
        done = self.host.run(argv, input=text.encode() if by_stdin else input, timeout=timeout)
        return self._answer(done)

    def _answer(self, done: Completed) -> dict[str, Any]:
        if done.code in NO_SUCH_PROGRAM:
            raise StackctlError(
                f"{self.name}: there is no interpreter {self.python}", f"Name one that is: hosts.{self.name}.python."
            )
        try:
            answer = json.loads(done.stdout)
        except ValueError:
            words = done.stderr.decode("utf-8", "replace").strip().splitlines() or [f"exit {done.code}"]
            if refused := OS_ERROR.fullmatch(words[-1]):
                hint = f"Releases and all that they need are kept in {self.root} there."
                raise StackctlError(f"{self.name}: {refused[1]}", hint) from None
            raise StackctlError(f"{self.name}: {self.python} failed there: {words[-1]}") from None
        if not isinstance(answer, dict):
            raise StackctlError(f"{self.name}: {self.python} said {str(answer)[:40]!r} there, which is no answer")
        if answer.get("platform", "linux") != "linux":
            raise StackctlError(
                f"{self.name} runs {answer['platform']}: stackctl deploys to Linux hosts only",
                "Name a Linux machine as its address; check, render and test work anywhere.",
            )
        return dict(answer)

    def look(self, *, release: str = "", attempt: str = "", health: float = 0.0) -> HostFacts:
        """What is there. `release`: one whose record is wanted too; `health`: seconds for each /health, 0 for none."""
        said = self.ask("look", {"release": release, "attempt": attempt, "health": health}, timeout=60.0 + health)
        try:
            return parse_facts(said)
        except (KeyError, TypeError) as error:
            raise StackctlError(
                f"{self.name}: {self.root} was written by another version of stackctl ({error})",
                f"Stop it with that version, then remove {self.root} there.",
            ) from error


@contextmanager
def site_of(ports: Ports, stack: ResolvedStack) -> Iterator[Site]:
    """The one host of a stack, connected when first asked; closed at the end."""
    spec = _only_host(stack)
    with site_on(ports, stack, spec, _python(ports, stack, spec)) as site:
        yield site


@contextmanager
def site_on(ports: Ports, stack: ResolvedStack, spec: HostSpec, python: str) -> Iterator[Site]:
    """Any one host of a stack, as `site_of`. `python`: runs our programs there."""
    host = ports.hosts.open(spec)
    try:
        yield Site(ports, host, stack, python)
    finally:
        host.close()


def _only_host(stack: ResolvedStack) -> HostSpec:
    names = sorted({instance.host for instance in stack.instances})
    if len(names) != 1:
        raise StackctlError(
            f"{stack.name} has instances on several hosts ({', '.join(names)}): not in this version",
            "Place all roles on one host, or `stackctl render` and start them by hand.",
        )
    return stack.hosts[names[0]]


def _python(ports: Ports, stack: ResolvedStack, spec: HostSpec) -> str:
    """What runs our own programs there; engines may run by another one, that stackctl makes."""
    if spec.python is not None:
        return spec.python
    if spec.is_local:
        return ports.who.python()
    if stack.python is not None and stack.python.requirements is not None:
        return "python3"
    raise StackctlError(
        f"{spec.name} names no interpreter", f"Say which one is there: hosts.{spec.name}.python: /path/to/python."
    )
