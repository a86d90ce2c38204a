"""Saving facts on a host: whole lines only, the same facts once, also beside another client."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from stackctl.core.deploy.bundle import bundle
from stackctl.onhost import facts
from tests.fakes import RepositoryTemplates


def save(root: Path, time: float, digest: str = "d1", known: dict[str, Any] | None = None) -> bool:
    line = {"time": time, "event": "deploy", "release": "r", "digest": digest}
    said = facts.main({"root": str(root), "line": line, "facts": {"format": 1, "kernel": digest, **(known or {})}})
    assert said["file"] == str(root / "facts.jsonl")
    return bool(said["new"])


def rows(root: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (root / "facts.jsonl").read_text().splitlines()]


def test_the_same_facts_are_written_once(tmp_path: Path) -> None:
    root = tmp_path / "of" / "a stack"
    assert [save(root, 1.0), save(root, 2.0), save(root, 3.0, "d2"), save(root, 4.0)] == [True, False, True, False]
    assert [("facts" in row, row["digest"]) for row in rows(root)] == [
        (True, "d1"), (False, "d1"), (True, "d2"), (False, "d1"),
    ]  # fmt: skip
    assert (root / "facts.jsonl").stat().st_mode & 0o777 == 0o600


def test_a_line_that_was_left_half_written_is_let_alone(tmp_path: Path) -> None:
    save(tmp_path, 1.0)
    path = tmp_path / "facts.jsonl"
    path.write_bytes(path.read_bytes()[:-20])  # with it go its facts
    assert save(tmp_path, 2.0)
    lines = path.read_text().splitlines()
    assert len(lines) == 2 and json.loads(lines[1])["facts"]["kernel"] == "d1"


def test_clients_at_the_same_time_do_not_mix_their_lines(tmp_path: Path) -> None:
    text = bundle("facts", {"facts": RepositoryTemplates().onhost("facts.py")})
    known = {"filler": "x" * 20_000}

    def client(number: int) -> int:
        line = {"time": number, "digest": f"d{number % 3}"}
        request = json.dumps({"root": str(tmp_path), "line": line, "facts": known})
        return subprocess.run([sys.executable, "-I", "-S", "-c", text, request], check=True, timeout=30).returncode

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(client, range(12))) == {0}
    assert sorted(row["time"] for row in rows(tmp_path)) == list(range(12))
    assert {row["digest"] for row in rows(tmp_path) if "facts" in row} == {"d0", "d1", "d2"}
