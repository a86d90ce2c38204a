"""The interpreter of `hosts.H.python`: is it there, and has it what the stack pins?"""

from __future__ import annotations

from collections.abc import Iterator

from stackctl.core.doctor.values import Evidence, Finding, Look
from stackctl.core.doctor.wanted import Wanted


def interpreter(look: Look, wanted: Wanted) -> Iterator[Finding]:
    python = look.facts.python
    if python.fault and wanted.spec.runtime == "process":
        yield Finding(
            "PYTHON-MISSING",
            "error",
            f"{python.path} cannot be asked: {python.fault}",
            (Evidence(f"{python.path} -V", python.fault),),
            f"Correct hosts.{wanted.spec.name}.python, or make that environment.",
            section="python",
        )


def packages(look: Look, wanted: Wanted) -> Iterator[Finding]:
    python, name = look.facts.python, wanted.spec.name
    if python.fault or not python.version or wanted.spec.runtime != "process":
        return
    for package, version in (wanted.pins or {}).items():
        there = python.packages.get(package)
        if there != version:
            yield Finding(
                "PACKAGE-VERSION" if there else "PACKAGE-MISSING",
                "error",
                f"{python.path} has {package} {there}, the stack pins {version}"
                if there
                else f"{python.path} has no {package}, and the stack pins {version}",
                (_shown(python.path, package, there),),
                f"{python.path} -m pip install {package}=={version}",
                section="python",
            )
    if not wanted.sglang or all(one.role == "router" for one in wanted.instances):
        return
    there = python.packages.get("sglang")
    if there is None and "torch" not in python.packages:
        yield Finding(
            "ENGINE-MISSING",
            "error",
            f"{python.path} has neither sglang nor torch: the engine's own dependencies are not there",
            (_shown(python.path, "sglang", None), _shown(python.path, "torch", None)),
            f"Install sglang there, or name the right interpreter: hosts.{name}.python.",
            section="python",
        )
    elif there is not None and wanted.base is not None and there != wanted.base:
        yield Finding(
            "SGLANG-VERSION",
            "warning",
            f"{python.path} has sglang {there}, and the stack's base is {wanted.base}: the patched tree runs with the "
            "kernels and dependencies of another release",
            (_shown(python.path, "sglang", there),),
            f"{python.path} -m pip install sglang=={wanted.base}",
            section="python",
        )


def _shown(python: str, package: str, version: str | None) -> Evidence:
    said = f"Version: {version}" if version else f"Package(s) not found: {package}"
    return Evidence(f"{python} -m pip show {package}", said)


CHECKS = (interpreter, packages)
