"""Wheels made on the spot, so that tests of installing need no package index."""

from __future__ import annotations

import base64
import hashlib
import zipfile
from collections.abc import Mapping
from pathlib import Path


def wheel(folder: Path, name: str, version: str, files: Mapping[str, str], metadata: str = "") -> str:
    """A pure wheel in `folder`; its sha256. `metadata`: more lines of METADATA."""
    info = f"{name}-{version}.dist-info"
    content = {
        **files,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{metadata}",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    rows = "".join(f"{path},{_digest(text)},{len(text.encode())}\n" for path, text in content.items())
    path = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for inside, text in {**content, f"{info}/RECORD": f"{rows}{info}/RECORD,,\n"}.items():
            archive.writestr(zipfile.ZipInfo(inside), text)
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _digest(text: str) -> str:
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip("=")
