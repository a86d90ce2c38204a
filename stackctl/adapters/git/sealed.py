"""Git as a plumbing runner, sealed: it starts with an empty environment, so no configuration, hook, index, identity or
proxy of the user has a say. The bare store is made on first use. Which plumbing to run is the callers' business.
"""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stackctl.errors import StackctlError
from stackctl.ports import Files

CONFIG = (
    "core.hooksPath=/dev/null",
    "core.autocrlf=false",
    "core.attributesFile=/dev/null",
    "core.excludesFile=/dev/null",
    "core.protectHFS=true",
    "core.protectNTFS=true",
    "core.quotePath=true",
    "apply.whitespace=nowarn",
    "apply.ignoreWhitespace=no",
    "commit.gpgsign=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "fetch.unpackLimit=1",  # one pack, moved into place whole: a killed fetch leaves no half commit
    "fastimport.unpackLimit=0",  # always a pack
    "core.compression=1",
    "core.fsyncMethod=batch",
    "protocol.version=2",
    "http.lowSpeedLimit=1000",
    "http.lowSpeedTime=60",
)
IDENTITY = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "stackctl"), ("EMAIL", "stackctl@localhost"), ("DATE", "2000-01-01T00:00:00+00:00"))
}
TROUBLE = (
    "No space left", "Read-only file system", "Permission denied", "insufficient permission", "unable to create",
    "Not a directory", "Out of diskspace",
)  # fmt: skip
ELSEWHERE = "Is the disk full or read-only, or a file in its place? $STACKCTL_HOME names another folder for the store."


@dataclass(frozen=True)
class Said:
    code: int
    out: bytes
    err: str


class Sealed:
    """Runs git over `$STACKCTL_HOME/store.git`, or over another repository whose folder is in `env`'s GIT_DIR."""

    def __init__(self, files: Files) -> None:
        self._files = files

    def git(self, *args: str, stdin: bytes = b"", env: Mapping[str, str] | None = None, fail: bool = True) -> Said:
        store = self.store()
        said = self.run(list(args), stdin, {**sealed(store), **(env or {})})
        if fail and said.code:
            raise failure(args[0], said.err)
        return said

    def run(self, args: Sequence[str], stdin: bytes, env: Mapping[str, str]) -> Said:
        configured = [word for pair in CONFIG for word in ("-c", pair)]
        # `env -i`: GitPython always adds the caller's environment, and the seal must not depend on what is in it
        words = ["env", "-i", *(f"{key}={value}" for key, value in env.items()), "git", *configured, *args]
        with tempfile.TemporaryFile() as istream:
            istream.write(stdin)
            istream.seek(0)
            # the handle ends its process when it is let go, so it must outlive the talk
            handle = _vendor().Git().execute(words, istream=istream, as_process=True, start_new_session=True)
            process = handle.proc
            # no time limit: plumbing asks nobody and works through what it was given, so any number would be wrong on
            # a slow disk or for a large tree; a fetch has its own (http.lowSpeed* above, ssh's options in fetch.py)
            try:
                out, err = process.communicate()
            except BaseException:  # Ctrl-C must leave no git behind, nor the helpers that it has started
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGTERM)
                process.communicate()
                raise
        return Said(process.returncode, out, err.decode("utf-8", "surrogateescape"))

    @contextmanager
    def index(self) -> Iterator[Mapping[str, str]]:
        with tempfile.TemporaryDirectory(prefix="stackctl-index-") as folder:
            yield {"GIT_INDEX_FILE": str(Path(folder, "index"))}

    def store(self) -> str:
        """Made beside its place and renamed into it, so that two processes may try at once."""
        store = Path(self._files.home(), "store.git")
        if not store.is_dir():
            scratch = None
            try:
                store.parent.mkdir(parents=True, exist_ok=True)
                scratch = tempfile.mkdtemp(prefix=".store.", dir=store.parent)
                self.init(scratch)
                Path(scratch).rename(store)
            except OSError as error:
                if not store.is_dir():
                    raise StackctlError(
                        f"cannot make the store {store}: {error.strerror or error}", ELSEWHERE
                    ) from error
            finally:
                if scratch:
                    shutil.rmtree(scratch, ignore_errors=True)
        return str(store)

    def init(self, folder: str) -> None:
        said = self.run(["init", "--quiet", "--bare", "--template=", folder], b"", sealed(folder))
        if said.code:
            raise failure("init", said.err)
        trusted = "[safe]\n\tdirectory = *\n"  # a base may be another user's repository; its hooks do not run
        Path(folder, "sealed.gitconfig").write_text(trusted, "utf-8")


def _vendor() -> Any:
    try:
        import git
    except ImportError as error:  # GitPython looks for the program when it is imported
        raise StackctlError("git is not installed, or not on the PATH", "Install git 2.30 or newer.") from error
    return git


def sealed(git_dir: str) -> dict[str, str]:
    return {
        **IDENTITY,
        "PATH": os.environ.get("PATH", os.defpath),
        "TMPDIR": tempfile.gettempdir(),
        "HOME": git_dir,
        "LC_ALL": "C",
        "GIT_DIR": git_dir,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": str(Path(git_dir, "sealed.gitconfig")),
        "GIT_CEILING_DIRECTORIES": str(Path(git_dir).parent),
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_ALLOW_PROTOCOL": "none",
    }


def failure(what: str, said: str) -> StackctlError:
    text = next((line for line in said.splitlines() if line.startswith("fatal:")), said.strip()) or "it said nothing"
    hint = None
    if any(word in text for word in TROUBLE):
        hint = ELSEWHERE
    return StackctlError(f"git {what} failed in the store: {text}", hint)
