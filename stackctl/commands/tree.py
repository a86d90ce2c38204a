"""Composes the tree of a stack: its base, its queue, the variant's closure, one `git apply`.

Every verb that needs a tree comes through here, so that a variant of a bisect is made as a release is. Policy and
places are decided in core before git is asked; git (engine B) writes the tree, and its id must be the one that
engine A has foreseen. Plans over many subsets go by that id alone, and write nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from stackctl.commands.base import fetch_base
from stackctl.commands.workspace import shown
from stackctl.core.names import SGLANG, PatchName, TreeId
from stackctl.core.patches.agree import Listing, disagreement
from stackctl.core.patches.depend import excluded
from stackctl.core.patches.faults import Fault, error_of
from stackctl.core.patches.gitlog import errors_of_log, misplaced
from stackctl.core.patches.memo import Memo, Planned
from stackctl.core.patches.parse import ParsedPatch, parse
from stackctl.core.patches.series import duplicate_names, names_at_all_levels, renumbered
from stackctl.core.patches.sources import source_fault
from stackctl.core.patches.state import Base, Landing
from stackctl.core.patches.values import Need, Offset, Patch, PatchedTree, Queue, SourceTree, source_of
from stackctl.core.patches.walk import Walk, hear, joined, walk_diffs, walk_subset
from stackctl.core.stack.resolved import ResolvedStack
from stackctl.core.stack.variant import leave_out
from stackctl.errors import PatchConflict, StackctlError
from stackctl.ports import Applied, Ports


@dataclass(frozen=True)
class Read:
    """A queue read against its base; `base` and `walk` are what subsets of it are judged with.

    `queue` holds the patches of all sources in the order of the stack; the rest is of sglang. `sources`: the same of
    each other source, whose `queue` holds its own patches alone.
    """

    queue: Queue
    base: Base
    listing: Listing
    walk: Walk
    sources: Mapping[str, Read] = field(default_factory=dict)

    @cached_property
    def memo(self) -> Memo:
        """Engine A over the patches of sglang."""
        return Memo(self.queue.base, self.listing, self.walk)

    @cached_property
    def parts(self) -> dict[str, Read]:
        """One for each source, sglang first."""
        own = tuple(self.walk.patches)
        return {SGLANG: replace(self, queue=replace(self.queue, patches=own), sources={}), **self.sources}


def base_tree(ports: Ports, stack: ResolvedStack) -> TreeId:
    """The tree of the stack's base, fetched when the store lacks it. Raises StackctlError."""
    return fetch_base(ports, stack.base)


def queue_of(ports: Ports, stack: ResolvedStack) -> Queue:
    """The patches of the stack, before its variant is taken, and who needs whom.

    Raises InvalidFile for broken patch files. Conflicts are in `Queue.conflicts`: a variant may leave them out.
    """
    return read_queue(ports, stack).queue


def compose(ports: Ports, stack: ResolvedStack) -> tuple[ResolvedStack, PatchedTree]:
    """The stack without what its variant leaves out, and its tree. Raises PatchConflict and InvalidFile."""
    return _composed(ports, stack, read_queue(ports, stack))


def compose_queue(ports: Ports, stack: ResolvedStack) -> tuple[ResolvedStack, PatchedTree, tuple[Need, ...]]:
    """As `compose`, and who needs whom in the whole queue: the queue is read once for both."""
    read = read_queue(ports, stack)
    return (*_composed(ports, stack, read), tuple(read.queue.needs))


def _composed(ports: Ports, stack: ResolvedStack, read: Read) -> tuple[ResolvedStack, PatchedTree]:
    taken = leave_out(stack, read.queue.needs)
    wanted = set(all_patches(taken))
    return taken, apply_patches(ports, read, [patch for patch in read.queue.patches if patch.name in wanted])


def tree_after_each(ports: Ports, stack: ResolvedStack) -> tuple[tuple[PatchName, TreeId], ...]:
    """The tree after each patch of the composed stack, in order: what a lock records."""
    read = read_queue(ports, stack)
    whole = _composed(ports, stack, read)[1]
    landings = judge(read, whole.patches).landings
    trees, after = {SGLANG: whole.base, **{name: each.base for name, each in whole.sources.items()}}, []
    for patch in whole.patches:
        applied = ports.git.apply(trees[patch.source], [(data_for_git(patch, landings), patch.strip)])
        if applied.tree is None:
            raise _refused_by_git(patch, applied)
        trees[patch.source] = applied.tree
        after.append((patch.name, applied.tree))
    if trees != whole.trees:
        raise StackctlError(
            f"{stack.name}: patch by patch gives {_told(trees)}, the queue at once {_told(whole.trees)}",
            "Run `stackctl patches verify`.",
        )
    return tuple(after)


def _told(trees: Mapping[str, TreeId]) -> str:
    """`tree 1234…`, or with the names of several sources."""
    return ", ".join(f"tree {tree}" if len(trees) == 1 else f"{name} tree {tree}" for name, tree in trees.items())


def read_queue(ports: Ports, stack: ResolvedStack) -> Read:
    """The queue of a stack, read and judged against its base, and against those of its other sources.

    Raises InvalidFile for broken patch files; conflicts are in `queue.conflicts`.
    """
    parsed = _parse_all(ports, stack)
    trees = {SGLANG: base_tree(ports, stack)}
    trees |= {name: fetch_base(ports, base, f"sources.{name}") for name, base in stack.sources.items()}
    parts = {
        name: _read_part(ports, stack, tree, [entry for entry in parsed if source_of(entry[1].header) == name])
        for name, tree in trees.items()
    }
    settled = {patch.name: patch for part in parts.values() for patch in part.walk.patches}
    patches = tuple(settled[name] for name, _ in parsed)
    hear(patches, [part.walk for part in parts.values()])
    parts = {name: _with_faults(part) for name, part in parts.items()}
    main = parts.pop(SGLANG)
    if not parts:
        return main
    whole = joined(patches, [main.walk, *(part.walk for part in parts.values())])
    paths = {name: file_of(stack, name) for name, _ in parsed}
    queue = Queue(trees.pop(SGLANG), patches, whole.needs, paths, whole.faults, _offsets(whole.landings), trees)
    return replace(main, queue=queue, sources=parts)


def _with_faults(part: Read) -> Read:
    """What headers say is known only when all parts are read."""
    return replace(part, queue=replace(part.queue, needs=part.walk.needs, conflicts=dict(part.walk.faults)))


def _read_part(
    ports: Ports, stack: ResolvedStack, tree: TreeId, parsed: Sequence[tuple[PatchName, ParsedPatch]]
) -> Read:
    """The patches of one source against its tree."""
    listing = listing_of(ports, tree)
    walk = walk_diffs(base_of(ports, listing, parsed), parsed)
    offsets = _offsets(walk.landings)
    paths = {name: file_of(stack, name) for name, _ in parsed}
    queue = Queue(tree, tuple(walk.patches), walk.needs, paths, dict(walk.faults), offsets)
    return Read(queue, walk.state.base, listing, walk)


def base_of(ports: Ports, listing: Listing, parsed: Iterable[tuple[PatchName, ParsedPatch]]) -> Base:
    """What a walk may look at: all paths, and the contents of those that the patches could mean."""
    wanted = set().union(*(names_at_all_levels(patch) for _, patch in parsed)) & listing.keys()
    blobs = {path: listing[path][1] for path in wanted}
    read = ports.git.read_blobs(sorted(blobs.values()))
    contents = {path: read[blob] for path, blob in blobs.items() if blob in read}
    return Base({path: mode for path, (mode, _) in listing.items()}, contents)


def plan_patches(ports: Ports, read: Read, patches: Sequence[Patch]) -> PatchedTree:
    """The ids of the trees that `apply_patches` would write. Git is asked only for what engine A does not foresee."""
    plans = _plans(read, patches)
    if plans is None:
        return apply_patches(ports, read, patches)
    landings = [landing for plan in plans.values() for landing in plan.landings]
    trees = {name: SourceTree(part.queue.base, plans[name].tree) for name, part in read.parts.items()}
    return _patched(trees, patches, landings)


def apply_patches(ports: Ports, read: Read, patches: Sequence[Patch]) -> PatchedTree:
    """The trees of some of the queue's patches, in the order given, written by git."""
    plans = _plans(read, patches)
    if plans is None:
        walk = judge(read, patches)
        if walk.faults:
            raise error_of(list(walk.faults.values()))
        landings = walk.landings
    else:
        landings = [landing for plan in plans.values() for landing in plan.landings]
    trees = {
        name: _apply_part(ports, part, _own(patches, name), plans[name] if plans else None)
        for name, part in read.parts.items()
    }
    return _patched(trees, patches, landings)


def _patched(trees: dict[str, SourceTree], patches: Sequence[Patch], landings: Sequence[Landing]) -> PatchedTree:
    main = trees.pop(SGLANG)
    return PatchedTree(main.base, main.tree, tuple(patches), _offsets(landings), trees)


def _own(patches: Sequence[Patch], source: str) -> list[Patch]:
    return [patch for patch in patches if patch.source == source]


def _plans(read: Read, patches: Sequence[Patch]) -> dict[str, Planned] | None:
    """What engine A foresees for each source; None when something stands against it, or git must be asked."""
    bad = {name for name, fault in read.queue.conflicts.items() if fault.kind == "bad-needs"}
    if excluded(patches) or any(patch.name in bad for patch in patches):
        return None
    plans = {name: part.memo.plan(_own(patches, name)) for name, part in read.parts.items()}
    foreseen = {name: plan for name, plan in plans.items() if isinstance(plan, Planned)}
    return foreseen if len(foreseen) == len(plans) else None


def _apply_part(ports: Ports, read: Read, patches: Sequence[Patch], plan: Planned | None) -> SourceTree:
    landings = plan.landings if plan else _judge_part(read, patches).landings
    work = [(data_for_git(patch, landings), patch.strip) for patch in patches]
    applied = ports.git.apply(read.queue.base, work)
    if applied.tree is None:
        raise _first_refused(ports, read.queue.base, patches, work)
    astray = misplaced(applied.output, patches, landings)
    if astray:
        where = f"hunk {astray.hunk} of {astray.file} elsewhere than at line {astray.at}"
        raise PatchConflict(f"{astray.patch}: git put {where}", _MORE_CONTEXT)
    if plan is None or plan.tree != applied.tree:
        _refuse_disagreement(ports, read, patches, applied.tree)
    if plan and plan.tree != applied.tree:
        files = "of the very same files"
        raise StackctlError(f"tree {plan.tree} was foreseen, git made {applied.tree} {files}", "Please report this.")
    return SourceTree(read.queue.base, applied.tree)


_MORE_CONTEXT = "Export the patch again from a checkout, with more lines of context (`git diff -U10`)."


def _refuse_disagreement(ports: Ports, read: Read, patches: Sequence[Patch], tree: TreeId) -> None:
    path = disagreement(read.listing, listing_of(ports, tree), _judge_part(read, patches).state)
    if path:
        changed_by = [patch.file for patch in patches if any(path in (f.old, f.new) for f in patch.files)]
        raise PatchConflict(
            f"{path}: git made something else of it than its patches say ({', '.join(changed_by) or 'none names it'})",
            _MORE_CONTEXT,
        )


def listing_of(ports: Ports, tree: TreeId) -> Listing:
    """Path -> mode and blob id, of all files of a tree."""
    return {entry.path: (entry.mode, entry.blob) for entry in ports.git.list(tree)}


def judge(read: Read, patches: Sequence[Patch]) -> Walk:
    """How some of the queue's patches fare, without making their trees."""
    if not read.sources:
        return _judge_part(read, patches)
    own = {name: [patch for patch in patches if patch.source == name] for name in read.parts}
    walk = joined(patches, [_judge_part(part, own[name]) for name, part in read.parts.items()])
    # a part that is whole was judged beside all patches of the others
    walk.faults = {name: fault for name, fault in walk.faults.items() if fault.kind != "excluded"}
    walk.blame(excluded(patches))
    return walk


def _judge_part(read: Read, patches: Sequence[Patch]) -> Walk:
    if tuple(patches) == tuple(read.walk.patches):
        return read.walk
    walk = walk_subset(read.base, patches, read.walk.windows, read.queue.needs)
    names = {patch.name for patch in patches}
    walk.blame(fault for name, fault in read.walk.faults.items() if fault.kind == "bad-needs" and name in names)
    return walk


def _parse_all(ports: Ports, stack: ResolvedStack) -> list[tuple[PatchName, ParsedPatch]]:
    names = all_patches(stack)
    out = {element.name for element in stack.variant.without if element.kind == "patch"}
    faults = list(duplicate_names(names, [shown(ports, file_of(stack, name)) for name in names]))
    parsed: list[tuple[PatchName, ParsedPatch]] = []
    for name in names:
        result = _parse_file(ports, file_of(stack, name), stack.sources)
        if isinstance(result, ParsedPatch):
            parsed.append((name, result))
        elif name not in out:  # a broken file may be left out
            faults.append(result)
    if faults:
        raise error_of(faults)
    return parsed


def _parse_file(ports: Ports, file: str, sources: Iterable[str]) -> ParsedPatch | Fault:
    name = shown(ports, file)
    try:
        parsed = parse(ports.files.read(file), name)
    except StackctlError as error:
        hint = error.hint or "A stack names files of patches/, without `.patch`."
        return Fault("not-a-patch", name, None, error.message, hint)
    return parsed if isinstance(parsed, Fault) else source_fault(parsed.file, parsed.header, sources) or parsed


def all_patches(stack: ResolvedStack) -> tuple[PatchName, ...]:
    """The queue and what --with adds after it."""
    return stack.patches + tuple(name for name in stack.variant.added if name not in stack.patches)


def file_of(stack: ResolvedStack, name: PatchName) -> str:
    return stack.patch_files.get(name, f"{stack.workspace}/patches/{name}.patch")


def data_for_git(patch: Patch, landings: Sequence[Landing]) -> bytes:
    """The patch as it is, or with other line numbers where git's search would choose another place."""
    astray = {each.line: each.at for each in landings if each.patch == patch.name and each.git_at != each.at}
    return renumbered(patch, astray) if astray else patch.data


def _offsets(landings: Sequence[Landing]) -> tuple[Offset, ...]:
    return tuple(Offset(each.patch, each.file, each.hunk, each.at, each.offset) for each in landings if each.offset)


def _first_refused(
    ports: Ports, base: TreeId, patches: Sequence[Patch], work: Sequence[tuple[bytes, int]]
) -> StackctlError:
    """Git names the file and never the patch: one after the other tells which it was."""
    tree = base
    for patch, each in zip(patches, work, strict=True):
        applied = ports.git.apply(tree, [each])
        if applied.tree is None:
            return _refused_by_git(patch, applied)
        tree = applied.tree
    return StackctlError("git refused the queue at once, but took it patch by patch", "Run `stackctl patches verify`.")


def _refused_by_git(patch: Patch, applied: Applied) -> StackctlError:
    message = f"git does not apply it: {errors_of_log(applied.output)}"
    return error_of([Fault("refused-by-git", patch.file, None, message, "Export the patch again from a checkout.")])
