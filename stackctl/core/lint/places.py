"""From the words of a finding to the line of the stack file where the value was written, also through `extends`.

What several processes got from one line is one finding. A value that nobody wrote has the line where it would be
written: under `serve` when all engines lack it, else in the role.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from stackctl.core.lint.run import SAME, Fired
from stackctl.core.lint.setup import Setup
from stackctl.core.lint.values import Finding, Place
from stackctl.core.stack.merge import Merged, dotted
from stackctl.core.stack.resolved import Instance, ResolvedStack
from stackctl.core.stack.source import Path
from stackctl.errors import Where

MADE: dict[str, Path] = {
    flag: tuple(key.split(".")) for key, flag in SAME.items()
}  # flags that stackctl makes of a key
OF_INSTANCE = {  # … and of a key of the instance
    "port": ("port",),
    "disaggregation-bootstrap-port": ("bootstrap_port",),
    "base-gpu-id": ("gpus",),
    "CUDA_VISIBLE_DEVICES": ("gpus",),
}


@dataclass(frozen=True)
class Spot:
    """A place in a file: `key` says it in the words of the stack; `lines` are those a comment may stand on."""

    where: Where | None
    key: str
    lines: frozenset[tuple[str, int]] = frozenset()


@dataclass(frozen=True)
class Located:
    """A finding and the lines that it is about."""

    finding: Finding
    lines: frozenset[tuple[str, int]]


def located(setup: Setup, fired: Sequence[Fired]) -> list[Located]:
    """Findings of a stack, in the order of its file; those without a line come last."""
    places = _Places(setup)
    groups: dict[tuple[object, ...], tuple[Fired, Spot, list[str]]] = {}
    for one in fired:
        hit = one.hit
        spot = places.spot(hit.place, everywhere=_everywhere(setup, one, fired))
        same = (one.rule.id, one.severity, hit.message, hit.hint, spot.where, spot.key)
        _, _, instances = groups.setdefault(same, (one, spot, []))
        if hit.place.instance and hit.place.instance not in instances:
            instances.append(hit.place.instance)
    found = [Located(finding_of(one, spot, who), spot.lines) for one, spot, who in groups.values()]
    return sorted(found, key=lambda each: order(each.finding))


def finding_of(fired: Fired, spot: Spot, instances: Iterable[str]) -> Finding:
    hit, rule = fired.hit, fired.rule
    return Finding(
        rule.id, fired.severity, hit.message, hit.hint, spot.where, spot.key, tuple(instances), rule.evidence
    )


def order(finding: Finding) -> tuple[bool, str, int, int]:
    """By file, line and column; what has no place comes last."""
    where = finding.where or Where("")
    return finding.where is None, where.file, where.line or 0, where.column or 0


def _everywhere(setup: Setup, one: Fired, fired: Iterable[Fired]) -> bool:
    """Whether every engine has this very finding."""

    def words(each: Fired) -> tuple[str, str, str]:
        return each.rule.id, each.hit.message, each.hit.place.name

    whom = {each.hit.place.instance for each in fired if words(each) == words(one)}
    return {engine.id for engine in setup.engines} <= whom


class _Places:
    def __init__(self, setup: Setup) -> None:
        assert setup.stack is not None and setup.stack.merged is not None, "only a stack has lines"
        self._stack: ResolvedStack = setup.stack
        self._merged: Merged = setup.stack.merged
        self._instances = {one.id: one for one in setup.stack.instances}

    def spot(self, place: Place, *, everywhere: bool = False) -> Spot:
        path = self._path(place, everywhere)
        return Spot(self._merged.where(path), dotted(path), lines_of(self._merged, path))

    def _path(self, place: Place, everywhere: bool) -> Path:
        instance = self._instances.get(place.instance or "")
        if place.kind == "key":
            name = tuple(int(step) if step.isdigit() else step for step in place.name.split("."))
            return (*self._role(instance), *name) if instance else name
        if instance is None:
            return ("serve", f"{place.kind}s" if place.kind == "flag" else "env", place.name)
        if place.kind == "env":
            return self._variable(instance, place.name)
        return self._flag(instance, place.name, everywhere)

    def _flag(self, instance: Instance, name: str, everywhere: bool) -> Path:
        own: Path = (*self._role(instance), "flags", name)
        if own in self._merged.marks:
            return own
        if ("serve", "flags", name) in self._merged.marks and instance.role != "router":
            return ("serve", "flags", name)
        if name in MADE and instance.role != "router":
            return MADE[name]
        if name in OF_INSTANCE:
            return (*self._role(instance), *OF_INSTANCE[name])
        if name == "host":
            return ("hosts", instance.host, "address")
        return ("serve", "flags", name) if everywhere and instance.role != "router" else own

    def _variable(self, instance: Instance, name: str) -> Path:
        own: Path = (*self._role(instance), "env", name)
        shared: list[Path] = [] if instance.role == "router" else [("serve", "env", name)]
        machine: Path = ("hosts", instance.host, "env", name)
        for path in (own, *shared, machine):
            if path in self._merged.marks:
                return path
        return (*self._role(instance), *OF_INSTANCE[name]) if name in OF_INSTANCE else own

    def _role(self, instance: Instance | None) -> Path:
        if instance is None:
            return ()
        roles = self._merged.value.get("roles")
        written = roles.get(instance.role) if isinstance(roles, dict) else None
        return ("roles", instance.role, instance.index) if isinstance(written, list) else ("roles", instance.role)


def lines_of(merged: Merged, path: Path) -> frozenset[tuple[str, int]]:
    """Of the key and of where its value begins; of the nearest parent that is written."""
    while path and path not in merged.marks:
        path = path[:-1]
    mark = merged.marks.get(path)
    return frozenset() if mark is None else frozenset((at.file, at.line or 0) for at in (mark.key, mark.value))
