"""Files of a model's folder that decide what is served: which they are, how they are read, what a manifest says.

A folder may hold links to nothing, pipes, pointers in place of files: each is told, none is waited for.
"""

from __future__ import annotations

import errno
import fnmatch
import hashlib
import os
import re
import stat
from typing import Any

from stackctl.onhost import safetensors

INDEX = "model.safetensors.index.json"
# files that decide what is served, besides the weights
PINNED = (
    "config.json",
    "generation_config.json",
    "hf_quant_config.json",
    "quant*_config.json",
    "quant_model_description.json",
    "*processor_config.json",
    "tokenizer*",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.*",
    "merges.txt",
    "*.tiktoken",
    "chat_template*",
    "*.jinja",
    "params.json",
    "*.py",
    INDEX,
)
FOLDERS = ("encoding", "additional_chat_templates")  # of them every file counts
LFS = b"version https://git-lfs.github.com/spec/"
REPOSITORY = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
SMALL = 64 << 20  # bytes of a file that is read whole
MOST = 10_000  # files


class Fault(Exception):
    """Why a file cannot be read: kind and words."""

    def __init__(self, kind: str, words: str) -> None:
        super().__init__(words)
        self.kind = kind


def place(path: str, hub: str | None) -> str:
    """The folder that a path means. A repository's name (`OWNER/NAME`) means its snapshot in the hub's cache, which is
    `hub`, or where this user's environment says."""
    if not REPOSITORY.fullmatch(path):
        return os.path.expanduser(path)
    home = os.environ.get("HF_HOME") or os.path.join(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "huggingface")
    cache = hub or os.environ.get("HF_HUB_CACHE") or os.path.join(home, "hub")
    repository = os.path.join(os.path.expanduser(cache), "models--" + path.replace("/", "--"))
    try:
        with opened(os.path.join(repository, "refs", "main")) as file:
            revision = file.read(64).decode("ascii", "replace").strip()
    except Fault:
        return repository
    return os.path.join(repository, "snapshots", revision)


def listed(folder: str) -> list[str]:
    """Files and broken links of the folder and of the two below it that count, as relative names."""
    names = []
    for place in ("", *FOLDERS):
        try:
            found = sorted(os.listdir(os.path.join(folder, place)))
        except OSError:
            continue
        names += [os.path.join(place, name) for name in found if not os.path.isdir(os.path.join(folder, place, name))]
    return names[:MOST]


def is_pinned(name: str) -> bool:
    return "/" in name or any(fnmatch.fnmatchcase(name, pattern) for pattern in PINNED)


def opened(path: str) -> Any:
    """A regular file, open for reading, never waited for. Raises Fault."""
    try:
        number = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if error.errno == errno.ENOENT and os.path.islink(path):
            raise Fault("dangling", f"is a link to {os.readlink(path)}, which is not there") from None
        raise Fault("unreadable", str(error.strerror)) from None
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        raise Fault("unreadable", "is no regular file")
    return os.fdopen(number, "rb")


def content(path: str) -> bytes:
    """Of a small file. Raises Fault."""
    with opened(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > SMALL:
            raise Fault("large", f"has {size} bytes; more than {SMALL} are not read")
        try:
            data = bytes(file.read(SMALL + 1))
        except OSError as error:
            raise Fault("unreadable", str(error.strerror)) from None
    if data.startswith(LFS):
        raise Fault("lfs", "is a Git-LFS pointer, not the file")
    return data


def head_of(path: str) -> tuple[int, bytes]:
    """Size of a shard, and its head. Raises Fault."""
    with opened(path) as file:
        size = os.fstat(file.fileno()).st_size
        try:
            if file.peek(len(LFS)).startswith(LFS):
                raise Fault("lfs", "is a Git-LFS pointer, not the weights")
            return size, safetensors.header(file, size)
        except safetensors.Bad as error:
            raise Fault("shard", str(error)) from None
        except OSError as error:
            raise Fault("unreadable", str(error.strerror)) from None


def matches(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def size_of(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def differences(folder: str, manifest: dict[str, Any]) -> list[str]:
    """What is not as the manifest says, one sentence a file. Reads small files and heads of shards, no weights."""
    names = listed(folder)
    found = []
    for kind, known in (("files", is_pinned), ("shards", lambda name: name.endswith(".safetensors"))):
        wanted = manifest.get(kind, {})
        there = {name for name in names if known(name)}
        for name in sorted(there | set(wanted)):
            if words := differs(folder, name, kind, wanted.get(name), name in there):
                found.append(f"{name}: {words}")
    return found


def differs(folder: str, name: str, kind: str, wanted: dict[str, Any] | None, there: bool) -> str:
    if wanted is None:
        return "the manifest has no such file"
    if not there:
        return "is not there"
    path = os.path.join(folder, name)
    try:
        if kind == "files":
            data = content(path)
            size, key, digest = len(data), "sha256", hashlib.sha256(data).hexdigest()
        else:
            size, head = head_of(path)
            key, digest = "header_sha256", safetensors.digest(head)
    except Fault as fault:
        return str(fault)
    if digest != wanted.get(key):
        what = "sha256" if kind == "files" else "sha256 of its header"
        return f"{what} {digest}, the manifest has {wanted.get(key)}"
    if size != wanted.get("size"):
        return f"{size} bytes, the manifest has {wanted.get('size')}"
    return ""
