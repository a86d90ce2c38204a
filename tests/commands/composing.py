"""A workspace on disk for tests of composing: a small base, patch files, the real git."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from stackctl.adapters.git import GitStore, GitWorkTrees
from stackctl.core.names import PatchName
from stackctl.core.stack.resolved import Base, Element, Model, PathBase, ResolvedStack, Serve, Variant
from stackctl.ports import Index, Ports
from tests.fakes import LocalFilesAt, Wheels, fake_ports

NUMBERS = "".join(f"line {n}\n" for n in range(1, 31))
STACK = """
base: {path: ../../engine}
patches: [PATCHES]
model: {path: /m, name: m}
roles:
  single: {host: a, port: 30000}
hosts: {a: {address: local}}
"""


class Bench:
    """`<folder>/engine` is the base, `<folder>/ws` the workspace, `<folder>/home` holds the store."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.workspace = folder / "ws"
        self.base("python/pkg/a.py", NUMBERS)
        self.base("python/pkg/b.py", NUMBERS)

    def base(self, path: str, text: str) -> None:
        file = self.folder / "engine" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def patch(self, name: str, text: str | bytes) -> PatchName:
        file = self.workspace / "patches" / f"{name}.patch"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return PatchName(name)

    def edit(
        self, name: str, number: int, new: str, *, file: str = "a.py", old: str = "", needs: str = ""
    ) -> PatchName:
        """A patch that changes line `number` with three lines of context, as the base has them."""
        around = [f"line {n}" for n in range(number - 3, number + 4)]
        around[3] = old or around[3]
        hunk = [f" {line}" for line in around[:3]] + [f"-{around[3]}", f"+{new}"] + [f" {line}" for line in around[4:]]
        header = [f"Subject: {name} title", "", "Area: tests", "Why: It is a test.", "Upstream: Pending"]
        header += ["Remove-when: never", *([f"Needs: {needs}"] if needs else []), "---"]
        path = f"python/pkg/{file}"
        diff = [f"diff --git a/{path} b/{path}", f"--- a/{path}", f"+++ b/{path}"]
        place = f"@@ -{number - 3},7 +{number - 3},7 @@"
        return self.patch(name, "\n".join([*header, *diff, place, *hunk]) + "\n")

    def ports(self, index: Index | None = None, **given: object) -> Ports:
        files = LocalFilesAt(self.folder / "home", self.workspace)
        made = {"git": GitStore(files), "work_trees": GitWorkTrees(files), "index": index or Wheels({})}
        return fake_ports(**{"files": files, **made, **given})

    def stack(self, *patches: str, without: Iterable[str] = (), base: Base | None = None) -> ResolvedStack:
        self.workspace.mkdir(exist_ok=True)
        names = tuple(PatchName(name) for name in patches)
        found = ResolvedStack(
            name="s",
            file="stacks/s.yaml",
            workspace=str(self.workspace),
            base=base or PathBase(str(self.folder / "engine")),
            patches=names,
            model=Model("/m", "m"),
            serve=Serve(),
            engines=(),
            router=None,
            router_package=None,
            hosts={},
            patch_files={name: str(self.workspace / "patches" / f"{name}.patch") for name in names},
        )
        out = tuple(Element("patch", name) for name in without)
        return replace(found, variant=Variant(without=out))

    def stack_file(self, *patches: str) -> None:
        file = self.workspace / "stacks" / "s.yaml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(STACK.replace("PATCHES", ", ".join(patches)))
