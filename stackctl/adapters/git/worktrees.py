"""Work trees in which a person edits a patch: repositories of their own that borrow objects from the store.

What the person's own git does there (a commit, a stash, a gc) never reaches the store. What stackctl reads there it
reads through a throw-away repository, so that neither attributes nor configuration change a byte on the way.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from stackctl.adapters.git.sealed import Said, Sealed, failure, sealed
from stackctl.core.names import TreeId
from stackctl.errors import StackctlError
from stackctl.ports import Files, Merged, Snapshot

AS_THEY_ARE = "* -text -eol -ident -filter -working-tree-encoding\n"
NO_PART = (
    "__pycache__/", "*.py[co]", "*~", ".*.sw?", "#*#", ".#*", "*.orig", "*.rej", "*.bak", ".DS_Store",
    ".mypy_cache/", ".ruff_cache/", ".pytest_cache/", ".idea/", ".vscode/", ".ipynb_checkpoints/",
)  # fmt: skip
SETTINGS = "[core]\n\tbare = false\n\tautocrlf = false\n\texcludesFile = /dev/null\n\tlogAllRefUpdates = true\n"
INDEX = ".git/stackctl.index"
PERSON = ("HOME", "XDG_CONFIG_HOME", "PATH", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM")
AS_LEFT = "Its files are as you left them."


class GitWorkTrees:
    """`ports.WorkTrees`."""

    def __init__(self, files: Files) -> None:
        self._sealed = Sealed(files)

    def make(self, folder: str, base: TreeId, shown: TreeId, branch: str, title: str) -> None:
        env = self._own(folder)
        Path(folder).mkdir(parents=True)
        self._sealed.init(env["GIT_DIR"])
        self.lend(folder)
        Path(env["GIT_DIR"], "config").write_text(SETTINGS, "utf-8")
        _put(Path(env["GIT_DIR"], "info", "attributes"), AS_THEY_ARE)
        _put(Path(env["GIT_DIR"], "info", "exclude"), "".join(f"{pattern}\n" for pattern in NO_PART))
        right = self._run(folder, "check-ref-format", f"refs/heads/{branch}", fail=False).code == 0
        name = f"refs/heads/{branch if right else 'patch'}"
        commit = self._run(folder, "commit-tree", base, "-m", title).out.decode().strip()
        self._run(folder, "update-ref", "--no-deref", name, commit)
        self._run(folder, "symbolic-ref", "HEAD", name)
        self._run(folder, "read-tree", shown)
        self._run(folder, "checkout-index", "--all", "--quiet")
        self._run(folder, "update-index", "-q", "--refresh", fail=False)
        self._run(folder, "read-tree", "-m", base)
        self._show_new(folder, base, shown)

    def lend(self, folder: str) -> None:
        _put(Path(folder, ".git", "objects", "info", "alternates"), f"{self._sealed.store()}/objects\n")

    def merge(self, folder: str, patch: bytes, strip: int, paths: Sequence[str]) -> tuple[Merged, ...]:
        with tempfile.TemporaryDirectory(prefix="stackctl-merge-") as scratch:
            file = Path(scratch, "one.patch")
            file.write_bytes(patch)
            done = tuple(self._merge_one(folder, str(file), strip, path) for path in paths)
        staged = set(self._names(folder, "diff", "--cached", "--name-only", "--no-renames", "-z"))
        unmerged = set(self._unmerged(folder))
        settled = sorted(staged - unmerged)
        if settled:  # the edits stay uncommitted and unstaged, as those of a patch that applies
            names = b"\0".join(os.fsencode(name) for name in settled)
            self._run(folder, "reset", "-q", "--pathspec-from-file=-", "--pathspec-file-nul", stdin=names, fail=False)
            self._intend(folder, [name for name in settled if not self._in_head(folder, name)])
        return done

    def snapshot(self, folder: str, base: TreeId) -> Snapshot:
        with self._reader(folder) as env:
            options = ("-c", f"core.excludesFile={folder}/.git/info/exclude", "-C", folder)
            self._known_files(folder, env, base)
            self._read(env, *options, "add", "--all", "--", ".")
            forced = self._forced(folder, set(_split(self._read(env, *options, "ls-files", "-z").out)))
            if forced:
                names = b"\0".join(os.fsencode(name) for name in forced)
                from_file = ("--pathspec-from-file=-", "--pathspec-file-nul")
                self._read(env, *options, "--literal-pathspecs", "add", "--force", *from_file, stdin=names)
            tree = self._read(env, *options, "write-tree").out.decode().strip()
            ignored = self._read(env, *options, "ls-files", "-z", "--others", "--ignored", "--exclude-standard").out
            self._keep_index(folder, env)
        unmerged = self._unmerged(folder)
        return Snapshot(TreeId(tree), _split(ignored), tuple(unmerged), self._only_here(folder))

    def move(self, old: str, new: str) -> None:
        try:
            Path(old).rename(new)
        except OSError as error:
            raise StackctlError(f"cannot rename {old} to {new}: {error.strerror or error}") from error

    def author(self) -> str | None:
        env = {name: os.environ[name] for name in PERSON if name in os.environ}
        said = [
            os.environ.get(f"GIT_AUTHOR_{what.upper()}") or self._configured(env, what) for what in ("name", "email")
        ]
        return f"{said[0]} <{said[1]}>" if all(said) else None

    def _configured(self, env: dict[str, str], what: str) -> str:
        said = self._sealed.run(["-C", "/", "config", "--get", f"user.{what}"], b"", env)
        return said.out.decode("utf-8", "replace").strip() if said.code == 0 else ""

    def _merge_one(self, folder: str, file: str, strip: int, path: str) -> Merged:
        """Three-way where git has the file that the patch was made against; else those hunks that fit."""
        common = (f"-p{strip}", f"--include={_literal(path)}", "--whitespace=nowarn")
        said = self._run(folder, "apply", "--3way", *common, file, fail=False)
        if said.code == 0:
            return Merged(path, "merged")
        if _split(self._run(folder, "ls-files", "-z", "--unmerged", "--", f":(literal){path}").out):
            return Merged(path, "conflict")
        said = self._run(folder, "apply", "--reject", *common, file, fail=False)
        return Merged(path, "parts" if Path(folder, f"{path}.rej").exists() else "left out", _reason(said.err))

    def _show_new(self, folder: str, base: TreeId, shown: TreeId) -> None:
        """So that `git diff` shows the new files of a patch too."""
        self._intend(
            folder, self._names(folder, "diff-tree", "-r", "-z", "--name-only", "--diff-filter=A", base, shown)
        )

    def _intend(self, folder: str, names: Sequence[str]) -> None:
        there = [name for name in names if Path(folder, name).exists()]
        if there:
            data = b"\0".join(os.fsencode(name) for name in there)
            from_file = ("--pathspec-from-file=-", "--pathspec-file-nul")
            self._run(folder, "--literal-pathspecs", "add", "--force", "--intent-to-add", *from_file, stdin=data)

    def _in_head(self, folder: str, name: str) -> bool:
        return self._run(folder, "cat-file", "-e", f"HEAD:{name}", fail=False).code == 0

    def _forced(self, folder: str, known: set[str]) -> list[str]:
        """Files that the person has put under git although a pattern leaves them out."""
        return [name for name in self._names(folder, "ls-files", "-z") if name not in known and _is_file(folder, name)]

    def _only_here(self, folder: str) -> tuple[str, ...]:
        """Refs that would go with the work tree: a stash, and branches beside the one that it stands on."""
        refs = self._run(folder, "for-each-ref", "--format=%(refname)", fail=False).out.decode("utf-8", "replace")
        head = self._run(folder, "symbolic-ref", "-q", "HEAD", fail=False).out.decode("utf-8", "replace").strip()
        return tuple(ref for ref in refs.split("\n") if ref and ref != head)

    def _unmerged(self, folder: str) -> list[str]:
        lines = _split(self._run(folder, "ls-files", "--unmerged", "-z").out)  # MODE ID STAGE, a tab, the name
        return list(dict.fromkeys(line.partition("\t")[2] for line in lines))

    def _names(self, folder: str, *args: str) -> list[str]:
        return list(dict.fromkeys(_split(self._run(folder, *args).out)))

    def _own(self, folder: str) -> dict[str, str]:
        git_dir = str(Path(folder, ".git"))
        return {**sealed(git_dir), "GIT_WORK_TREE": folder}

    def _run(self, folder: str, *args: str, stdin: bytes = b"", fail: bool = True) -> Said:
        said = self._sealed.run(["-c", "core.fsmonitor=false", "-C", folder, *args], stdin, self._own(folder))
        if fail and said.code:
            raise _trouble(folder, args[0], said)
        return said

    @contextmanager
    def _reader(self, folder: str) -> Iterator[dict[str, str]]:
        store = self._sealed.store()
        with tempfile.TemporaryDirectory(prefix="stackctl-snapshot-") as scratch:
            git_dir = str(Path(scratch, "repo.git"))
            self._sealed.init(git_dir)
            _put(Path(git_dir, "info", "attributes"), AS_THEY_ARE)
            yield {
                **sealed(git_dir),
                "GIT_WORK_TREE": folder,
                "GIT_OBJECT_DIRECTORY": str(Path(store, "objects")),
                "GIT_INDEX_FILE": str(Path(scratch, "index")),
            }

    def _known_files(self, folder: str, env: dict[str, str], base: TreeId) -> None:
        """The index of `base`; files that the last look found unchanged are not read again."""
        index, kept = Path(env["GIT_INDEX_FILE"]), Path(folder, INDEX)
        if kept.is_file():
            shutil.copy2(kept, index)  # with its time, by which git tells what changed right after it
            if self._sealed.run(["read-tree", "-m", base], b"", env).code == 0:
                return
            index.unlink(missing_ok=True)  # it is no index of ours, or was cut off
        self._read(env, "read-tree", base)

    def _keep_index(self, folder: str, env: dict[str, str]) -> None:
        kept = Path(folder, INDEX)
        with suppress(OSError):  # it only saves time
            shutil.copy2(env["GIT_INDEX_FILE"], f"{kept}.new")
            Path(f"{kept}.new").replace(kept)

    def _read(self, env: dict[str, str], *args: str, stdin: bytes = b"") -> Said:
        said = self._sealed.run(args, stdin, env)
        if said.code:
            raise _trouble(env["GIT_WORK_TREE"], "snapshot", said)
        return said


def _trouble(folder: str, what: str, said: Said) -> StackctlError:
    told = failure(what, said.err)
    lines = [line for line in said.err.splitlines() if line.startswith(("error:", "fatal:"))]
    text = "; ".join(line.partition(": ")[2] for line in lines) or told.message
    verb = "read" if what == "snapshot" else f"write ({what})"
    return StackctlError(f"{folder}: git cannot {verb} the work tree: {text}", told.hint or AS_LEFT)


def _reason(said: str) -> str:
    errors = [line.removeprefix("error: ") for line in said.splitlines() if line.startswith("error: ")]
    return "; ".join(dict.fromkeys(errors))


def _is_file(folder: str, name: str) -> bool:
    path = Path(folder, name)
    return path.is_symlink() or path.is_file()


def _literal(path: str) -> str:
    return "".join(f"\\{char}" if char in "*?[\\" else char for char in path)


def _split(out: bytes) -> tuple[str, ...]:
    return tuple(os.fsdecode(part) for part in out.split(b"\0") if part)


def _put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
