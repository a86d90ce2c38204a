"""Areas from the paths of sglang 0.5.15, and what a header says instead."""

from __future__ import annotations

import pytest

from stackctl.core.review.areas import RULES, area_of, areas_of, wanted_area
from stackctl.errors import UsageError
from tests.core.review.test_risk import patch_of

SRT = "python/sglang/srt/"


@pytest.mark.parametrize(
    ("path", "area"),
    [
        ("layers/attention/deepseek_v4_backend.py", "attention"),
        ("layers/attention/dsv4/indexer.py", "indexer"),
        ("layers/attention/dsa/transform_index.py", "indexer"),
        ("layers/attention/dsv4/index_buf_accessor.py", "index-k"),
        ("layers/attention/dsa/paged_mqa_logits_backend.py", "index-k"),
        ("layers/moe/fused_moe_triton/layer.py", "moe"),
        ("eplb/eplb_manager.py", "moe"),
        ("layers/quantization/fp8.py", "quantization"),
        ("layers/quantization/modelopt_quant.py", "quantization"),
        ("mem_cache/memory_pool.py", "memory-pool"),
        ("mem_cache/allocator/paged.py", "memory-pool"),
        ("mem_cache/radix_cache.py", "cache"),
        ("managers/cache_controller.py", "cache"),
        ("disaggregation/mooncake/conn.py", "pd-transfer"),
        ("disaggregation/decode.py", "pd-transfer"),
        ("managers/scheduler.py", "scheduler"),
        ("managers/schedule_batch.py", "scheduler"),
        ("managers/scheduler_components/output_streamer.py", "scheduler"),
        ("batch_overlap/two_batch_overlap.py", "scheduler"),
        ("managers/tokenizer_manager.py", "tokenizer"),
        ("managers/detokenizer_manager.py", "detokenizer"),
        ("function_call/deepseekv4_detector.py", "parser"),
        ("parser/reasoning_parser.py", "parser"),
        ("entrypoints/openai/serving_chat.py", "serving"),
        ("entrypoints/http_server.py", "serving"),
        ("server_args.py", "config"),
        ("environ.py", "config"),
        ("model_executor/model_runner.py", "model-runner"),
        ("model_executor/runner/decode_cuda_graph_runner.py", "model-runner"),
        ("models/deepseek_v4.py", "models"),
        ("speculative/eagle_worker.py", "speculative"),
        ("layers/sampler.py", "sampling"),
        ("distributed/parallel_state.py", "distributed"),
        ("observability/metrics_collector.py", "metrics"),
        ("lora/lora_manager.py", "lora"),
        ("constants.py", "other"),
    ],
)
def test_files_of_sglang(path: str, area: str) -> None:
    assert area_of(SRT + path) == area


@pytest.mark.parametrize(
    ("path", "area"),
    [
        ("python/sglang/jit_kernel/norm.py", "kernels"),
        ("python/sglang/jit_kernel/csrc/gemm/a.cuh", "kernels"),
        ("python/sglang/jit_kernel/fused_store_index_cache.py", "index-k"),
        ("python/sglang/launch_server.py", "serving"),
        ("python/sglang/test/test_utils.py", "tests"),
        ("python/sglang/README.md", "docs"),
        ("python/sglang/bench_serving.py", "bench"),
    ],
)
def test_files_beside_the_runtime(path: str, area: str) -> None:
    assert area_of(path) == area


def test_the_header_comes_first_and_the_files_after_it() -> None:
    path = f"{SRT}mem_cache/memory_pool.py"
    assert areas_of(patch_of("+x = 1", path=path, header="Area: Index-K\n")) == ("index-k", "memory-pool")
    assert areas_of(patch_of("+x = 1", path=path, header="Upstream: Pending\n")) == ("memory-pool",)


def test_a_mistyped_area_finds_its_like() -> None:
    assert wanted_area("MoE", [], "s") == "moe"
    with pytest.raises(UsageError) as caught:
        wanted_area("atention", [], "s")
    assert caught.value.hint == "Did you mean attention?"
    with pytest.raises(UsageError) as caught:
        wanted_area("zzz", [patch_of("+x = 1")], "s")
    assert caught.value.hint == "Areas of s: serving, tests."


def test_every_rule_has_an_area_that_is_one_word() -> None:
    assert all(area == area.lower() and " " not in area for area, _ in RULES)
