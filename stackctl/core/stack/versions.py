"""Versions of a patch for different bases: one name, and a file for each base that needs one.

`patches/NAME@0.5.23.patch` is NAME where the base is 0.5.23; everywhere else it is `patches/NAME.patch`. So a queue, a
bisect and a `Needs:` keep their names when the base changes, and two stacks at two bases share what serves both.
"""

from __future__ import annotations

import posixpath
import re

from stackctl.core.stack.resolved import Base, GitBase, PathBase, PypiBase

SHORT = 12  # hex digits of a commit that name a version


def key_of(base: Base) -> str | None:
    """What names the versions for this base: its release, or the first digits of its commit; None for a folder."""
    match base:
        case PypiBase():
            return re.sub(r"[^A-Za-z0-9._-]", "-", base.requirement.partition("==")[2]) or None
        case GitBase():
            return base.commit[:SHORT]
        case PathBase():
            return base.commit[:SHORT] if base.commit else None


def patch_file(workspace: str, name: str, key: str | None = None) -> str:
    """The file of a patch, or of its version for the base that `key` names."""
    return posixpath.join(workspace, "patches", f"{name}@{key}.patch" if key else f"{name}.patch")
