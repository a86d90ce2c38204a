"""Which patches of a queue the new base took as commits of its own: what their headers say, or git's patch-id.

Only where both bases are commits; a wheel has no history. What a commit is worth now the merge still decides: it may
have been taken back.
"""

from __future__ import annotations

from collections.abc import Mapping

from stackctl.commands.rebase.onto import Pinned
from stackctl.commands.tree import Read
from stackctl.core.names import SGLANG, Commit, PatchName
from stackctl.core.patches.parse import diff_of
from stackctl.core.patches.values import Patch
from stackctl.core.rebase.merge import Landable
from stackctl.ports import Ports


def landed(ports: Ports, read: Read, old: Pinned, new: Pinned) -> Mapping[PatchName, Commit]:
    repository, before, after = new.repository, old.commit, new.commit
    if repository is None or before is None or after is None:
        return {}
    patches = [patch for patch in read.queue.patches if patch.source == SGLANG and patch.files]
    with ports.progress.step(f"looking for the patches in the history up to {new.label}"):
        found = ports.merges.landed(repository, before, after, {patch.name: _landable(patch) for patch in patches})
    return {PatchName(name): commit for name, commit in found.items()}


def _landable(patch: Patch) -> Landable:
    paths = {path for section in patch.files for path in (section.old, section.new) if path}
    said = [words[1] for value in patch.header.trailer("Upstream") if (words := value.split())[:1] == ["Backport"]]
    return Landable(diff_of(patch), tuple(sorted(paths)), Commit(said[0]) if said else None)
