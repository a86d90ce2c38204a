"""What raw commands are read against: a release, a folder with sglang's source, or a stack's patched tree.

A release needs no sha256 here: what the index gives is taken, kept as any pinned base is, and its sha256 told.
"""

from __future__ import annotations

import posixpath
import re
from contextlib import suppress
from dataclasses import dataclass, replace

from stackctl.commands.base import fetch_base, pin_release
from stackctl.commands.gather import load
from stackctl.commands.init import BASE
from stackctl.commands.linting.tables import SGLANG_MODULE, history, pinned_release, upstream_of
from stackctl.commands.selection import Selection
from stackctl.commands.tree import compose
from stackctl.commands.workspace import shown, workspace_of
from stackctl.core.base.values import TreeFile
from stackctl.core.names import TreeId
from stackctl.core.stack.resolved import Base, PathBase, PypiBase
from stackctl.core.upstream.values import History, Upstream
from stackctl.errors import StackctlError, UsageError
from stackctl.ports import Ports

RELEASE = re.compile(r"(?:(?P<name>[A-Za-z0-9._-]+)==)?(?P<version>\d+(?:\.\w+)+)")
PACKAGES = ("python/sglang", "sglang", ".")  # where a folder may have srt/, best first


@dataclass(frozen=True)
class Read:
    """`told`: the base in words. `why`: how it was chosen, when nobody named one."""

    told: str
    base: Base
    patches: tuple[str, ...]
    tree: TreeId
    module: str
    upstream: Upstream
    history: History
    why: str = ""


def ground(ports: Ports, wish: str | None) -> Read:
    """Raises UsageError for what names no base, StackctlError when it cannot be had."""
    if wish is None:
        return _unnamed(ports)
    if match := RELEASE.fullmatch(wish):
        return _release(ports, f"{match['name'] or 'sglang'}=={match['version']}")
    path = posixpath.normpath(posixpath.join(ports.files.cwd(), wish))
    if ports.files.is_dir(path):
        return _folder(ports, path)
    try:
        return _stack(ports, Selection(wish))
    except UsageError as error:
        hint = f"a release (sglang==0.5.15), a folder with sglang's source, or a stack ({error})"
        raise UsageError(f"--base {wish} names nothing here", hint) from None


def _unnamed(ports: Ports) -> Read:
    """The base of the default stack; without one the newest release that is known."""
    if workspace_of(ports, ports.files.cwd()):
        with suppress(UsageError):
            stack = load(ports, Selection())
            why = f"the base of stack {stack.name}; --base names another"
            tree = fetch_base(ports, stack.base)
            return replace(_read(ports, stack.base, tree, stack.serve.module), why=why)
    known = history(ports)
    newest = known.versions[-1]
    why = "the newest release that stackctl knows; --base names another"
    return replace(_release(ports, f"sglang=={newest}"), why=why)


def _release(ports: Ports, requirement: str) -> Read:
    """A pin that is known asks no index."""
    known = BASE if requirement == BASE.requirement else _pinned_here(ports, requirement)
    pin = known or pin_release(ports, requirement)
    return _read(ports, pin, fetch_base(ports, pin))


def _pinned_here(ports: Ports, requirement: str) -> PypiBase | None:
    """The pin of the default stack, which asks no index."""
    with suppress(StackctlError):
        base = load(ports, Selection()).base
        if isinstance(base, PypiBase) and base.requirement == requirement:
            return base
    return None


def _folder(ports: Ports, path: str) -> Read:
    """Only the Python of the package is read: a folder may be a whole site-packages."""
    for below in PACKAGES:
        package = posixpath.normpath(posixpath.join(path, below))
        if ports.files.is_dir(f"{package}/srt"):
            names = [name for name in ports.files.walk(package) if name.endswith(".py")]
            files = (TreeFile(f"python/sglang/{name}", ports.files.read(f"{package}/{name}")) for name in names)
            return _read(ports, PathBase(path), ports.git.write_tree(files))
    raise UsageError(f"the folder {shown(ports, path)} has no sglang", "expected python/sglang/srt or sglang/srt in it")


def _stack(ports: Ports, selection: Selection) -> Read:
    stack, tree = compose(ports, load(ports, selection))
    read = _read(ports, stack.base, tree.tree, stack.serve.module)
    return replace(read, told=f"the tree of stack {stack.name}", patches=stack.patches)


def _read(ports: Ports, base: Base, tree: TreeId, module: str = SGLANG_MODULE) -> Read:
    upstream = upstream_of(ports, tree, module, pinned_release(base))
    if not upstream.flags:
        raise StackctlError(f"no flags can be read in tree {tree}", "is it a tree of sglang, or the module's parser?")
    return Read(_told(ports, base), base, (), tree, module, upstream, history(ports))


def _told(ports: Ports, base: Base) -> str:
    match base:
        case PypiBase(requirement, digest):
            return f"{requirement} (sha256 {digest})"
        case PathBase(path, _):
            return shown(ports, path)
        case _:
            return f"{base.url} at {base.ref}"
