"""The user, this process and the terminal it may ask on."""

from __future__ import annotations

import getpass
import os
import socket
import sys
from collections.abc import Mapping
from contextlib import suppress


class SystemWho:
    """`ports.Who`. With `yes`, every question is answered before it is asked."""

    def __init__(self, *, yes: bool = False) -> None:
        self._yes = yes

    def user(self) -> str:
        name = str(os.getuid())
        with suppress(KeyError, OSError):  # a user id without an entry in the password file
            name = getpass.getuser()
        return f"{name}@{socket.gethostname()}"

    def pid(self) -> int:
        return os.getpid()

    def alive(self, pid: int) -> bool:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        return True

    def env(self, name: str) -> str | None:
        return os.environ.get(name)

    def environment(self) -> Mapping[str, str]:
        return dict(os.environ)

    def python(self) -> str:
        return sys.executable

    def confirm(self, question: str) -> bool | None:
        if self._yes:
            return True
        if not (sys.stdin and sys.stdin.isatty() and sys.stderr.isatty()):
            return None
        sys.stderr.write(f"{question} [y/N] ")
        sys.stderr.flush()
        return sys.stdin.readline().strip().lower() in ("y", "yes")
