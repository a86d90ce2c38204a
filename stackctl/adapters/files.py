"""Files of this machine. A write is whole or not at all; nothing here knows what the files mean."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from stackctl.errors import StackctlError

HINTS = {
    errno.ENOSPC: "The disk is full.",
    errno.EDQUOT: "The quota of this user is used up.",
    errno.EROFS: "The file system is mounted read-only.",
    errno.EACCES: "Look at owner and mode, and at those of the folders above.",
    errno.EPERM: "Look at owner, mode and attributes.",
    errno.ENOTDIR: "A file stands where a folder is meant.",
    errno.EISDIR: "A folder stands where a file is meant.",
    errno.EEXIST: "A file stands where a folder is meant.",
}


class LocalFiles:
    """`ports.Files`."""

    def read(self, path: str) -> bytes:
        with _told(path, "read"):
            mode = Path(path).stat().st_mode
            if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):  # a link to /dev/zero has no end
                raise StackctlError(f"cannot read {path}: it is a device", "Put the file itself there.")
            return Path(path).read_bytes()

    def write(self, path: str, data: bytes, mode: int | None = None) -> None:
        """A file that is there keeps its mode unless one is given. A link is replaced, never written through."""
        target = Path(path)
        with _told(path, "write", self.home()):
            target.parent.mkdir(parents=True, exist_ok=True)
            if mode is None:
                mode = target.stat().st_mode & 0o777 if target.is_file() else 0o644
            handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(data)
                    file.flush()
                    os.fchmod(file.fileno(), mode)
                    os.fsync(file.fileno())
                Path(temporary).replace(target)
            except BaseException:
                with suppress(OSError):
                    Path(temporary).unlink()
                raise

    def append_line(self, path: str, line: str) -> None:
        with _told(path, "write", self.home()):
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            with Path(path).open("ab") as file:
                file.write(line.rstrip("\n").encode() + b"\n")
                file.flush()
                os.fsync(file.fileno())

    def exists(self, path: str) -> bool:
        with _told(path, "look at"):
            return Path(path).exists()

    def is_dir(self, path: str) -> bool:
        with _told(path, "look at"):
            return Path(path).is_dir()

    def is_executable(self, path: str) -> bool:
        with _told(path, "look at"):
            return bool(Path(path).stat().st_mode & 0o111)

    def is_link(self, path: str) -> bool:
        with _told(path, "look at"):
            return Path(path).is_symlink()

    def mode(self, path: str) -> int:
        with _told(path, "look at"):
            return Path(path).stat().st_mode & 0o777

    def list(self, path: str) -> tuple[str, ...]:
        with _told(path, "list"):
            return tuple(sorted(entry.name for entry in Path(path).iterdir())) if Path(path).is_dir() else ()

    def walk(self, path: str) -> tuple[str, ...]:
        with _told(path, "list"):
            return tuple(sorted(_regular_files(Path(path))))

    def remove(self, path: str) -> None:
        with _told(path, "remove"):
            if Path(path).is_dir() and not Path(path).is_symlink():
                shutil.rmtree(path)
            else:
                Path(path).unlink(missing_ok=True)

    def home(self) -> str:
        given = os.environ.get("STACKCTL_HOME")
        return str(Path(given).expanduser().absolute() if given else Path.home() / ".local" / "share" / "stackctl")

    def cwd(self) -> str:
        with _told(".", "find"):
            return str(Path.cwd())


def _regular_files(root: Path) -> Iterator[str]:
    for folder, _, names in os.walk(root, onerror=_raise):
        for name in names:
            path = Path(folder, name)
            if path.is_file() and not path.is_symlink():
                yield path.relative_to(root).as_posix()


def _raise(error: OSError) -> None:
    raise error


@contextmanager
def _told(path: str, verb: str, home: str = "") -> Iterator[None]:
    """An OSError as our error, with what can be done. `home`: where $STACKCTL_HOME may be what is wrong."""
    try:
        yield
    except OSError as error:
        words = [HINTS[error.errno]] if error.errno in HINTS else []
        if home and path.startswith(home):
            words.append("$STACKCTL_HOME names another folder for stores and wheels.")
        raise StackctlError(f"cannot {verb} {path}: {error.strerror or error}", " ".join(words) or None) from error
