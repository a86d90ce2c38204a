"""Fetches one commit into the store. Refs, options and URLs come from stack files: what git could take for an option
or another protocol is refused before it starts.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

from stackctl.adapters.git.sealed import TROUBLE, Sealed, failure, sealed
from stackctl.errors import StackctlError

NETWORK = (
    "HOME", "USER", "LOGNAME", "SSH_AUTH_SOCK", "SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_SSL_CAINFO",
    "http_proxy", "https_proxy", "all_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY",
)  # fmt: skip
ID = re.compile(r"[0-9a-f]{40}")
REF = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./@#-]*")
URL = re.compile(r"((https://|ssh://|file:///|/)[^\s-]|[A-Za-z0-9_.]+@[A-Za-z0-9][A-Za-z0-9.-]*:[^\s-])[^\0-\x1f]*")
CREDENTIALS = re.compile(r"(https?://|ssh://)[^/@\s]+@")
AWAY = ("Could not resolve", "unable to access", "Could not read from remote", "timed out")


def refuse_unsafe(url: str, ref: str, commit: str) -> None:
    if not URL.fullmatch(url):
        raise StackctlError(
            f"{url!r} is no URL that stackctl fetches from", "Use https://, ssh://, file:/// or a path."
        )
    if not REF.fullmatch(ref) or ".." in ref:
        raise StackctlError(f"{ref!r} is no name of a branch or tag", "Write it as `git ls-remote` shows it.")
    if not ID.fullmatch(commit):
        raise StackctlError(f"{commit!r} is no full commit id", "Pin all 40 hex digits.")


def fetch(git: Sealed, url: str, wanted: str, options: Sequence[str]) -> str:
    """One attempt. Refs and shallow marks of it live in a throw-away folder; only objects reach the store."""
    store = git.store()
    with tempfile.TemporaryDirectory(prefix="stackctl-fetch-") as folder:
        scratch = str(Path(folder, "repo.git"))
        git.init(scratch)
        env = {
            **sealed(scratch),
            **{name: os.environ[name] for name in NETWORK if name in os.environ},
            "GIT_OBJECT_DIRECTORY": str(Path(store, "objects")),
            "GIT_ALLOW_PROTOCOL": "https:ssh:file",
            "GIT_SSH_COMMAND": "ssh -o BatchMode=yes -o ConnectTimeout=20 -o ServerAliveInterval=15",
        }
        quiet = ("--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules")
        return git.run(["fetch", *quiet, *options, "--", url, wanted], b"", env).err


def not_fetched(url: str, ref: str, commit: str, said: str) -> StackctlError:
    url, said = (CREDENTIALS.sub(r"\1***@", text) for text in (url, said))
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    first = next((line for line in lines if line.startswith(("fatal:", "error:", "ssh:"))), lines[-1] if lines else "")
    if any(word in said for word in AWAY):
        message = f"cannot reach {url} for commit {commit}: {first}"
        return StackctlError(message, "Once fetched, a commit is kept in $STACKCTL_HOME and needs no network.")
    if any(word in said for word in TROUBLE):
        return failure("fetch", said)
    hint = f"Look with `git ls-remote {url} {ref}`: is the id right, and is it pushed?"
    return StackctlError(
        f"{url} has no commit {commit}, neither at {ref} nor by its id" + (f" ({first})" if first else ""), hint
    )
