"""`stackctl init`: a workspace to begin with: one commented stack, a folder for patches, the schema for editors.

It overwrites nothing that a person wrote. Where stacks are already, it only brings the schema up to date and sees to
it that git ignores what stackctl keeps beside them.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass

from stackctl.commands.base import pin_release
from stackctl.commands.changes import Change, as_diff, write_changes
from stackctl.commands.workspace import shown, stack_files
from stackctl.core.names import Digest
from stackctl.core.render.scripts import render
from stackctl.core.stack.editor import FILE, MODELINE
from stackctl.core.stack.model import NAME
from stackctl.core.stack.resolved import PypiBase
from stackctl.errors import StackctlError, UsageError
from stackctl.ports import Ports

# the pin of the shipped stacks, so that a workspace can be begun without a network
BASE = PypiBase("sglang==0.5.15", Digest("21492759b4b99e117bd81610f633422f3fdae2896c2cde6931eab886deccc44f"))
KEPT = ".stackctl/"
RELEASE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*==\S+")


@dataclass(frozen=True)
class InitRequest:
    """`folder`: as the user wrote it. `base`: `sglang==VERSION`, fetched for its sha256. `host`: its address."""

    folder: str = "."
    name: str = "main"
    base: str | None = None
    address: str = "local"
    pd: bool = False
    dry_run: bool = False


@dataclass(frozen=True)
class InitResult:
    """`written`: files, as shown. `stack`: the new stack's file; None when the folder had stacks already."""

    folder: str
    stack: str | None
    written: tuple[str, ...]
    diff: str
    dry_run: bool = False


def init(ports: Ports, request: InitRequest) -> InitResult:
    """All files or none. Raises UsageError for a name that no stack can have, StackctlError for files in the way."""
    if re.fullmatch(NAME, request.name) is None:
        raise UsageError(f"a stack cannot be called {request.name!r}", "Small letters, digits, `.`, `_` and `-`.")
    if request.base is not None and RELEASE.fullmatch(request.base) is None:
        raise UsageError(f"--base {request.base}: a release is meant", "like sglang==0.5.15")
    if not request.folder:
        raise UsageError("the folder given is empty", "Is a variable of the shell not set?")
    folder = posixpath.normpath(posixpath.join(ports.files.cwd(), request.folder))
    if ports.files.exists(folder) and not ports.files.is_dir(folder):
        raise StackctlError(f"{request.folder} is a file", "Name a folder.")
    fresh = not stack_files(ports, folder)
    changes = [one for one in _changes(ports, folder, request, fresh) if one.before != one.after]
    if not request.dry_run:
        write_changes(ports, changes)
    stack = f"{folder}/stacks/{request.name}.yaml" if fresh else None
    diff = as_diff(one for one in changes if not one.path.endswith(FILE))  # nobody reads the schema's 2,000 lines
    return InitResult(folder, stack and shown(ports, stack), tuple(one.file for one in changes), diff, request.dry_run)


def _changes(ports: Ports, folder: str, request: InitRequest, fresh: bool) -> Iterator[Change]:
    schema = ports.templates.text(FILE, folder)
    yield _change(ports, f"{folder}/stacks/{FILE}", schema)
    yield _ignoring(ports, f"{folder}/.gitignore")
    if not fresh:
        return
    yield _change(ports, f"{folder}/stacks/{request.name}.yaml", _starter(ports, folder, request))
    readme = f"{folder}/patches/README.md"
    if not ports.files.exists(readme):
        yield _change(ports, readme, ports.templates.text("starter-patches.md", folder))


def _starter(ports: Ports, folder: str, request: InitRequest) -> str:
    pin = pin_release(ports, request.base) if request.base else BASE
    values = {
        "modeline": MODELINE,
        "name": request.name,
        "requirement": pin.requirement,
        "sha256": pin.sha256,
        "host": "local" if request.address == "local" else "gpu1",
        "address": request.address,
        "pd": request.pd,
    }
    return render("starter.yaml.j2", ports.templates.text("starter.yaml.j2", folder), values)


def _change(ports: Ports, path: str, text: str) -> Change:
    return Change(path, shown(ports, path), _before(ports, path), text.encode())


def _before(ports: Ports, path: str) -> bytes | None:
    return ports.files.read(path) if ports.files.exists(path) else None


def _ignoring(ports: Ports, path: str) -> Change:
    """One line more, unless git is told so already."""
    before = _before(ports, path)
    lines = (before or b"").decode("utf-8", "surrogateescape").splitlines()
    if any(line.strip().strip("/") == KEPT.strip("/") for line in lines):
        return Change(path, shown(ports, path), before, before)
    after = b"".join(f"{line}\n".encode("utf-8", "surrogateescape") for line in (*lines, KEPT))
    return Change(path, shown(ports, path), before, after)
