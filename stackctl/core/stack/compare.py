"""What two stacks say differently besides their patches, one line a fact: base, flags, environment, and the rest.

A flag or variable that changes alike in several roles is one line. Values are shown as the stack has them; secrets
are names there, never values.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, fields, is_dataclass

from stackctl.core.modeldir import manifest
from stackctl.core.stack.resolved import GitBase, Instance, PathBase, PypiBase, ResolvedStack

DETAILED = ("model", "serve", "gate", "timeouts", "bisect")  # values whose keys are told one by one
WHOLE = ("router_package", "keep_releases", "secrets", "hosts", "tests", "python", "image", "sources")
LONGEST = 80


def facts(old: ResolvedStack, new: ResolvedStack) -> tuple[str, ...]:
    """`flag tp-size (prefill, decode): 4 -> 8`, one for each difference."""
    return tuple(dict.fromkeys([*_base(old, new), *_instances(old, new), *_settings("flag", old, new),
                                *_settings("env", old, new), *_rest(old, new)]))  # fmt: skip


def pin(stack: ResolvedStack) -> str:
    """A base in a few words, with the digits that pin it; a folder of the workspace counts from there."""
    match stack.base:
        case PypiBase(requirement, sha256):
            return f"{requirement} (sha256 {sha256[:12]})"
        case GitBase(url, ref, commit):
            return f"{url} at {ref} ({commit[:12]})"
        case PathBase(path, commit):
            near = path.removeprefix(f"{stack.workspace}/")
            return f"{near} at {commit[:12]}" if commit else near


def _base(old: ResolvedStack, new: ResolvedStack) -> Iterator[str]:
    if pin(old) != pin(new):
        yield f"base: {pin(old)} -> {pin(new)}"


def _instances(old: ResolvedStack, new: ResolvedStack) -> Iterator[str]:
    before, after = ({one.id: one for one in stack.instances} for stack in (old, new))
    for name in dict.fromkeys([*before, *after]):
        if name not in after:
            yield f"instance {name}: taken out"
        elif name not in before:
            yield f"instance {name}: added, on {after[name].host}:{after[name].port}"
        elif _place(before[name]) != _place(after[name]):
            yield f"instance {name}: {_place(before[name])} -> {_place(after[name])}"


def _place(one: Instance) -> str:
    return f"{one.host}:{one.port}" + (f" cards {','.join(map(str, one.gpus))}" if one.gpus else "")


def _settings(word: str, old: ResolvedStack, new: ResolvedStack) -> Iterator[str]:
    """Differences of flags or environment in instances that both have, told once for the roles that share them."""
    found: dict[str, list[str]] = {}
    after = {one.id: one for one in new.instances}
    shared = [(one, after[one.id]) for one in old.instances if one.id in after]
    for before, now in shared:
        had, has = (one.flags if word == "flag" else one.env for one in (before, now))
        for name in dict.fromkeys([*had, *has]):
            if had.get(name) != has.get(name):
                found.setdefault(f"{name}\0{_value(had, name)} -> {_value(has, name)}", []).append(before.role)
    for key, roles in found.items():
        name, _, words = key.partition("\0")
        engines = {one.role for one, _ in shared if one.role != "router"}
        everywhere = engines == set(roles)
        where = "" if everywhere else f" ({', '.join(dict.fromkeys(roles))})"
        yield f"{word} {name}{where}: {words}"


def _value(values: Mapping[str, object], name: str) -> str:
    return _short(values[name]) if name in values else "not set"


def _rest(old: ResolvedStack, new: ResolvedStack) -> Iterator[str]:
    for key in DETAILED:
        before, after = getattr(old, key), getattr(new, key)
        for field in fields(before):
            had, has = getattr(before, field.name), getattr(after, field.name)
            if field.name == "pins" and had and has:
                yield from (f"model: {line}" for line in manifest.differences(manifest.parse(had), manifest.parse(has)))
            elif _near(had, old) != _near(has, new):
                yield f"{key}.{field.name}: {_short(_near(had, old))} -> {_short(_near(has, new))}"
    for key in WHOLE:
        before, after = getattr(old, key), getattr(new, key)
        if isinstance(before, Mapping) and isinstance(after, Mapping):
            yield from _entries(key, before, after, (old, new))
        elif _near(before, old) != _near(after, new):
            yield f"{key}: {_short(_near(before, old))} -> {_short(_near(after, new))}"


def _entries(
    key: str, before: Mapping[str, object], after: Mapping[str, object], of: tuple[ResolvedStack, ResolvedStack]
) -> Iterator[str]:
    for name in dict.fromkeys([*before, *after]):
        if name not in after:
            yield f"{key}.{name}: taken out"
        elif name not in before:
            yield f"{key}.{name}: added"
        elif _near(before[name], of[0]) != _near(after[name], of[1]):
            yield f"{key}.{name}: changed"


def _near(value: object, stack: ResolvedStack) -> object:
    """Paths of the workspace count from there, wherever it stands."""
    if isinstance(value, str):
        return value.removeprefix(f"{stack.workspace}/")
    if value is None or isinstance(value, (bytes, bool, int, float)):
        return value
    return _json(value).replace(f"{stack.workspace}/", "")


def _json(value: object) -> str:
    return json.dumps(value, default=_plain, ensure_ascii=False)


def _plain(value: object) -> object:
    """A part of a stack with what is set in it; anything else by its name."""
    if is_dataclass(value) and not isinstance(value, type):
        return {name.rstrip("_"): one for name, one in asdict(value).items() if one not in (None, (), {})}
    return str(value)


def _short(value: object) -> str:
    if isinstance(value, bytes):
        return f"{len(value)} bytes"
    if isinstance(value, str) and "\n" in value:
        return f"{len(value.splitlines())} lines"
    if isinstance(value, float):
        return f"{value:g} s"  # every one in a stack is a time
    if value is None:
        return "not set"
    text = value if isinstance(value, str) else _json(value)
    text = " ".join(text.split()) if text else '""'
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def pin_of_lock(locked: Mapping[str, object]) -> str:
    """The same words for the base that a lock file holds."""
    said = {key: str(value) for key, value in locked.items()}
    if "pypi" in said:
        return f"{said['pypi']} (sha256 {said.get('sha256', '')[:12]})"
    if "git" in said:
        return f"{said['git']} at {said.get('ref')} ({said.get('commit', '')[:12]})"
    near = said.get("path", "not said")
    return f"{near} at {said['commit'][:12]}" if said.get("commit") else near
