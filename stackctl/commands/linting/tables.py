"""What a tree's own source says it understands, read once and kept; and which release of sglang knew what.

A kept table that is broken is made anew, and one that cannot be kept is only slower the next time.
"""

from __future__ import annotations

import gc
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from hashlib import sha256

from stackctl.core.names import TreeId
from stackctl.core.stack.resolved import Base, PypiBase
from stackctl.core.upstream.stored import FORMAT, history_from_json, table_from_json, table_to_json
from stackctl.core.upstream.values import History, Upstream
from stackctl.errors import StackctlError
from stackctl.ports import Ports

SGLANG_MODULE = "sglang.launch_server"


def upstream_of(ports: Ports, tree: TreeId, engine_module: str = SGLANG_MODULE, version: str | None = None) -> Upstream:
    """The table of a tree in the store. `version`: what is pinned, where that is known; else what the tree says.

    sglang's rules apply when the tree has its server_args.py, else the argparse parser of `engine_module` is read.
    """
    table = _kept(ports, tree, engine_module)
    if table is None:
        table = _read(ports, tree, engine_module)
        with suppress(StackctlError):  # a full or read-only disk
            ports.files.write(_file(ports, tree, engine_module), table_to_json(table))
    return replace(table, version=version) if version else table


def pinned_release(base: Base) -> str | None:
    """The release that a wheel of sglang itself is."""
    name, _, version = base.requirement.partition("==") if isinstance(base, PypiBase) else ("", "", "")
    return version if name.lower() == "sglang" else None


def history(ports: Ports) -> History:
    """Which release knew which flag, choice and variable. Raises StackctlError when the installation lacks it."""
    try:
        return history_from_json(ports.templates.data("history.json"))
    except ValueError as error:
        raise StackctlError(
            f"stackctl's own file data/history.json is broken: {error}", "Reinstall stackctl."
        ) from error


def _file(ports: Ports, tree: TreeId, engine_module: str) -> str:
    other = "" if engine_module == SGLANG_MODULE else "-" + sha256(engine_module.encode()).hexdigest()[:8]
    return f"{ports.files.home()}/upstream/{tree}-{FORMAT}{other}.json"


def _kept(ports: Ports, tree: TreeId, engine_module: str) -> Upstream | None:
    file = _file(ports, tree, engine_module)
    try:
        return table_from_json(ports.files.read(file)) if ports.files.exists(file) else None
    except (ValueError, StackctlError):
        return None


def _read(ports: Ports, tree: TreeId, engine_module: str) -> Upstream:
    from stackctl.core.upstream.tables import extract, needed  # a kept table needs no reader

    with ports.progress.step("reading what this tree understands"):
        blobs = {entry.path: entry.blob for entry in ports.git.list(tree) if entry.path.endswith(".py")}
        wanted = needed(blobs, engine_module)
        contents = ports.git.read_blobs([blobs[path] for path in wanted])
        files = {path: contents[blobs[path]] for path in wanted if blobs[path] in contents}
        with _undisturbed():
            return extract(files, engine_module)


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Syntax trees hold no circles, and looking for some among millions of nodes takes longer than parsing.

    What Python thinks of somebody else's source (an escape sequence that is none) is not for our reader.
    """
    was = gc.isenabled()
    gc.disable()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        if was:
            gc.enable()
