"""What stackctl asks of its own package. ports.py gives these names on, so that callers know one place."""

from __future__ import annotations

from typing import Protocol


class Templates(Protocol):
    def text(self, name: str, workspace: str) -> str:
        """`<workspace>/templates/NAME` if it is there, else the package's."""
        ...

    def onhost(self, name: str) -> str:
        """The source of a program of `stackctl/onhost/`, to be uploaded."""
        ...

    def data(self, name: str) -> bytes:
        """A file of `stackctl/data/`. Raises StackctlError when the installation lacks it."""
        ...
