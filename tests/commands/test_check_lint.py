"""`check` of stacks/prod on the real base: true warnings only, and every setting of FLIPS gives exactly the one right
new finding, at the right line, also through `extends`."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from stackctl.commands.check import CheckRequest, CheckResult, check
from stackctl.commands.selection import Selection
from stackctl.core.lint.values import Finding, Severity
from stackctl.output.console import Console
from stackctl.wiring import real_ports

ROOT = Path(__file__).parents[2]
PROD, SHARED = "prod.yaml", "dsv4-flash-nvfp4.yaml"

pytestmark = [pytest.mark.net, pytest.mark.slow]


@dataclass(frozen=True)
class Flip:
    """One setting turned: `old` in `file` becomes `new`, and `rule` says so on the line that changed."""

    rule: str
    severity: Severity
    file: str
    old: str
    new: str


TRUST = "    trust-remote-code: true\n"
GRAPHS = "cuda-graph-max-bs-decode: 64"  # of decode
FLIPS = (
    Flip("FLAG-UNKNOWN", "error", PROD, GRAPHS, "cuda-graph-maxbs-decode: 64"),
    Flip("FLAG-REMOVED", "error", SHARED, TRUST, f"{TRUST}    enable-nan-detection: true\n"),
    Flip("FLAG-ABBREV", "warning", SHARED, "context-length: 32768", "context-len: 32768"),
    Flip("FLAG-DEPRECATED", "warning", PROD, GRAPHS, "cuda-graph-max-bs: 64"),
    Flip("FOREIGN-FLAG", "error", PROD, "mem-fraction-static: 0.85", "gpu-memory-utilization: 0.85"),
    Flip("CHOICE", "error", PROD, "write-policy: write_through", "write-policy: write_thru"),
    Flip("ENV-UNKNOWN", "warning", SHARED, "  flags:\n", "  env: {SGLANG_LOG_GCC: 1}\n  flags:\n"),
    Flip("DSV4-PAGE", "warning", SHARED, TRUST, f"{TRUST}    page-size: 64\n"),
    Flip("SM120-DSV4-NVFP4-AUTO", "error", SHARED, "runner-backend: marlin", "runner-backend: auto"),
    Flip("NVFP4-CUTLASS-CLAMP", "warning", SHARED, "runner-backend: marlin", "runner-backend: flashinfer_cutlass"),
    Flip("PD-KV-DTYPE", "error", PROD, GRAPHS, "kv-cache-dtype: bfloat16"),
    Flip("PD-DECODE-HICACHE", "error", PROD, GRAPHS, "enable-hierarchical-cache: true"),
    Flip("PARSER-FORCES-ENCODING", "error", SHARED, "parser: deepseekv4", "parser: deepseekv32"),
    Flip("CHUNK-PAGE", "error", PROD, "chunked-prefill-size: 2048", "chunked-prefill-size: 2000"),
    Flip("REQ-TIMEOUT-TP", "warning", SHARED, "  flags:\n", "  env: {SGLANG_REQ_WAITING_TIMEOUT: 60}\n  flags:\n"),
    Flip("SM120-SPARSE-PREFILL", "error", SHARED, "\n  - sm120/prefill-dispatch ", " []  # "),
)


@pytest.fixture
def stacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of the workspace's stack and what it needs, with the base in the store of this machine."""
    shutil.copytree(ROOT / "patches", tmp_path / "patches")
    (tmp_path / "stacks").mkdir()
    for name in (PROD, SHARED):
        shutil.copy(ROOT / "stacks" / name, tmp_path / "stacks")
    monkeypatch.chdir(tmp_path)
    yield tmp_path / "stacks"


def checked() -> CheckResult:
    return check(real_ports(Console().progress()), CheckRequest(Selection("prod")))


def known(finding: Finding) -> tuple[str, str, tuple[str, ...]]:
    return finding.rule, finding.message, finding.instances


def test_prod_has_true_warnings_and_no_error(stacks: Path) -> None:
    result = checked()
    assert result.exit == 0
    assert {one.rule for one in result.findings if one.severity == "warning"} == {
        "PD-NIXL-V4-STATE",  # no setting avoids these two: the patches are not in the queue yet
        "PD-NIXL-ABORT",
        "ROUTER-OPEN",
    }
    assert not result.unread


@pytest.mark.parametrize("flip", FLIPS, ids=lambda flip: flip.rule)
def test_a_setting_turned_gives_its_one_finding(flip: Flip, stacks: Path) -> None:
    before = {known(one) for one in checked().findings}
    file = stacks / flip.file
    text = file.read_text()
    assert text.count(flip.old) == 1, flip.old
    file.write_text(turned := text.replace(flip.old, flip.new))
    result = checked()
    told = [one for one in result.findings if known(one) not in before]
    assert len(told) == 1, "\n".join(map(str, told))
    (new,) = told
    assert (new.rule, new.severity) == (flip.rule, flip.severity), str(new)
    pairs = enumerate(zip(text.splitlines(), turned.splitlines(), strict=False), 1)
    line = next(number for number, (old, now) in pairs if old != now)
    assert new.where is not None
    assert (new.where.file, new.where.line) == (f"stacks/{flip.file}", line), str(new)
    assert result.exit == (2 if flip.severity == "error" else 0)
