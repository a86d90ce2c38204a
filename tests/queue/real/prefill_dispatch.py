"""sm120/prefill-dispatch on the real backend module: which kernel a batch of prompts takes, by card, variable, rows.

Run by the environment's interpreter with a tree on PYTHONPATH. Stubs: the card's capability, the kernels, the
buffers of the pool. Everything between a batch and its kernel is the tree's own code.
"""

from __future__ import annotations

import ast
import inspect
import itertools
import os
import sys
import types
import unittest
from unittest import mock

import torch


class AnyName(types.ModuleType):
    """A module of kernels that cannot be built without a card: every name is there, none is called."""

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *args, **kwargs: self.fail(name)

    def fail(self, name: str) -> None:
        raise AssertionError(f"{self.__name__}.{name} was called")


sys.modules["sglang.jit_kernel.dsa"] = AnyName("sglang.jit_kernel.dsa")

from sglang.srt.layers.attention import deepseek_v4_backend as backend  # noqa: E402
from sglang.srt.model_executor.forward_batch_info import ForwardMode  # noqa: E402

VARIABLE = "SGLANG_OPT_FLASHMLA_SPARSE_PREFILL"
LIMIT = 11673  # rows; above it a batch of another card takes the sparse kernel whatever the variable says
ROWS = (1, LIMIT, LIMIT + 1)
SPARSE, SPLIT_K, PAGED = "sparse", "split-K of SM120", "paged"
WIDTH = 8  # of a head; small, since nothing computes with it


def route(*, sm120: bool, variable: bool, rows: int, mode: ForwardMode = ForwardMode.EXTEND) -> str:
    """The kernel that `forward` of the real backend hands a batch to."""
    taken: list[str] = []

    def kernel(name: str) -> object:
        def run(*args: object, **kwargs: object) -> tuple[torch.Tensor]:
            taken.append(name)
            return (torch.zeros(rows, 1, 1, WIDTH),)

        return run

    pool = object.__new__(backend.DeepSeekV4TokenToKVPool)
    pool.swa_window_size = backend.SWA_WINDOW
    pool.swa_kv_pool = types.SimpleNamespace(kv_cache_total_dim=1)
    pool.get_swa_key_buffer_radix = lambda layer_id: torch.zeros(1, backend.SWA_WINDOW)
    metadata = object.__new__(backend.DSV4AttnMetadata)
    metadata.swa_page_indices = torch.zeros(rows, 64, dtype=torch.int32)
    metadata.swa_topk_lengths = torch.ones(rows, dtype=torch.int32)
    metadata.get_flashmla_metadata = lambda ratio: None
    attention = object.__new__(backend.DeepseekV4AttnBackend)
    attention.mtp_enabled = False
    attention.head_dim_v, attention.softmax_scale = WIDTH, 1.0
    attention.token_to_kv_pool = pool
    attention.forward_metadata = types.SimpleNamespace(core_attn_metadata=metadata)
    attention._forward_prefill_sparse = kernel(SPARSE)
    names = {
        "sglang.srt.layers.attention.flash_mla_sm120": {"flash_mla_with_kvcache_sm120": kernel(SPLIT_K)},
        "sgl_kernel.flash_mla": {"flash_mla_with_kvcache": kernel(PAGED)},
    }
    modules = {name: types.SimpleNamespace(**functions) for name, functions in names.items()}
    key = torch.zeros(rows, 1, WIDTH)
    with mock.patch.dict(sys.modules, modules), mock.patch.object(backend, "_is_sm120", sm120), setting(variable):
        attention.forward(
            torch.zeros(rows, 1, WIDTH),
            key,
            key,
            types.SimpleNamespace(layer_id=0),
            types.SimpleNamespace(forward_mode=mode),
            compress_ratio=0,
            save_kv_cache=False,
            attn_sink=torch.zeros(1),
        )
    return taken[0]


def setting(variable: bool) -> mock._patch_dict:
    return mock.patch.dict(os.environ, {VARIABLE: "1" if variable else "0"})


class WhichKernel(unittest.TestCase):
    def test_no_prompt_takes_the_sparse_kernel_on_sm120(self) -> None:
        for variable, rows in itertools.product((True, False), ROWS):
            with self.subTest(variable=variable, rows=rows):
                self.assertEqual(route(sm120=True, variable=variable, rows=rows), SPLIT_K)

    def test_other_cards_decide_by_variable_and_rows_as_before(self) -> None:
        for variable, rows in itertools.product((True, False), ROWS):
            with self.subTest(variable=variable, rows=rows):
                expected = SPARSE if variable or rows > LIMIT else PAGED
                self.assertEqual(route(sm120=False, variable=variable, rows=rows), expected)

    def test_decoding_never_takes_it(self) -> None:
        for sm120, expected in ((True, SPLIT_K), (False, PAGED)):
            with self.subTest(sm120=sm120):
                self.assertEqual(route(sm120=sm120, variable=True, rows=60, mode=ForwardMode.DECODE), expected)

    def test_the_sparse_kernel_has_one_way_in(self) -> None:
        tree = ast.parse(inspect.getsource(backend))
        importers = {
            function.name
            for function in ast.walk(tree)
            if isinstance(function, ast.FunctionDef)
            for node in ast.walk(function)
            if isinstance(node, ast.ImportFrom) and "flash_mla_sparse_fwd" in {name.name for name in node.names}
        }
        self.assertEqual(importers, {"_forward_prefill_sparse"})


class WhatIsAllocated(unittest.TestCase):
    """The raw indices of the top k are read by the sparse kernel only."""

    def raw_indices(self, *, sm120: bool, variable: bool) -> object:
        metadata = object.__new__(backend.DSV4AttnMetadata)
        metadata.c4_sparse_topk = backend.C4_TOPK
        metadata.c4_topk_lengths_clamp1 = torch.ones(3, dtype=torch.int32)
        metadata.c4_sparse_raw_indices = None
        with (
            mock.patch.object(backend, "_is_sm120", sm120),
            mock.patch.object(backend, "_create_flashmla_metadata", lambda: None),
            setting(variable),
        ):
            metadata.init_flashmla_related(is_prefill=True)
        return metadata.c4_sparse_raw_indices

    def test_nothing_on_sm120(self) -> None:
        for variable in (True, False):
            with self.subTest(variable=variable):
                self.assertIsNone(self.raw_indices(sm120=True, variable=variable))

    def test_on_other_cards_whatever_the_variable_says(self) -> None:
        # with the variable off a large batch still takes the sparse kernel, and the rows are not final here
        for variable in (True, False):
            with self.subTest(variable=variable):
                self.assertIsNotNone(self.raw_indices(sm120=False, variable=variable))


if __name__ == "__main__":
    unittest.main()
