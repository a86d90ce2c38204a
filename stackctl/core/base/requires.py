"""What a base asks for of a package, read from its own words: a wheel's metadata or a source tree's pyproject.toml.

Extras are left out: nobody chose one. It resolves nothing.
"""

from __future__ import annotations

import io
import re
import tomllib
import zipfile
from collections.abc import Iterable, Sequence
from email.parser import BytesHeaderParser

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

METADATA = re.compile(r"[^/]+\.dist-info/METADATA")
PROJECT = "python/pyproject.toml"  # where a checkout of sglang has it


def requires_of_wheel(data: bytes) -> tuple[str, ...]:
    """The Requires-Dist lines; empty when it has none, or is no wheel."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = [name for name in archive.namelist() if METADATA.fullmatch(name)]
            text = archive.read(names[0]) if names else b""
    except (zipfile.BadZipFile, NotImplementedError, EOFError, ValueError):
        return ()
    return tuple(str(line) for line in BytesHeaderParser().parsebytes(text).get_all("Requires-Dist", []))


def requires_of_project(data: bytes) -> tuple[str, ...]:
    """`project.dependencies`; empty when there are none, or they are not written down there."""
    try:
        lines = tomllib.loads(data.decode("utf-8")).get("project", {}).get("dependencies", [])
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, AttributeError):
        return ()
    return tuple(line for line in lines if isinstance(line, str)) if isinstance(lines, Sequence) else ()


def asked_for(lines: Iterable[str], package: str) -> SpecifierSet | None:
    """All that the lines say of versions of `package`; None when they say nothing."""
    wanted = SpecifierSet()
    for line in lines:
        try:
            found = Requirement(line)
        except InvalidRequirement:
            continue
        of_extra = found.marker is not None and "extra" in str(found.marker)
        if canonicalize_name(found.name) == canonicalize_name(package) and not of_extra:
            wanted &= found.specifier
    return wanted or None
