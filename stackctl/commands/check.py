"""`stackctl check`: everything that can be known without a host. It loads, composes, renders and lints.

Mistakes of the file raise; what it returns is a stack that could be composed, with what the linter finds in it and
what should be looked at. It writes nothing but the SARIF file that it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from stackctl.commands.around import around
from stackctl.commands.gather import load
from stackctl.commands.linting.stack import Linter, hear, judged
from stackctl.commands.release import release_of
from stackctl.commands.selection import Selection
from stackctl.commands.tree import compose_queue, tree_after_each
from stackctl.core.lint.ignore import Ignored
from stackctl.core.lint.values import Finding
from stackctl.core.names import SGLANG, PatchName, ReleaseId, TreeId
from stackctl.core.patches.values import Need, Offset, Patch, PatchedTree
from stackctl.core.stack.resolved import Base, GitBase, PathBase, PypiBase, ResolvedStack
from stackctl.core.stack.variant import fallen
from stackctl.ports import Ports


@dataclass(frozen=True)
class CheckRequest:
    """`locked`: fail when the lock file says something else. `strict`: a warning is as bad as an error."""

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
    unsupported: Mapping[str, str] = field(default_factory=dict)  # key path -> verbs that refuse it so far
    instances: tuple[str, ...] = ()  # "prefill-0 on gpu1:30000, cards 0,1,2,3"
    locked: bool = False
    sources: Mapping[str, SourceLine] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()  # in the order of the files
    ignored: tuple[Ignored, ...] = ()  # those that a comment silences
    unread: tuple[str, ...] = ()  # what of the base's source could not be read, so it was not checked
    strict: bool = False

    @property
    def exit(self) -> int:
        """2 when something is wrong, or when it is strict and something is to be looked at."""
        bad = ("error", "warning") if self.strict else ("error",)
        return 2 if any(one.severity in bad for one in self.findings) else 0


@dataclass(frozen=True)
class SourceLine:
    """Another source: its pin, and its tree before and after its patches."""

    base: str
    base_tree: TreeId
    tree: TreeId


Compose = Callable[[Ports, ResolvedStack], tuple[ResolvedStack, PatchedTree, tuple[Need, ...]]]
After = Callable[[Ports, ResolvedStack], tuple[tuple[PatchName, TreeId], ...]]


@dataclass(frozen=True)
class Parts:
    """What composing is made of; tests bring their own."""

    compose: Compose = compose_queue
    after: After = tree_after_each
    lint: Linter = hear


def check(ports: Ports, request: CheckRequest, parts: Parts = Parts()) -> CheckResult:
    """Raises InvalidFile, PatchConflict or StackctlError for what is wrong."""
    stack, tree, needs = _composed(ports, request, parts)
    made = release_of(ports, stack, tree)
    linted = judged(stack, parts.lint(ports, stack, tree), around(ports, stack, tree))
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
        unsupported=stack.unsupported,
        instances=tuple(_instances(stack)),
        locked=request.locked,
        sources={
            name: SourceLine(base_text(stack.sources[name]), each.base, each.tree)
            for name, each in tree.sources.items()
        },
        findings=linted.findings,
        ignored=linted.ignored,
        unread=linted.unread,
        strict=request.strict,
    )


def _composed(ports: Ports, request: CheckRequest, parts: Parts) -> tuple[ResolvedStack, PatchedTree, tuple[Need, ...]]:
    if not request.locked:
        return parts.compose(ports, load(ports, request.selection))
    from stackctl.commands.lock import compare, refuse_variant

    refuse_variant(request.selection, "check --locked")
    stack, tree, needs = parts.compose(ports, load(ports, request.selection))
    compare(ports, stack, tree, parts.after)
    return stack, tree, needs


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
