"""A tree as a tar.gz, the same bytes every time, for the way to a host."""

from __future__ import annotations

import gzip
import io
import tarfile
from collections.abc import Iterable, Mapping
from typing import Protocol

from stackctl.errors import StackctlError

LINK, EXECUTABLE, SUBMODULE = "120000", "100755", "160000"


class Entry(Protocol):
    """What is needed of `ports.TreeEntry`."""

    @property
    def path(self) -> str: ...

    @property
    def mode(self) -> str: ...


def archive(entries: Iterable[Entry], contents: Mapping[str, bytes]) -> bytes:
    """Raises StackctlError for a submodule: its files are in another repository."""
    stream = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=stream, mode="wb", compresslevel=1, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        for entry in entries:
            if entry.mode == SUBMODULE:
                raise StackctlError(f"{entry.path} is a submodule: its files are not in the tree", "Pin it by itself.")
            data = contents[entry.path]
            member = tarfile.TarInfo(entry.path)
            if entry.mode == LINK:
                member.type, member.linkname = tarfile.SYMTYPE, data.decode("utf-8", "surrogateescape")
                tar.addfile(member)
                continue
            member.size, member.mode = len(data), 0o755 if entry.mode == EXECUTABLE else 0o644
            tar.addfile(member, io.BytesIO(data))
    return stream.getvalue()
