"""The hash lock of an environment: what is read, what is refused, and what names it."""

from __future__ import annotations

import pytest

from stackctl.core.environment.lockfile import EnvironmentSpec, Pin, parse_lock
from stackctl.errors import InvalidFile

A, B = "sha256:" + "a" * 64, "sha256:" + "b" * 64
GOOD = f"""# made by a tool
aiohttp==3.14.5 \\
    --hash={B} \\
    --hash={A}
    # via something
torch==2.13.0 --hash={A} --hash={B}
uvloop==0.23.0 ; sys_platform != "win32" --hash={A}
"""


def test_reads_pins_with_all_their_hashes() -> None:
    aiohttp, torch, uvloop = parse_lock(GOOD, "r.txt")
    assert aiohttp == Pin("aiohttp", "3.14.5", (A, B))
    assert torch.hashes == (A, B)
    assert uvloop.marker == 'sys_platform != "win32"'


def test_torch_is_apart() -> None:
    spec = EnvironmentSpec("3.11", parse_lock(GOOD, "r.txt"))
    assert spec.free == f"torch==2.13.0 --hash={A} --hash={B}\n"
    assert "torch" not in spec.locked and "aiohttp==3.14.5" in spec.locked
    assert spec.version_of("Torch") == "2.13.0"


def test_key_is_of_the_content_alone() -> None:
    spec = EnvironmentSpec("3.11", parse_lock(GOOD, "r.txt"))
    again = EnvironmentSpec("3.11", parse_lock(GOOD.replace("# made by a tool\n", "\n\n"), "other.txt"))
    other = EnvironmentSpec("3.12", spec.pins)
    assert spec.key == again.key != other.key


def test_all_mistakes_at_once_with_their_lines() -> None:
    text = (
        f"--index-url https://example.org\naiohttp>=3 --hash={A}\nclick==8\n\nrich==1 --hash={A}\nrich==2 --hash={A}\n"
    )
    with pytest.raises(InvalidFile) as caught:
        parse_lock(text, "r.txt")
    said = [str(problem) for problem in caught.value.problems]
    assert said == [
        "r.txt:1: an option is no part of a lock: --index-url",
        "r.txt:2: aiohttp is not pinned: expected aiohttp==VERSION",
        "r.txt:3: click has no --hash=sha256:… of 64 hex digits",
        "r.txt:6: rich is pinned twice",
    ]
