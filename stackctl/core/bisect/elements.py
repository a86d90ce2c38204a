"""From a stack and its queue to the members of a bisect: what may be left out, what needs what, and how risky it is.

What stackctl itself makes is no element. A patch that touches only documentation or tests cannot break a server and
is not tried; it is told as not tested. How risky the others are is judged in core/review/risk.py, as the inventory
shows it. Everything that a session depends on gets a digest here, because going on with a session about another thing
would measure the wrong cell.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, is_dataclass
from pathlib import PurePath

from stackctl.core.bisect.space import Member
from stackctl.core.names import PatchName
from stackctl.core.patches.values import Patch, Queue
from stackctl.core.review.areas import harmless
from stackctl.core.review.risk import assess, grouped
from stackctl.core.stack.resolved import Instance, ResolvedStack
from stackctl.errors import StackctlError


@dataclass(frozen=True)
class Picked:
    """`untested`: what is no member, each with the reason."""

    members: tuple[Member, ...]
    needs: Mapping[str, tuple[str, ...]]
    untested: tuple[str, ...]


def pick(stack: ResolvedStack, queue: Queue) -> Picked:
    """The members that `bisect.elements` and `bisect.flip` select. Raises when there is none, or a name is unknown."""
    needs = _all_needs(queue)
    gone = {PatchName(element.name) for element in stack.variant.without if element.kind == "patch"}
    gone |= {name for name, others in needs.items() if gone & others}
    patches = [patch for patch in queue.patches if patch.name not in gone]
    chosen, untested = _patches(
        stack, patches, {name for added in stack.variant.added for name in needs.get(added, ())}
    )
    names = {patch.name for patch in chosen}
    without = {str(element) for element in stack.variant.without}
    flags = [name for name in _flags(stack) if f"flag:{name}" not in without]
    env = [name for name in _env(stack) if f"env:{name}" not in without]
    members = [_patch_member(stack, patch, _carried(patch.name, names, patches, needs)) for patch in chosen]
    members += [Member(f"flag:{name}") for name in flags]
    members += [Member(f"env:{name}") for name in env]
    if not members:
        raise StackctlError("nothing to leave out", hint="see `bisect.elements` in the stack file")
    wanted = {f"patch:{n}": tuple(f"patch:{m}" for m in sorted(needs.get(n, set()) & names)) for n in sorted(names)}
    wanted |= {f"flag:{name}": _brought_by(name, chosen) for name in flags}
    return Picked(
        tuple(members), {name: others for name, others in wanted.items() if others}, (*untested, *_others(stack))
    )


def _all_needs(queue: Queue) -> dict[PatchName, set[PatchName]]:
    """For each patch all that it needs, directly or not."""
    direct: dict[PatchName, set[PatchName]] = {}
    for need in queue.needs:
        direct.setdefault(need.patch, set()).add(need.needs)
    closed = {}
    for name in direct:
        seen: set[PatchName] = set()
        todo = set(direct[name])
        while todo:
            other = todo.pop()
            if other not in seen:
                seen.add(other)
                todo |= direct.get(other, set())
        closed[name] = seen
    return closed


def _patches(stack: ResolvedStack, patches: list[Patch], held: set[PatchName]) -> tuple[list[Patch], list[str]]:
    """Those to be tried, and the others with the reason. `held`: needed by a patch of --with."""
    wanted = stack.bisect.patches
    known = [patch.name for patch in patches]
    if isinstance(wanted, tuple):
        _refuse_unknown("patches", wanted, known)
    listed = set(known) if wanted is True else set() if wanted is False else set(wanted)
    chosen, untested = [], []
    for patch in patches:
        if patch.name in stack.variant.added:
            untested.append(f"patch:{patch.name} (given by --with, always in)")
        elif patch.name in held:
            untested.append(f"patch:{patch.name} (a patch given by --with needs it)")
        elif patch.name not in listed:
            untested.append(f"patch:{patch.name} (not selected by bisect.elements)")
        elif harmless(patch):
            untested.append(f"patch:{patch.name} (touches only documentation or tests)")
        else:
            chosen.append(patch)
    return chosen, untested


def _carried(
    name: PatchName, members: set[PatchName], patches: list[Patch], needs: Mapping[PatchName, set[PatchName]]
) -> tuple[str, ...]:
    return tuple(f"patch:{p.name}" for p in patches if p.name not in members and name in needs.get(p.name, set()))


def _patch_member(stack: ResolvedStack, patch: Patch, carries: tuple[str, ...]) -> Member:
    risk = assess(patch)
    file = stack.patch_files.get(patch.name, patch.file)
    path = PurePath(file)
    shown = str(path.relative_to(stack.workspace)) if path.is_relative_to(stack.workspace) else file
    return Member(f"patch:{patch.name}", risk.weight, shown, carries, grouped(risk.reasons))


def _flags(stack: ResolvedStack) -> list[str]:
    """Names as elements spell them (`ROLE/NAME` for one role), in the order of the stack, then the flips."""
    set_here = list(dict.fromkeys(name for engine in stack.engines for name in engine.flags))
    by_role = [f"{i.role}/{name}" for i in stack.instances for name in i.flags]
    found = _listed("flags", stack.bisect.flags, set_here, by_role)
    return found + [name for name in stack.bisect.flip if name not in found]


def _env(stack: ResolvedStack) -> list[str]:
    set_here = list(dict.fromkeys(name for engine in stack.engines for name in engine.env))
    by_role = [f"{i.role}/{name}" for i in stack.instances for name in i.env]
    return _listed("env", stack.bisect.env, set_here, by_role)


def _listed(key: str, wanted: bool | tuple[str, ...], known: list[str], by_role: list[str]) -> list[str]:
    if isinstance(wanted, bool):
        return known if wanted else []
    _refuse_unknown(key, wanted, known + by_role)
    return list(dict.fromkeys(wanted))


def _refuse_unknown(key: str, wanted: Iterable[str], known: Sequence[str]) -> None:
    strange = [name for name in wanted if name not in known]
    if strange:
        near = difflib.get_close_matches(strange[0], known, n=1)
        raise StackctlError(
            f"bisect.elements.{key}: the stack has no {', '.join(strange)}",
            hint=f"did you mean `{near[0]}`?" if near else f"it has {', '.join(known) or 'none'}",
        )


def _brought_by(flag: str, patches: list[Patch]) -> tuple[str, ...]:
    """Patches that add this option to the server: without them it does not start with the flag."""
    option = re.compile(rb"[\"']--" + re.escape(flag.rpartition("/")[2]).encode() + rb"[\"']")
    return tuple(f"patch:{patch.name}" for patch in patches if _adds(patch, option))


def _adds(patch: Patch, what: re.Pattern[bytes]) -> bool:
    lines = [line for file in patch.files for hunk in file.hunks for line in hunk.lines if what.search(line)]
    return bool(lines) and all(line.startswith(b"+") for line in lines)


def _others(stack: ResolvedStack) -> tuple[str, ...]:
    router = stack.router.flags if stack.router and stack.bisect.flags is True else {}
    return tuple(f"flag:router/{name} (the router's flags are tried only when listed)" for name in router)


def facts_of(stack: ResolvedStack, queue: Queue, test: str) -> dict[str, str]:
    """What must not change under a session: name -> digest."""
    facts: dict[str, object] = {
        "base": (stack.base, queue.base),
        "order of the patches": [patch.name for patch in queue.patches],
        "model": stack.model,
        "serve": stack.serve,
        "router": (stack.router_package, stack.router),
        "test": stack.tests[test],
        "elements of the bisect": stack.bisect,
        "variant": stack.variant,
    }
    facts |= {f"patch {patch.name}": patch.sha256 for patch in queue.patches}
    facts |= {f"instance {engine.id}": _without_place(engine) for engine in stack.engines}
    facts |= {f"host {name}": (host.address, host.runtime, host.python) for name, host in stack.hosts.items()}
    return {name: _digest(value) for name, value in facts.items()}


def _without_place(engine: Instance) -> object:
    return (engine.role, engine.host, engine.gpus, engine.flags, engine.env)


def _digest(value: object) -> str:
    def plain(item: object) -> object:
        if is_dataclass(item) and not isinstance(item, type):
            return asdict(item)
        if isinstance(item, Mapping):
            return dict(item)
        return str(item)

    return hashlib.sha256(json.dumps(value, default=plain, sort_keys=True).encode()).hexdigest()[:16]
