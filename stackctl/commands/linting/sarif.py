"""Writes findings as SARIF, with files told from the root of the repository: that is how a code host finds them."""

from __future__ import annotations

import json
import posixpath
from collections.abc import Sequence
from urllib.parse import quote

from stackctl.commands.changes import refuse_other
from stackctl.core.lint.catalogue import by_id
from stackctl.core.lint.ignore import Ignored
from stackctl.core.lint.sarif import sarif
from stackctl.core.lint.values import Finding
from stackctl.ports import Ports


def save_sarif(ports: Ports, findings: Sequence[Finding], ignored: Sequence[Ignored], file: str) -> str:
    """The text for `-`, else empty and written into the file. Raises StackctlError for a file of another kind."""
    here = ports.files.cwd()
    root = repository(ports, here).rstrip("/") + "/"

    def uri(name: str) -> str:
        path = posixpath.normpath(posixpath.join(here, name))
        return quote(path.removeprefix(root)) if path.startswith(root) else f"file://{quote(path)}"

    text = json.dumps(sarif(findings, ignored, by_id(), uri), indent=1, ensure_ascii=False) + "\n"
    if file == "-":
        return text
    path = posixpath.normpath(posixpath.join(here, file))
    refuse_other(ports, path, b"{", "SARIF file")
    ports.files.write(path, text.encode())
    return ""


def repository(ports: Ports, folder: str) -> str:
    """The nearest folder upward that is a git work tree; the folder itself when none is."""
    found = folder
    while not ports.files.exists(posixpath.join(found, ".git")):
        if found == posixpath.dirname(found):
            return folder
        found = posixpath.dirname(found)
    return found
