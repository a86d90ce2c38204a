"""`stackctl lock --model`: reads what the model's folder holds on a host, and writes the manifest that the stack names.

A folder that is not sound is not locked, and hosts that hold different models are told apart instead of averaged.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from stackctl.commands.gather import load
from stackctl.commands.hosts.folder import differences, inspect
from stackctl.commands.hosts.looking import looking_python
from stackctl.commands.hosts.model import engine_hosts, whole_files
from stackctl.commands.lock import After, Compose, LockResult, ModelLock, lock, refuse_variant
from stackctl.commands.selection import Selection
from stackctl.commands.site import site_on
from stackctl.commands.tree import compose, tree_after_each
from stackctl.commands.workspace import shown
from stackctl.core.modeldir import manifest as pins
from stackctl.core.modeldir.findings import findings
from stackctl.core.modeldir.manifest import Manifest
from stackctl.core.stack.resolved import ResolvedStack
from stackctl.errors import StackctlError, UsageError
from stackctl.ports import Ports


@dataclass(frozen=True)
class LockModelRequest:
    """`hosts`: to read from, none for all that run engines; all must hold the same. `full`: hash whole shards too."""

    selection: Selection
    hosts: tuple[str, ...] = ()
    full: bool = False


@dataclass(frozen=True)
class Locking:
    """What composing is made of; tests bring their own."""

    compose: Compose = compose
    after: After = tree_after_each


def lock_model(ports: Ports, request: LockModelRequest, how: Locking = Locking()) -> LockResult:
    """Writes the manifest, then the lock. Raises StackctlError, with nothing written, when hosts disagree."""
    refuse_variant(request.selection, "lock")
    stack = load(ports, request.selection)
    if stack.model.manifest is None:
        raise UsageError(
            f"stack {stack.name} names no manifest of its model", f"below `model`: manifest: {stack.name}.model.json"
        )
    names = engine_hosts(stack, request.hosts)
    made = _read(ports, stack, names[0], full=request.full)
    for name in names[1:]:
        _same(ports, stack, (names[0], name), made)
    written = _written(ports, stack, made, names)
    return replace(lock(ports, request.selection, how.compose, how.after), model=written)


def _read(ports: Ports, stack: ResolvedStack, name: str, *, full: bool) -> Manifest:
    spec = stack.hosts[name]
    with site_on(ports, stack, spec, looking_python(ports, spec)) as site:
        with ports.progress.step(f"{name}: read {stack.model.path}"):
            found = inspect(site)
        wrong = [one.message for one in findings(found) if one.severity == "error"]
        if wrong:
            lines = "".join(f"\n  {line}" for line in wrong)
            raise StackctlError(
                f"{name}: the model is not whole, so it is not locked:{lines}", "stackctl model says more"
            )
        said = whole_files(site, found) if full else {}
    faults = [f"{file}: {one['fault']}" for file, one in said.items() if "fault" in one]
    if faults:
        raise StackctlError(f"{name}: {'; '.join(faults)}", "Is somebody writing there?")
    revision = stack.model.revision or (found.revisions[0] if len(found.revisions) == 1 else None)
    whole = {file: str(one["sha256"]) for file, one in said.items()}
    published = {one.name: one.published for one in found.shards if one.published}
    origin = (stack.model.repo or found.repository, revision)
    old = _old(stack)
    known = pins.remembered(old, pins.manifest_of(found, *origin)) if old else {}
    return pins.manifest_of(found, *origin, known | published | whole)


def _same(ports: Ports, stack: ResolvedStack, names: tuple[str, str], made: Manifest) -> None:
    first, name = names
    spec = stack.hosts[name]
    with site_on(ports, stack, spec, looking_python(ports, spec)) as site:
        differ = differences(site, stack.model.path, made)
    if differ:
        lines = "".join(f"\n  {line}" for line in differ)
        hint = f"Make them equal; or lock what one of them has: -H {first}"
        raise StackctlError(f"{name} holds another model than {first}:{lines}", hint)


def _written(ports: Ports, stack: ResolvedStack, made: Manifest, names: tuple[str, ...]) -> ModelLock:
    path = str(stack.model.manifest)
    old = _old(stack)
    data = pins.text(made).encode()
    changed = data != stack.model.pins
    if changed:
        ports.files.write(path, data)
    told = tuple(pins.differences(old, made)) if old is not None else ()
    return ModelLock(shown(ports, path), changed, names, len(made.files), len(made.shards), told)


def _old(stack: ResolvedStack) -> Manifest | None:
    return None if stack.model.pins is None else pins.parse(stack.model.pins)
