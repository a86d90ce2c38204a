"""The index through pip: the user's configuration is obeyed, and failures say what to do."""

from __future__ import annotations

import sys
from hashlib import sha256
from pathlib import Path

import pytest

from stackctl.adapters.files import LocalFiles
from stackctl.adapters.git import GitStore
from stackctl.adapters.index import PipIndex
from stackctl.adapters.process import LocalProcess
from stackctl.commands.base import fetch_base
from stackctl.core.names import Digest
from stackctl.core.stack.resolved import PypiBase
from stackctl.errors import StackctlError
from tests.core.base.test_wheel import wheel
from tests.fakes import LocalFilesAt, fake_ports

OURS = f"cp{sys.version_info.major}{sys.version_info.minor}"
SGLANG = PypiBase("sglang==0.5.15", Digest("21492759b4b99e117bd81610f633422f3fdae2896c2cde6931eab886deccc44f"))
SGLANG_TREE = "0bce72a286fdc204bc5f158f7d944c6c8bb7c4b5"


@pytest.fixture
def index(monkeypatch: pytest.MonkeyPatch) -> PipIndex:
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.delenv("PIP_EXTRA_INDEX_URL", raising=False)
    return PipIndex(LocalProcess(), LocalFiles())


def offer(folder: Path, *tags: str) -> None:
    for tag in tags:
        meta = b"Metadata-Version: 2.1\nName: pkg\nVersion: 1.0\n"
        facts = f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {tag}\n".encode()
        files = [("pkg/a.py", tag.encode(), 0o644)]
        files += [("pkg-1.0.dist-info/METADATA", meta, 0o644), ("pkg-1.0.dist-info/WHEEL", facts, 0o644)]
        (folder / f"pkg-1.0-{tag}.whl").write_bytes(wheel(*files))


@pytest.mark.slow
def test_the_users_configuration_decides_where_wheels_come_from(
    index: PipIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    offer(tmp_path, f"{OURS}-{OURS}-linux_x86_64", "cp39-cp39-manylinux_2_28_x86_64")
    assert index.download("pkg==1.0", "3.9") == (tmp_path / "pkg-1.0-cp39-cp39-manylinux_2_28_x86_64.whl").read_bytes()
    assert index.download("pkg==1.0", "3.8") is None
    assert index.download("pkg==2.0") is None


@pytest.mark.slow
def test_an_index_that_cannot_be_reached_is_told(index: PipIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "1")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    with pytest.raises(StackctlError, match=r"cannot fetch pkg==1\.0: the index cannot be reached") as caught:
        index.download("pkg==1.0")
    assert "STACKCTL_HOME" in (caught.value.hint or "")


def test_an_option_is_no_requirement(index: PipIndex) -> None:
    with pytest.raises(StackctlError, match="no requirement"):
        index.download("--index-url=http://127.0.0.1/")


@pytest.mark.net
@pytest.mark.slow
def test_the_tree_of_the_pinned_sglang_is_a_constant(tmp_path: Path) -> None:
    files = LocalFilesAt(tmp_path, tmp_path)
    ports = fake_ports(files=files, git=GitStore(files), index=PipIndex(LocalProcess(), files))
    assert fetch_base(ports, SGLANG) == SGLANG_TREE
    kept = (tmp_path / "wheels" / f"{SGLANG.sha256}.whl").read_bytes()
    assert sha256(kept).hexdigest() == SGLANG.sha256
    again = fake_ports(files=files, git=GitStore(files))  # the index must not be asked twice
    assert fetch_base(again, SGLANG) == SGLANG_TREE
