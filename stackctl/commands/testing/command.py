"""Kind `command`: any executable is the judge: exit 0 clean, 1 bad, 125 inconclusive, and nothing else a verdict."""

from __future__ import annotations

import shlex
from dataclasses import replace

from stackctl.commands.testing.evidence import Evidence
from stackctl.commands.testing.target import Target
from stackctl.core.verify.report import TestReport, Verdict
from stackctl.errors import InvalidFile, Problem, StackctlError
from stackctl.ports import Completed, Ports

_VERDICTS: dict[int, tuple[Verdict, str]] = {
    0: ("clean", "the command says clean (exit 0)"),
    1: ("bad", "the command says bad (exit 1)"),
    125: ("inconclusive", "the command says inconclusive (exit 125)"),
}


def run(ports: Ports, target: Target, _quick: bool) -> TestReport:
    """Run it in the workspace with STACKCTL_URL, STACKCTL_MODEL and STACKCTL_RELEASE in its environment."""
    spec, began = target.spec, ports.clock.monotonic()
    argv = _argv(ports, target)
    evidence = Evidence(ports, target)
    try:
        with ports.progress.step(f"{spec.name}: {spec.run}"):
            done = ports.process.run(argv, cwd=target.workspace, timeout=spec.timeout)
    except StackctlError as error:
        report = target.report("inconclusive", f"the command did not end: {error.message}", error.hint)
    else:
        evidence.write("stdout", done.stdout)
        evidence.write("stderr", done.stderr)
        report = _judge(target, done)
    return evidence.finish(replace(report, seconds=ports.clock.monotonic() - began), {})


def _argv(ports: Ports, target: Target) -> list[str]:
    """`env` sets the variables, so that the rest of the environment is the user's own."""
    words = shlex.split(target.spec.run or "")
    if not words:
        raise InvalidFile([Problem("is missing", key=f"tests.{target.spec.name}.run")], "name an executable")
    if "/" not in words[0] and ports.files.exists(f"{target.workspace}/{words[0]}"):
        words[0] = f"./{words[0]}"
    return [
        "env",
        f"STACKCTL_URL={target.url}",
        f"STACKCTL_MODEL={target.model or ''}",
        f"STACKCTL_RELEASE={target.release or ''}",
        *words,
    ]


def _judge(target: Target, done: Completed) -> TestReport:
    if done.code in _VERDICTS:
        verdict, reason = _VERDICTS[done.code]
    else:
        end = f"was killed by signal {-done.code}" if done.code < 0 else f"ended with exit {done.code}"
        verdict, reason = "inconclusive", f"the command {end}, which is no verdict"
    last = (done.stderr or done.stdout).decode("utf-8", "replace").strip().splitlines()[-1:]
    report = target.report(verdict, ": ".join([reason, *last]))
    return replace(report, exit_code=done.code, signature="command" if verdict == "bad" else None)
