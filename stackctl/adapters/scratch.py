"""A folder that is thrown away, in which foreign programs may run: no network, and nothing else of the machine to
write to, where the kernel lets us build those walls. It says which of them stand.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path

from stackctl.errors import StackctlError
from stackctl.ports import Process, TreeFile
from stackctl.ports_import import Ran

LINK = "120000"
# the folder stays writable; what is mounted elsewhere, and the root with it, does not
SHUT = (
    'mount --make-rprivate / && mount --bind "$1" "$1" || exit 99; '
    "while read -r _ at kind _; do case $kind in proc|sysfs|cgroup*|devpts|mqueue) continue;; esac; "
    'case $at in "$1"|"$1"/*) continue;; esac; at=$(printf "%b" "$at"); '
    'mount -o remount,bind,ro "$at" 2>/dev/null; done </proc/self/mounts; '
    'if touch "$2" 2>/dev/null; then rm -f "$2"; exit 98; fi; cd "$3" && shift 3 || exit 97; '
    "if setpriv --no-new-privs --bounding-set=-all true 2>/dev/null; "
    'then exec setpriv --no-new-privs --bounding-set=-all "$@"; fi; exec "$@"'
)

ALONE = ("--pid", "--fork", "--kill-child")  # what it starts ends with it, and it sees no other program


@contextmanager
def scratch(process: Process) -> Iterator[LocalScratch]:
    folder = tempfile.mkdtemp(prefix="stackctl-scratch-")
    try:
        yield LocalScratch(str(Path(folder).resolve()), process)
    finally:
        _give_back(folder)


class LocalScratch:
    """`ports.Scratch`. The tree is in `root`; the programs' home and temporary files are beside it."""

    def __init__(self, folder: str, process: Process) -> None:
        self._folder, self._process = folder, process
        self.root = f"{folder}/tree"
        for name in ("tree", "home", "tmp"):
            Path(folder, name).mkdir()

    def put(self, files: Iterable[TreeFile]) -> None:
        for file in files:
            path = self._inside(file.path)
            path.parent.mkdir(parents=True, exist_ok=True)
            if file.mode == LINK:
                path.symlink_to(os.fsdecode(file.data))
                continue
            path.write_bytes(file.data)
            if file.mode == "100755":
                path.chmod(0o755)

    def keep(self, name: str, data: bytes) -> str:
        path = Path(self._folder, "home", Path(name).name)
        path.write_bytes(data)
        return str(path)

    def files(self) -> Iterable[TreeFile]:
        for folder, folders, names in os.walk(self.root):
            folders[:] = sorted(name for name in folders if name != "__pycache__")
            links = [name for name in folders if Path(folder, name).is_symlink()]
            for name in sorted([*names, *links]):
                path = Path(folder, name)
                shown = path.relative_to(self.root).as_posix()
                if path.is_symlink():
                    yield TreeFile(shown, os.fsencode(path.readlink()), LINK)
                elif path.is_file() and path.suffix != ".pyc":
                    mode = "100755" if path.stat().st_mode & 0o100 else "100644"
                    yield TreeFile(shown, path.read_bytes(), mode)

    def run(self, argv: Sequence[str], *, cwd: str, input: bytes = b"", timeout: float = 60.0) -> Ran:
        env = {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": f"{self._folder}/home",
            "TMPDIR": f"{self._folder}/tmp",
            "LC_ALL": "C.UTF-8",
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONPATH": f"{self.root}/python",
        }
        words = [*self._wall, *self._entered(cwd), *argv]
        done = self._process.run(words, input=input, env=env, cwd=cwd, timeout=timeout)
        return Ran(done.code, done.stdout, done.stderr)

    def walls(self) -> tuple[str, ...]:
        names = {"--net": "network", "--mount": "files"}
        return tuple(name for option, name in names.items() if option in self._wall)

    @cached_property
    def _wall(self) -> tuple[str, ...]:
        """The strongest that works here, found by trying: as root, or as root of a user namespace of one's own."""
        for mapped in ((), ("--map-root-user",)):
            for options in (("--net", "--mount", "--mount-proc", *ALONE), ("--net", *ALONE), ("--net",)):
                words = ("unshare", *mapped, *options)
                if self._works(words):
                    return words
        return ()

    def _works(self, words: tuple[str, ...]) -> bool:
        entered = self._shut(self.root) if "--mount" in words else ()
        try:
            return self._process.run([*words, *entered, "true"], cwd=self.root, timeout=20.0).ok
        except StackctlError:
            return False

    def _entered(self, cwd: str) -> tuple[str, ...]:
        return self._shut(cwd) if "--mount" in self._wall else ()

    def _shut(self, cwd: str) -> tuple[str, ...]:
        probe = str(Path(self._folder).parent / f".{Path(self._folder).name}.probe")
        return ("sh", "-c", SHUT, "sh", self._folder, probe, cwd)

    def _inside(self, path: str) -> Path:
        full = Path(self.root, path)
        if not full.parent.resolve().is_relative_to(self.root):
            raise StackctlError(f"{path} would lie outside of the scratch tree", "Take the link out of the tree.")
        return full


def _give_back(folder: str) -> None:
    """A program may have taken away the right to write."""
    for at, _, _ in os.walk(folder):
        Path(at).chmod(0o700)
    shutil.rmtree(folder, ignore_errors=True)
