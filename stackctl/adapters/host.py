"""One machine that serves: this one, or one over SSH. The only home of fabric.

Both differ in how they run a program, and in nothing else: files are put and fetched by small POSIX commands, so
that there is one code path above. An unknown host key is refused, never learnt; every wait has an end.
"""

from __future__ import annotations

import os
import posixpath
import shlex
import socket
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from stackctl.core.stack.resolved import HostSpec
from stackctl.errors import StackctlError
from stackctl.ports import Completed, Host, Process

CONNECT = 10.0  # seconds to connect, and for the other side's banner and its answer to our key
KEEPALIVE = 15  # seconds
MISSING = 66  # our own exit code for "no such file"; no program of a shell uses it
KEPT_ENV = ("HOME", "PATH", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "TZ", "TMPDIR")

PUT = 'd=$(dirname "$1") && mkdir -p "$d" && t=$1.new.$$ && cat >"$t" && chmod "$2" "$t" && mv -f "$t" "$1"'
# what may not be looked for is not missing, and a pipe would be waited for
GET = (
    'if [ -p "$1" ]; then echo "it is a pipe" >&2; exit 1; fi; if [ ! -e "$1" ]; then d=$(dirname "$1"); '
    'while [ ! -e "$d" ] && [ "$d" != . ] && [ "$d" != / ]; do d=$(dirname "$d"); done; '
    f'if [ -d "$d" ] && [ ! -x "$d" ]; then echo "$d: Permission denied" >&2; exit 1; fi; exit {MISSING}; fi; '
    'exec cat "$1"'
)
DETACH = 'setsid "$@" </dev/null >/dev/null 2>&1 &'
IN_HOME = 'cd && exec "$@"'
T = TypeVar("T")


class RealHosts:
    """`ports.Hosts`."""

    def __init__(self, process: Process) -> None:
        self._process = process

    def open(self, spec: HostSpec) -> Host:
        return LocalHost(spec, self._process) if spec.is_local else SshHost(spec)


class _ShellHost(ABC):
    """What both have in common, given `run`."""

    def __init__(self, spec: HostSpec) -> None:
        self.spec = spec

    @abstractmethod
    def run(self, argv: Sequence[str], *, input: bytes = b"", timeout: float = 60.0) -> Completed: ...

    def put(self, path: str, data: bytes, mode: int = 0o644) -> None:
        done = self.run(_shell(PUT, self._absolute(path), f"{mode:o}"), input=data, timeout=300.0)
        if not done.ok:
            raise StackctlError(f"{self.spec.name}: cannot write {path}: {_last_words(done)}")

    def get(self, path: str) -> bytes | None:
        done = self.run(_shell(GET, self._absolute(path)))
        if done.code == MISSING:
            return None
        if not done.ok:
            raise StackctlError(f"{self.spec.name}: cannot read {path}: {_last_words(done)}")
        return done.stdout

    def start_detached(self, argv: Sequence[str]) -> None:
        done = self.run(_shell(DETACH, *argv))
        if not done.ok:
            raise StackctlError(f"{self.spec.name}: cannot start {argv[0]}: {_last_words(done)}")

    @abstractmethod
    def close(self) -> None: ...

    def _absolute(self, path: str) -> str:
        """A path in the home is relative there, since every program starts in the home."""
        return path.removeprefix("~/") if path.startswith("~/") else posixpath.normpath(path)


class LocalHost(_ShellHost):
    """This machine. Programs get a bare environment, as a login over SSH would give them."""

    def __init__(self, spec: HostSpec, process: Process) -> None:
        super().__init__(spec)
        self._process = process

    def run(self, argv: Sequence[str], *, input: bytes = b"", timeout: float = 60.0) -> Completed:
        try:
            done = self._process.run(_shell(IN_HOME, *argv), input=input, env=_bare(os.environ), timeout=timeout)
        except StackctlError as error:
            raise StackctlError(f"{self.spec.name}: {error.message}", error.hint) from error
        return Completed(tuple(argv), done.code, done.stdout, done.stderr)

    def close(self) -> None:
        """There is no connection."""


class SshHost(_ShellHost):
    """A machine over SSH: one connection, kept, made again when it broke."""

    def __init__(self, spec: HostSpec) -> None:
        super().__init__(spec)
        self._connection: Any = None
        self._lock = threading.Lock()

    def run(self, argv: Sequence[str], *, input: bytes = b"", timeout: float = 60.0) -> Completed:
        deadline = time.monotonic() + timeout
        channel = self._asked(self._session)
        try:
            return self._asked(lambda: _converse(channel, argv, input, deadline))
        finally:
            channel.close()

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _session(self) -> Any:
        with self._lock:
            if self._connection is None:
                self._connection = _connect(self.spec)
            return self._connection.transport.open_session(timeout=CONNECT)

    def _asked(self, what: Callable[[], T]) -> T:
        """`what()`, with every failure told in our words; a broken connection is dropped."""
        import paramiko

        try:
            return what()
        except StackctlError:
            raise
        except (paramiko.SSHException, EOFError, OSError) as error:
            self.close()
            raise _told(self.spec, error) from error


def _connect(spec: HostSpec) -> Any:
    import fabric
    import paramiko

    options: dict[str, object] = {"banner_timeout": CONNECT, "auth_timeout": CONNECT}
    if spec.identity:
        options |= {"key_filename": spec.identity, "look_for_keys": False, "allow_agent": False}
    connection = fabric.Connection(spec.address, connect_timeout=CONNECT, connect_kwargs=options)
    # fabric would learn unknown keys by itself
    connection.client.set_missing_host_key_policy(paramiko.RejectPolicy())
    if spec.known_hosts:
        connection.client.load_host_keys(spec.known_hosts)
    else:
        connection.client.load_system_host_keys()
    connection.open()
    connection.transport.set_keepalive(KEEPALIVE)
    return connection


def _converse(channel: Any, argv: Sequence[str], input: bytes, deadline: float) -> Completed:
    """Send all, read all, wait for the end. Both outputs are read at once, so that neither can block the other."""
    channel.settimeout(max(0.1, deadline - time.monotonic()))
    channel.exec_command(shlex.join(argv))
    errors: list[bytes] = []
    helpers = (
        threading.Thread(target=_send, args=(channel, input), daemon=True),
        threading.Thread(target=_read, args=(channel.recv_stderr, errors), daemon=True),
    )
    for helper in helpers:
        helper.start()
    output: list[bytes] = []
    while piece := channel.recv(1 << 16):
        output.append(piece)
        if time.monotonic() > deadline:
            raise TimeoutError
    for helper in helpers:
        helper.join(max(0.1, deadline - time.monotonic()))
    if not channel.status_event.wait(max(0.1, deadline - time.monotonic())):
        raise TimeoutError
    if channel.exit_status == -1:
        raise EOFError("the connection broke before the program ended")
    return Completed(tuple(argv), channel.exit_status, b"".join(output), b"".join(errors))


def _send(channel: Any, data: bytes) -> None:
    try:
        channel.sendall(data)
        channel.shutdown_write()
    except OSError:  # the program ended without reading its input; its exit code tells
        return


def _read(receive: Callable[[int], bytes], into: list[bytes]) -> None:
    try:
        while piece := receive(1 << 16):
            into.append(piece)
    except OSError:  # the main reader meets the same fault and tells it
        return


def _told(spec: HostSpec, error: Exception) -> StackctlError:
    import paramiko

    host, _, port = spec.address.rpartition("@")[2].partition(":")
    place, known = f"{spec.name} ({spec.address})", spec.known_hosts or "~/.ssh/known_hosts"
    match error:
        case paramiko.BadHostKeyException():
            return StackctlError(
                f"{place}: its host key is not the one known here: someone else answers, or it was reinstalled",
                f"Compare the fingerprint with the machine's own, then replace the line in {known}.",
            )
        case paramiko.AuthenticationException():
            return StackctlError(
                f"{place}: it does not accept our key", f"Try: ssh {spec.address.partition(':')[0]}; see `identity`."
            )
        case paramiko.SSHException() if "known_hosts" in str(error):
            return StackctlError(
                f"{place}: its host key is not known here",
                f"Compare its fingerprint, then: ssh-keyscan -p {port or 22} {host} >> {known}",
            )
        case TimeoutError():
            return StackctlError(f"{place}: no answer in time", "Is it up, and reachable from here?")
        case socket.gaierror():
            return StackctlError(f"{place}: the name is not known here", "See `address`, or ~/.ssh/config.")
        case _:
            return StackctlError(f"{place}: {str(error) or type(error).__name__}", "Is it up, and reachable from here?")


def _shell(script: str, *words: str) -> tuple[str, ...]:
    return ("sh", "-c", script, "sh", *words)


def _bare(env: Mapping[str, str]) -> dict[str, str]:
    return {name: env[name] for name in KEPT_ENV if name in env}


def _last_words(done: Completed) -> str:
    lines = (done.stderr or done.stdout).decode("utf-8", "replace").strip().splitlines()
    return lines[-1] if lines else f"exit {done.code}"
