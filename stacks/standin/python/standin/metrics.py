"""Counters and gauges in Prometheus' text format, under sglang's names where sglang has one."""

from __future__ import annotations

from standin.decode import Decode
from standin.prefill import Prefill


def text(model: str, prefill: Prefill | None, decode: Decode | None) -> str:
    """One sample a line, with the model's name."""
    samples: dict[str, float] = {}
    if prefill is not None:
        samples["sglang:num_prefill_inflight_queue_reqs"] = prefill.rooms
        samples["sglang:num_grammar_queue_reqs"] = prefill.store.waiting
    if decode is not None:
        samples["sglang:num_running_reqs"] = decode.running
        samples["sglang:num_queue_reqs"] = decode.requests - decode.running
        samples["sglang:generation_tokens_total"] = decode.said
    return "".join(f'{name}{{model_name="{model}"}} {value:g}\n' for name, value in samples.items())
