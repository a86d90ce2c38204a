"""Which part of the server a file belongs to, told from its path, so that a queue can be read by area.

The rules follow the tree of sglang 0.5.15 and are tried in order. A patch whose header says `Area:` belongs there; what
its files say is kept beside it. A path that no rule knows is `other`: nothing is guessed from contents.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from difflib import get_close_matches

from stackctl.core.patches.values import Patch
from stackctl.errors import UsageError

HARMLESS = re.compile(r"(^|/)(docs?|tests?|examples?|benchmarks?)/|\.(md|rst|txt)$|(^|/)test_[^/]*$")
OTHER = "other"
RULES: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (area, re.compile(rule))
    for area, rule in (
        ("tests", r"(^|/)(tests?|unit_?tests?)/|(^|/)(test_[^/]*|unit_test\.py)$"),
        ("docs", r"(^|/)docs?/|\.(md|rst|txt)$"),
        ("bench", r"(^|/)(benchmarks?|eval)/|(^|/)(bench_|auto_benchmark)[^/]*$"),
        ("debug", r"(^|/)debug_utils/|(^|/)(profiler|kernel_api_logging|check_env)\.py$"),
        ("diffusion", r"(^|/)(multimodal_gen|diffusion|dllm)/"),
        ("index-k", r"index_buf_accessor|paged_mqa_logits|store_index_cache|store_kv_index|index_k"),
        ("indexer", r"indexer|transform_index|(dsa|nsa)_topk|dsv4/topk|minimax_sparse_ops"),
        ("quantization", r"quant|nvfp4|mxfp8|(^|/)(awq|gptq|marlin|int4fp8|torchao|modelopt)[^/]*|deep_gemm_wrapper"),
        ("moe", r"(^|/)(moe|eplb|elastic_ep|lplb)(/|_)|moe_|deepep"),
        ("speculative", r"(^|/)speculative/|(^|_)mtp|eagle|ngram"),
        ("attention", r"layers/(attention|cp|dcp)/|radix_(linear_)?attention|flash_attention|(^|/)(fla|mla)[_/]"),
        ("indexer", r"(^|/)index[^/]*\.py$"),
        ("config", r"(^|/)(arg_groups|platforms|plugins)/|server_args|environ\.py|global_config|runtime_context"),
        ("pd-transfer", r"(^|/)disaggregation/|disagg|transfer|kv_events"),
        ("memory-pool", r"memory_pool|allocator|pool_host|kvcache|kv_canary|kv_cache_build|pool_config|set_mla"),
        ("cache", r"(^|/)mem_cache/|cache_controller|hicache|hisparse|radix|triton_store_cache"),
        ("kernels", r"(^|/)(jit_kernel|sgl-kernel|csrc|triton_ops|cpp_[a-z]+)/|\.(cu|cuh|cpp|h)$|_kernel"),
        ("kernels", r"batch_invariant_ops|_triton_stub"),
        ("hardware", r"(^|/)hardware_backend/|_mps_stub"),
        ("parser", r"(^|/)(function_call|parser|constrained)/|template_(detection|manager)|parser"),
        ("detokenizer", r"detokenizer"),
        ("tokenizer", r"tokenizer"),
        ("scheduler", r"(^|/)(batch_overlap|multiplex|session)/|sched|prefill_delayer|overlap_utils|min_free_slots"),
        ("scheduler", r"managers/(data_parallel_controller|tp_worker)|slots_delayer|queue|step"),
        ("model-runner", r"(^|/)(model_executor|compilation)/|cuda_graph|runner"),
        ("sampling", r"(^|/)sampling/|layers/sampler|logits_processor"),
        ("lora", r"(^|/)lora/|lora"),
        ("multimodal", r"(^|/)multimodal|managers/mm_utils|layers/multimodal"),
        ("models", r"(^|/)(models|configs|hf_transformers)/"),
        ("weights", r"(^|/)(model_loader|checkpoint_engine|weight_sync|connector)/|weight_updater"),
        ("distributed", r"(^|/)(distributed|ray|grpc)/|communicat|all_reduce|dp_attention|model_parallel"),
        ("metrics", r"(^|/)(observability|state_capturer)/|metrics"),
        ("serving", r"(^|/)(entrypoints|cli|managers|session|lang)/|launch_server|protocol|serving|(^|/)server[^/]*$"),
        ("layers", r"(^|/)layers/"),
        ("utils", r"(^|/)utils(/|\.py$)"),
    )
)
AREAS = (*dict.fromkeys(area for area, _ in RULES), OTHER)


def area_of(path: str) -> str:
    """The area of one file of a tree."""
    name = path.removeprefix("python/").removeprefix("sglang/").removeprefix("srt/")
    return next((area for area, rule in RULES if rule.search(name)), OTHER)


def areas_of(patch: Patch) -> tuple[str, ...]:
    """What its header says, then those of its files, the one with most changed lines first; never empty."""
    said = [value.strip().lower() for value in patch.header.trailer("Area") if value.strip()]
    lines: Counter[str] = Counter()
    for section in patch.files:
        lines[area_of(section.path)] += section.added + section.removed
    return tuple(dict.fromkeys([*said, *(area for area, _ in lines.most_common())])) or (OTHER,)


def harmless(patch: Patch) -> bool:
    """It touches only documentation or tests, which no server reads."""
    return bool(patch.files) and all(HARMLESS.search(section.path) for section in patch.files)


def wanted_area(area: str, patches: Iterable[Patch], stack: str) -> str:
    """The area as it is spelt here. Raises UsageError for one that neither the rules nor a patch know."""
    wanted = area.lower()
    here = tuple(dict.fromkeys(each for patch in patches for each in areas_of(patch)))
    if wanted in here or wanted in AREAS:
        return wanted
    near = get_close_matches(wanted, (*here, *AREAS), 1)
    hint = f"Did you mean {near[0]}?" if near else f"Areas of {stack}: {', '.join(sorted(here)) or 'none'}."
    raise UsageError(f"there is no area {area}", hint)
