"""The files of bisect sessions: found, read, and appended to, every event on the disk before it is used.

`<workspace>/.stackctl/bisect/<stack>-<test>-<id>/events.jsonl`. Ids begin with the time, so that the newest sorts last.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from stackctl.core.bisect.events import Event, Log, Logged, Started, decode, encode
from stackctl.core.bisect.session import replay
from stackctl.errors import StackctlError
from stackctl.ports import Ports

EVENTS = "events.jsonl"


class Journal:
    """One session's file with its replay, always up to date."""

    def __init__(self, ports: Ports, file: str, log: Log) -> None:
        self.file = file
        self._ports = ports
        self._log = log
        self.session = replay(log)

    @property
    def entries(self) -> tuple[Logged, ...]:
        return self._log.entries

    def add(self, event: Event) -> None:
        """On the disk first, then in the session."""
        if self._log.torn:
            self._mend()
        now = self._ports.clock.now()
        self._ports.files.append_line(self.file, encode(event, now))
        self._log = Log((*self._log.entries, Logged(now, event)))
        self.session = replay(self._log)

    def _mend(self) -> None:
        """A line without its end would swallow the next one."""
        self._ports.files.write(self.file, self._log.whole.encode())
        self._ports.progress.say(f"{self.file}: the last line was torn and is dropped; what it was about is repeated")


def read(ports: Ports, file: str) -> Journal:
    """Raises StackctlError when it is no session."""
    text = ports.files.read(file).decode("utf-8", errors="replace")
    return Journal(ports, file, decode(text, file))


def begin(ports: Ports, workspace: str, started: Started) -> Journal:
    """A new file with its first event."""
    name = f"{started.stack}-{started.test}-{started.session}"
    file = f"{_folder(workspace)}/{name}/{EVENTS}"
    now = ports.clock.now()
    ports.files.append_line(file, encode(started, now))
    return Journal(ports, file, Log((Logged(now, started),)))


def new_id(ports: Ports, workspace: str) -> str:
    """The time in UTC, and a number when one began in this very second."""
    stamp = datetime.fromtimestamp(ports.clock.now(), UTC).strftime("%Y%m%dT%H%M%SZ")
    taken = ports.files.list(_folder(workspace))
    for number in range(1, 100):
        name = stamp if number == 1 else f"{stamp}-{number}"
        if not any(folder.endswith(f"-{name}") for folder in taken):
            return name
    raise StackctlError("a hundred sessions began in this second", hint="try again")


def newest(ports: Ports, workspace: str, stack: str, wanted: tuple[str | None, str | None] = (None, None)) -> Journal:
    """The newest session of a stack; `wanted`: of this test, with this id. Raises StackctlError when there is none."""
    test, ident = wanted
    found = [
        journal
        for journal in _all(ports, workspace, stack)
        if test in (None, journal.session.started.test) and ident in (None, journal.session.started.session)
    ]
    if not found:
        about = f" with test {test}" if test else ""
        about += f" called {ident}" if ident else ""
        raise StackctlError(f"no bisect of {stack}{about}", hint=f"stackctl bisect {stack} --test NAME begins one")
    return max(found, key=lambda journal: journal.session.started.session)


def unfinished(ports: Ports, workspace: str, stack: str, test: str) -> Journal | None:
    """The newest session of this stack and test, if it has not ended."""
    found = [j for j in _all(ports, workspace, stack) if j.session.started.test == test]
    latest = max(found, key=lambda journal: journal.session.started.session, default=None)
    return latest if latest and not latest.session.finished else None


def _all(ports: Ports, workspace: str, stack: str) -> Iterator[Journal]:
    """Sessions of a stack. A file that is no session any more is told and passed over."""
    folder = _folder(workspace)
    for name in ports.files.list(folder):
        file = f"{folder}/{name}/{EVENTS}"
        if not name.startswith(f"{stack}-") or not ports.files.exists(file):
            continue
        try:
            journal = read(ports, file)
        except StackctlError as error:
            ports.progress.say(f"passed over: {error}")
            continue
        if journal.session.started.stack == stack:
            yield journal


def _folder(workspace: str) -> str:
    return f"{workspace}/.stackctl/bisect"
