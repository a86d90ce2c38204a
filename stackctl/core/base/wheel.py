"""Reads a wheel as a source tree: its files below python/, as an installation would place them.

The archive's own description (`*.dist-info/`) is no source and is left out, and so is `*.data/`. Names that would
leave the tree are refused, whatever the pin says. Nothing is unpacked to a disk here.
"""

from __future__ import annotations

import io
import zipfile

from stackctl.core.base.values import TreeFile
from stackctl.core.patches.names import name_fault
from stackctl.errors import StackctlError

ROOT = "python"


def files_of_wheel(data: bytes, label: str) -> tuple[TreeFile, ...]:
    """The files of a wheel, sorted. `label` names it in errors. Raises StackctlError for what is no sound wheel."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            found = {info.filename: info for info in archive.infolist() if _is_source(info)}
            if len(found) != sum(_is_source(info) for info in archive.infolist()):
                raise StackctlError(f"{label}: the wheel holds a name twice", "Pin a sound wheel.")
            return tuple(_tree_file(archive, found[name], label) for name in sorted(found))
    except (zipfile.BadZipFile, zipfile.LargeZipFile, NotImplementedError, EOFError, ValueError) as error:
        raise StackctlError(f"{label}: not a readable wheel ({error})", "Pin a file that ends in .whl.") from error


def _is_source(info: zipfile.ZipInfo) -> bool:
    top = info.filename.partition("/")[0]
    return not info.is_dir() and not top.endswith((".dist-info", ".data"))


def _tree_file(archive: zipfile.ZipFile, info: zipfile.ZipInfo, label: str) -> TreeFile:
    fault = name_fault(info.filename)
    if fault:
        raise StackctlError(
            f"{label}: the wheel holds the name {info.filename!r}: {fault.reason}", "Pin a sound wheel."
        )
    executable = (info.external_attr >> 16) & 0o111
    return TreeFile(f"{ROOT}/{info.filename}", archive.read(info), "100755" if executable else "100644")
