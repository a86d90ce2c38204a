"""Finds templates and the programs for a host: the workspace's own first, else those that come with stackctl."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from stackctl.errors import StackctlError
from stackctl.ports import Files


class PackageTemplates:
    """`ports.Templates`."""

    def __init__(self, files: Files) -> None:
        self._files = files

    def text(self, name: str, workspace: str) -> str:
        own = str(Path(workspace, "templates", name))
        if self._files.exists(own):
            return _decoded(self._files.read(own), own)
        # a wheel carries them as package data; an editable installation has them beside the package
        package = Path(str(files("stackctl")))
        for folder in (package / "templates", package.parent / "templates"):
            if self._files.exists(str(folder / name)):
                return _decoded(self._files.read(str(folder / name)), str(folder / name))
        raise StackctlError(f"there is no template {name}", f"Put it at {own}, or reinstall stackctl.")

    def onhost(self, name: str) -> str:
        source = files("stackctl") / "onhost" / name
        if not source.is_file():
            raise StackctlError(f"stackctl has no program {name} for hosts", "Reinstall stackctl.")
        return source.read_text("utf-8")

    def data(self, name: str) -> bytes:
        source = files("stackctl") / "data" / name
        if not source.is_file():
            raise StackctlError(f"stackctl lacks its own file data/{name}", "Reinstall stackctl.")
        return source.read_bytes()


def _decoded(data: bytes, path: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise StackctlError(f"{path}: not UTF-8 text ({error})", "Save it as UTF-8.") from error
