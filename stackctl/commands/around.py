"""What `check` says of the things around the flags: patch headers, pins, the interpreter's torch, sources.

Each is a finding with the id of a rule, at the place where it is, and with the line of the stack file that decides it:
there a comment may stand, also for what is wrong in another file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from stackctl.core.lint.catalogue import by_id
from stackctl.core.lint.places import Located, lines_of
from stackctl.core.lint.values import Finding
from stackctl.core.names import PatchName
from stackctl.core.patches.headers import lint as lint_header
from stackctl.core.patches.values import Patch, PatchedTree
from stackctl.core.stack.merge import dotted
from stackctl.core.stack.resolved import ResolvedStack
from stackctl.core.stack.source import Path
from stackctl.errors import Problem, Where
from stackctl.ports import Ports


def around(ports: Ports, stack: ResolvedStack, tree: PatchedTree) -> tuple[Located, ...]:
    """In no order."""
    told = [
        *((problem, tuple((problem.key or "").split("."))) for problem in stack.warnings),
        *_torch(ports, stack, tree),
        *_idle_sources(stack, tree),
        *_headers(ports, stack, tree.patches),
    ]
    return tuple(_located(stack, problem, path) for problem, path in told)


def _located(stack: ResolvedStack, problem: Problem, path: Path) -> Located:
    """`path`: of the stack file; a problem without a place of its own is there."""
    name, _, message = problem.message.partition(": ")
    rule = by_id()[name]
    merged = stack.merged
    where = problem.where or (merged.where(path) if merged else Where(stack.file))
    finding = Finding(rule.id, rule.severity, message, problem.hint or "", where, dotted(path), (), rule.evidence)
    return Located(finding, lines_of(merged, path) if merged else frozenset())


def _headers(ports: Ports, stack: ResolvedStack, patches: Sequence[Patch]) -> Iterator[tuple[Problem, Path]]:
    """What the headers of these patches lack, each with its line in the patch."""
    files = ports.files.walk(f"{stack.workspace}/patches") if patches else ()
    known = {PatchName(file.removesuffix(".patch")) for file in files if file.endswith(".patch")}
    written = stack.merged.value.get("patches") if stack.merged else None
    queue = written if isinstance(written, list) else []
    for patch in patches:
        path: Path = ("patches", queue.index(patch.name)) if patch.name in queue else ()
        yield from ((problem, path) for problem in lint_header(patch, known))


def _idle_sources(stack: ResolvedStack, tree: PatchedTree) -> Iterator[tuple[Problem, Path]]:
    used = {patch.source for patch in tree.patches}
    for name in stack.sources:
        if name not in used:
            hint = f"`Source: {name}` in a patch says so; without one, take the source out"
            yield Problem(f"SOURCE-UNUSED: no patch is for {name}", hint=hint), ("sources", name)


def _torch(ports: Ports, stack: ResolvedStack, tree: PatchedTree) -> Iterator[tuple[Problem, Path]]:
    if stack.python is None or stack.python.requirements is None:
        return
    from stackctl.commands.torch import torch_warnings  # it reads locks and metadata, which most stacks lack

    for problem in torch_warnings(ports, stack, tree.base):
        yield problem, ("python", "requirements")
