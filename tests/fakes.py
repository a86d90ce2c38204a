"""Fakes at the ports: small, whole, and honest enough to ship. No test patches a module of ours."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from stackctl.adapters.files import LocalFiles
from stackctl.core.stack.resolved import HostSpec
from stackctl.errors import StackctlError
from stackctl.ports import Completed, Host, Ports


class MemoryFiles:
    """`ports.Files` in a dictionary: path -> bytes. Folders are what paths imply."""

    def __init__(self, home: str = "/home/user/.local/share/stackctl", cwd: str = "/work") -> None:
        self.data: dict[str, bytes] = {}
        self._home, self._cwd = home, cwd

    def read(self, path: str) -> bytes:
        if path not in self.data:
            raise StackctlError(f"cannot read {path}: there is no such file")
        return self.data[path]

    def write(self, path: str, data: bytes, mode: int | None = None) -> None:
        self.data[path] = data

    def append_line(self, path: str, line: str) -> None:
        self.data[path] = self.data.get(path, b"") + line.rstrip("\n").encode() + b"\n"

    def exists(self, path: str) -> bool:
        return path in self.data or self.is_dir(path)

    def is_dir(self, path: str) -> bool:
        return any(name.startswith(f"{path}/") for name in self.data)

    def is_executable(self, path: str) -> bool:
        return False

    def is_link(self, path: str) -> bool:
        return False

    def mode(self, path: str) -> int:
        return 0o644

    def list(self, path: str) -> tuple[str, ...]:
        below = (name[len(path) + 1 :] for name in self.data if name.startswith(f"{path}/"))
        return tuple(sorted({name.partition("/")[0] for name in below}))

    def walk(self, path: str) -> tuple[str, ...]:
        return tuple(sorted(name[len(path) + 1 :] for name in self.data if name.startswith(f"{path}/")))

    def remove(self, path: str) -> None:
        for name in [name for name in self.data if name == path or name.startswith(f"{path}/")]:
            del self.data[name]

    def home(self) -> str:
        return self._home

    def cwd(self) -> str:
        return self._cwd


class SteppingClock:
    """`ports.Clock` that goes on by `step` seconds at each look, and by what is slept."""

    def __init__(self, start: float = 1_700_000_000.0, step: float = 1.0) -> None:
        self.time, self.step = start, step

    def now(self) -> float:
        self.time += self.step
        return self.time

    def monotonic(self) -> float:
        return self.now()

    def sleep(self, seconds: float) -> None:
        self.time += seconds


class Told:
    """`ports.Progress` that keeps every line."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    @contextmanager
    def step(self, text: str) -> Iterator[None]:
        yield
        self.lines.append(text)

    def say(self, text: str) -> None:
        self.lines.append(text)

    def live(self, text: str) -> None:
        self.lines.append(text)


class Somebody:
    """`ports.Who`: a user with a process, an environment and an answer to every question."""

    def __init__(self, pid: int = 1, alive: tuple[int, ...] = (), answer: bool | None = None) -> None:
        self._pid, self._alive, self._answer = pid, alive, answer
        self.variables: dict[str, str] = {}

    def user(self) -> str:
        return "somebody@here"

    def pid(self) -> int:
        return self._pid

    def alive(self, pid: int) -> bool:
        return pid in self._alive

    def env(self, name: str) -> str | None:
        return self.variables.get(name)

    def environment(self) -> dict[str, str]:
        return self.variables

    def python(self) -> str:
        return "/usr/bin/python3"

    def confirm(self, question: str) -> bool | None:
        return self._answer


class RepositoryTemplates:
    """`ports.Templates`: those given, else the real ones of the repository."""

    def __init__(self, own: dict[str, str] | None = None) -> None:
        self._own = own or {}

    def text(self, name: str, workspace: str) -> str:
        file = Path(__file__).parent.parent / "templates" / name
        if name not in self._own and not file.exists():
            raise StackctlError(f"there is no template {name}")
        return self._own[name] if name in self._own else file.read_text()

    def onhost(self, name: str) -> str:
        return (Path(__file__).parent.parent / "stackctl" / "onhost" / name).read_text()

    def data(self, name: str) -> bytes:
        return (Path(__file__).parent.parent / "stackctl" / "data" / name).read_bytes()


class Unused:
    """Stands for a port that a test must not touch: any use of it fails and names itself."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        raise AssertionError(f"{self._name}.{attribute} is not for this test")


class RecordedHost:
    """`ports.Host` that answers programs of `stackctl/onhost/` with what was recorded, by name; reads no file.

    An interpreter in `broken` is not there. An error is raised as it is, by every call.
    """

    def __init__(self, spec: HostSpec, answers: dict[str, Any] | StackctlError, broken: tuple[str, ...] = ()) -> None:
        self.spec = spec
        self._answers, self._broken = answers, broken
        self.asked: list[tuple[str, dict[str, Any]]] = []

    def run(self, argv: Sequence[str], *, input: bytes = b"", timeout: float = 60.0) -> Completed:
        if isinstance(self._answers, StackctlError):
            raise self._answers
        if argv[0] in self._broken:
            return Completed(tuple(argv), 127, b"", b"not found")
        if not argv[-1].startswith("{"):
            return Completed(tuple(argv), 0, b"", b"")
        program = argv[-2].rpartition("exec(compile(")[2].rpartition(", '")[0].rpartition(", '")[2].rstrip("'")
        self.asked.append((program, json.loads(argv[-1])))
        return Completed(tuple(argv), 0, json.dumps(self._answers[program]).encode(), b"")

    def get(self, path: str) -> bytes | None:
        return None

    def put(self, path: str, data: bytes, mode: int = 0o644) -> None:
        raise AssertionError(f"{self.spec.name}: {path} was written")

    def start_detached(self, argv: Sequence[str]) -> None:
        raise AssertionError(f"{self.spec.name}: {argv[0]} was started")

    def close(self) -> None:
        """There is no connection."""


class RecordedHosts:
    """`ports.Hosts` of recorded answers by the host's name."""

    def __init__(self, **answers: dict[str, Any] | StackctlError) -> None:
        self._answers = answers
        self.broken: tuple[str, ...] = ()
        self.opened: dict[str, RecordedHost] = {}

    def open(self, spec: HostSpec) -> Host:
        found = self.opened[spec.name] = RecordedHost(spec, self._answers[spec.name], self.broken)
        return found


def fake_ports(**given: Any) -> Ports:
    """Ports of fakes; those without one here, and not given, must not be used."""
    made: dict[str, Any] = {"files": MemoryFiles(), "clock": SteppingClock(), "progress": Told(), "who": Somebody()}
    unused = (
        "branches", "scratch", "git", "revisions", "merges", "index",
        "hosts", "http", "process", "templates", "work_trees",
    )  # fmt: skip
    rest = {name: Unused(name) for name in unused}
    return cast(Ports, Ports(**{**rest, **made, **given}))


class LocalFilesAt(LocalFiles):
    """The real files, with a home and a current folder of a test's own."""

    def __init__(self, home: Path, cwd: Path) -> None:
        self._home, self._cwd = home, cwd

    def home(self) -> str:
        return str(self._home)

    def cwd(self) -> str:
        return str(self._cwd)


class Wheels:
    """`ports.Index` of given wheels by Python version (None: our own); an error is raised as it is."""

    def __init__(self, wheels: dict[str | None, bytes | StackctlError]) -> None:
        self._wheels = wheels
        self.asked: list[tuple[str, str | None]] = []

    def download(self, requirement: str, python_version: str | None = None) -> bytes | None:
        self.asked.append((requirement, python_version))
        given = self._wheels.get(python_version)
        if isinstance(given, StackctlError):
            raise given
        return given
