"""Runs programs of this machine. A program is a list of words, never a line for a shell."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress

from stackctl.errors import StackctlError
from stackctl.ports import Completed


class LocalProcess:
    """`ports.Process`. Each program gets a session of its own, so that all that it starts can be ended with it."""

    def run(
        self,
        argv: Sequence[str],
        *,
        input: bytes = b"",
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        timeout: float | None = None,
    ) -> Completed:
        """Raises StackctlError when the program is missing or takes longer than `timeout` seconds."""
        try:
            process = subprocess.Popen(
                list(argv),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=None if env is None else dict(env),
                cwd=cwd,
                start_new_session=True,
            )
        except OSError as error:
            raise StackctlError(
                f"cannot run {argv[0]}: {error.strerror or error}", f"Is {argv[0]} installed?"
            ) from error
        with process:
            try:
                stdout, stderr = process.communicate(input, timeout)
            except subprocess.TimeoutExpired as error:
                _end(process)
                raise StackctlError(f"{argv[0]} took longer than {timeout:g} s and was ended") from error
            except BaseException:  # Ctrl-C reaches us and not the program's session
                _end(process)
                raise
        return Completed(tuple(argv), process.returncode, stdout, stderr)


def _end(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
