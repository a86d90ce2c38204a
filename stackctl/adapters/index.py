"""Asks the package index through pip, as a process, so that the user's pip configuration is obeyed.

No URL of an index is known here. What comes back is not trusted: the caller compares it with its pin.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from stackctl.errors import StackctlError
from stackctl.ports import Completed, Files, Process

TIMEOUT = 1800.0  # seconds for one download
PLATFORMS = ("manylinux_2_34_x86_64", "manylinux_2_28_x86_64", "manylinux2014_x86_64", "any")
OFFLINE = ("NewConnectionError", "NameResolutionError", "Temporary failure", "Network is unreachable", "ConnectTimeout")


class PipIndex:
    """`ports.Index`."""

    def __init__(self, process: Process, files: Files) -> None:
        self._process = process
        self._files = files

    def download(self, requirement: str, python_version: str | None = None) -> bytes | None:
        """A wheel for this interpreter, or for CPython `python_version` (`3.11`) on Linux, wherever we run."""
        if requirement.startswith("-"):
            raise StackctlError(f"{requirement!r} is no requirement", "Write NAME==VERSION.")
        with tempfile.TemporaryDirectory(prefix="stackctl-pip-") as folder:
            done = self._process.run(
                _argv(requirement, python_version, folder), env=_env(), cwd=folder, timeout=TIMEOUT
            )
            wheels = [name for name in self._files.list(folder) if name.endswith(".whl")]
            if done.ok and len(wheels) == 1:
                return self._files.read(str(Path(folder, wheels[0])))
            if _has_none(done):
                return None
            raise _failure(requirement, done)


def _argv(requirement: str, python_version: str | None, folder: str) -> list[str]:
    argv = [sys.executable, "-m", "pip", "download", "--quiet", "--no-input", "--disable-pip-version-check"]
    argv += ["--no-deps", "--only-binary=:all:", "-d", folder]
    if python_version:
        tag = "cp" + python_version.replace(".", "")
        argv += [
            "--implementation",
            "cp",
            "--python-version",
            python_version,
            "--abi",
            tag,
            "--abi",
            "abi3",
            "--abi",
            "none",
        ]
        for platform in PLATFORMS:
            argv += ["--platform", platform]
    return [*argv, requirement]


def _env() -> dict[str, str]:
    """The user's own, but pip must not write compiled files or colours into what we read."""
    return {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "NO_COLOR": "1"}


def _has_none(done: Completed) -> bool:
    """Pip says the same for an index that it cannot reach, after telling that it cannot reach it."""
    said = done.stderr.decode("utf-8", "replace")
    return "No matching distribution found" in said and not any(word in said for word in OFFLINE)


def _failure(requirement: str, done: Completed) -> StackctlError:
    said = done.stderr.decode("utf-8", "replace")
    last = next((line.strip() for line in reversed(said.splitlines()) if line.strip()), f"exit code {done.code}")
    if "No module named pip" in said:
        hint = f"This interpreter has no pip: `{sys.executable} -m ensurepip`."
    elif any(word in said for word in OFFLINE):
        last = "the index cannot be reached"
        hint = "Run it once with network: the wheel is then kept in $STACKCTL_HOME. pip's index is its own setting."
    elif "No space left" in said:
        hint = "The disk for temporary files is full; $TMPDIR names another one."
    else:
        hint = "pip asked the index of your pip configuration (`pip config list`)."
    return StackctlError(f"cannot fetch {requirement}: {last}", hint)
