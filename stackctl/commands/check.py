"""`stackctl check`: everything that can be known without a host. It loads, composes and renders, and writes nothing.

Mistakes raise; what it returns is a stack that could be deployed, with what should be looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from stackctl.commands.base import requires
from stackctl.commands.environment import environment_spec
from stackctl.commands.gather import load
from stackctl.commands.lock import After, Compose, compare, refuse_variant
from stackctl.commands.release import release_of
from stackctl.commands.selection import Selection
from stackctl.commands.tree import compose, queue_of, tree_after_each
from stackctl.commands.workspace import shown
from stackctl.core.base.requires import asked_for
from stackctl.core.environment.lockfile import FREE
from stackctl.core.names import SGLANG, PatchName, ReleaseId, TreeId
from stackctl.core.patches.lint import lint
from stackctl.core.patches.values import Need, Offset, Patch, PatchedTree, Queue
from stackctl.core.stack.resolved import Base, GitBase, PathBase, PypiBase, ResolvedStack
from stackctl.core.stack.variant import fallen
from stackctl.errors import InvalidFile, Problem, Where
from stackctl.ports import Ports


@dataclass(frozen=True)
class CheckRequest:
    """`locked`: fail when the lock file says something else. `strict`: warnings are mistakes."""

    selection: Selection
    locked: bool = False
    strict: bool = False


@dataclass(frozen=True)
class PatchLine:
    """`carries`: the patches that fall when this one is left out."""

    name: PatchName
    title: str
    files: int
    added: int
    removed: int
    needs: tuple[PatchName, ...] = ()
    carries: tuple[PatchName, ...] = ()
    source: str = SGLANG


@dataclass(frozen=True)
class CheckResult:
    stack: str
    file: str
    variant: str
    base: str
    base_tree: TreeId
    tree: TreeId
    release: ReleaseId
    patches: tuple[PatchLine, ...]
    offsets: tuple[Offset, ...] = ()
    warnings: tuple[Problem, ...] = ()
    unsupported: Mapping[str, str] = field(default_factory=dict)  # key path -> verbs that refuse it so far
    instances: tuple[str, ...] = ()  # "prefill-0 on gpu1:30000, cards 0,1,2,3"
    locked: bool = False
    sources: Mapping[str, SourceLine] = field(default_factory=dict)


@dataclass(frozen=True)
class SourceLine:
    """Another source: its pin, and its tree before and after its patches."""

    base: str
    base_tree: TreeId
    tree: TreeId


@dataclass(frozen=True)
class Parts:
    """What composing is made of; tests bring their own."""

    compose: Compose = compose
    queue: Callable[[Ports, ResolvedStack], Queue] = queue_of
    after: After = tree_after_each


def check(ports: Ports, request: CheckRequest, parts: Parts = Parts()) -> CheckResult:
    """Raises InvalidFile, PatchConflict or StackctlError for what is wrong."""
    if request.locked:
        refuse_variant(request.selection, "check --locked")
    stack, tree = parts.compose(ports, load(ports, request.selection))
    made = release_of(ports, stack, tree)
    if request.locked:
        compare(ports, stack, tree, parts.after)
    needs = parts.queue(ports, stack).needs
    warnings = (
        *stack.warnings,
        *torch_warnings(ports, stack, tree.base),
        *_idle_sources(stack, tree),
        *header_warnings(ports, stack, tree.patches),
    )
    if request.strict and warnings:
        raise InvalidFile(warnings, "without --strict these are warnings")
    return CheckResult(
        stack=stack.name,
        file=stack.file,
        variant=str(stack.variant),
        base=base_text(stack.base),
        base_tree=tree.base,
        tree=tree.tree,
        release=made.id,
        patches=tuple(_line(patch, tree.patches, needs) for patch in tree.patches),
        offsets=tree.offsets,
        warnings=warnings,
        unsupported=stack.unsupported,
        instances=tuple(_instances(stack)),
        locked=request.locked,
        sources={
            name: SourceLine(base_text(stack.sources[name]), each.base, each.tree)
            for name, each in tree.sources.items()
        },
    )


def header_warnings(ports: Ports, stack: ResolvedStack, patches: Sequence[Patch]) -> tuple[Problem, ...]:
    """What the headers of these patches lack, each with its place."""
    files = ports.files.walk(f"{stack.workspace}/patches") if patches else ()
    known = {PatchName(file.removesuffix(".patch")) for file in files if file.endswith(".patch")}
    return tuple(problem for patch in patches for problem in lint(patch, known))


def _idle_sources(stack: ResolvedStack, tree: PatchedTree) -> Iterator[Problem]:
    used = {patch.source for patch in tree.patches}
    for name in stack.sources:
        if name not in used:
            hint = f"`Source: {name}` in a patch says so; without one, take the source out."
            yield Problem("SOURCE-UNUSED: no patch is for it", Where(stack.file), f"sources.{name}", hint)


def torch_warnings(ports: Ports, stack: ResolvedStack, tree: TreeId) -> tuple[Problem, ...]:
    """torch is the one package whose build the machine chooses: told where the lock has another than the base wants."""
    spec = environment_spec(ports, stack)
    pinned = spec.version_of(FREE) if spec else None
    wanted = asked_for(requires(ports, stack.base, tree), FREE) if pinned else None
    if pinned is None or wanted is None or wanted.contains(pinned, prereleases=True):
        return ()
    message = f"TORCH-DIFFERS: the lock has torch {pinned}, the base asks for torch{wanted}"
    hint = "what a test shows with one is not shown for the other; `stackctl status` says which build serves"
    file = stack.python.requirements if stack.python else None
    return (Problem(message, Where(shown(ports, file)) if file else None, hint=hint),)


def base_text(base: Base) -> str:
    """`sglang==0.5.15`, `URL at REF (12 digits)`, or a folder."""
    match base:
        case PypiBase(requirement, _):
            return requirement
        case GitBase(url, ref, commit):
            return f"{url} at {ref} ({commit[:12]})"
        case PathBase(path, commit):
            return f"{path} at {commit[:12]}" if commit else path


def _line(patch: Patch, queue: Sequence[Patch], needs: Sequence[Need]) -> PatchLine:
    carried = fallen([patch.name], needs) - {patch.name}
    direct = {need.needs for need in needs if need.patch == patch.name}
    return PatchLine(
        name=patch.name,
        title=patch.header.subject or "",
        files=len(patch.files),
        added=sum(file.added for file in patch.files),
        removed=sum(file.removed for file in patch.files),
        needs=tuple(one.name for one in queue if one.name in direct),
        carries=tuple(one.name for one in queue if one.name in carried),
        source=patch.source,
    )


def _instances(stack: ResolvedStack) -> list[str]:
    return [
        f"{one.id} on {one.host}:{one.port}" + (f", cards {','.join(map(str, one.gpus))}" if one.gpus else "")
        for one in stack.instances
    ]
