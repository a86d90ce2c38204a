"""patches/sm120/prefill-dispatch on the real sglang 0.5.15: it applies, compiles, and decides by the card."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from stackctl.commands.gather import load
from stackctl.commands.selection import Selection
from stackctl.commands.tree import compose
from stackctl.output.console import Console
from stackctl.wiring import real_ports

FILE = "python/sglang/srt/layers/attention/deepseek_v4_backend.py"
THRESHOLD = 11673
BASE = "0bce72a286fdc204bc5f158f7d944c6c8bb7c4b5"  # the tree of the pin is a constant

pytestmark = [pytest.mark.net, pytest.mark.slow]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The file of the patched tree, from the wheel that the stack pins."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STACKCTL_HOME", str(tmp_path_factory.mktemp("home")))
        patch.chdir(Path(__file__).parents[2])
        ports = real_ports(Console().progress())
        _, tree = compose(ports, load(ports, Selection("prod")))
        assert tree.base == BASE
        assert tree.offsets == ()
        return ports.git.read(tree.tree, [FILE])[FILE].decode()


def test_the_patched_file_compiles(source: str) -> None:
    compile(source, FILE, "exec")


def test_no_other_place_chooses_the_sparse_path(source: str) -> None:
    assert source.count("SGLANG_OPT_FLASHMLA_SPARSE_PREFILL") == 1
    assert source.count("self._forward_prefill_sparse(") == 1
    assert source.count("_use_sparse_prefill(") == 3


def test_the_predicate_over_card_variable_mode_and_rows(source: str) -> None:
    match = re.search(r"^def _use_sparse_prefill\(.*?(?=^def )", source, re.MULTILINE | re.DOTALL)
    assert match
    for sm120, variable, extend, rows in itertools.product(
        (True, False), (True, False), (True, False), (1, THRESHOLD, THRESHOLD + 1, None)
    ):
        names: dict[str, object] = {
            "_is_sm120": sm120,
            "_LARGE_INDEXER_QUERY_THRESHOLD": THRESHOLD,
            "envs": SimpleNamespace(SGLANG_OPT_FLASHMLA_SPARSE_PREFILL=SimpleNamespace(get=lambda v=variable: v)),
        }
        exec("from __future__ import annotations\n" + match[0], names)
        mode = SimpleNamespace(is_extend_without_speculative=lambda e=extend: e)
        expected = not sm120 and extend and (rows is None or rows > THRESHOLD or variable)
        assert names["_use_sparse_prefill"](mode, rows) is expected  # type: ignore[operator]
