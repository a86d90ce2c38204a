"""The repository around a workspace is read by plumbing: nothing that its own settings name is run."""

from __future__ import annotations

import subprocess
from pathlib import Path

from stackctl.adapters.git import GitRevisions
from tests.fakes import LocalFilesAt

SIGNED = """\
tree {tree}
author A <a@b> 1700000000 +0000
committer A <a@b> 1700000000 +0000
gpgsig -----BEGIN PGP SIGNATURE-----
 
 iQ==
 -----END PGP SIGNATURE-----

signed
"""


def git(folder: Path, *args: str, stdin: str = "") -> str:
    done = subprocess.run(["git", "-C", str(folder), *args], input=stdin, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_earlier_contents_run_no_program_of_the_repository(tmp_path: Path) -> None:
    repo, ran = tmp_path / "repo", tmp_path / "ran"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\necho ran >> {ran}\n")
    program.chmod(0o755)
    repo.mkdir()
    git(repo, "init", "-q")
    git(repo, "config", "log.showSignature", "true")
    git(repo, "config", "gpg.program", str(program))
    (repo / "a[1].patch").write_text("old\n")
    git(repo, "add", ".")
    signed = SIGNED.format(tree=git(repo, "write-tree"))
    commit = git(repo, "hash-object", "-t", "commit", "-w", "--stdin", stdin=signed)
    git(repo, "update-ref", "refs/heads/signed", commit)
    found = GitRevisions(LocalFilesAt(tmp_path / "home", repo)).earlier(str(repo), "a[1].patch")
    assert list(found) == [b"old\n"]
    assert not ran.exists()
