"""Small model folders: a few KB of safetensors written by hand, by the table of how V4 checkpoints are stored."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from stackctl.onhost.safetensors import BITS

INDEX = "model.safetensors.index.json"
V4 = {"architectures": ["DeepseekV4ForCausalLM"], "model_type": "deepseek_v4", "max_position_embeddings": 65536}
FP8 = {"quant_method": "fp8", "fmt": "e4m3", "weight_block_size": [128, 128]}
NVFP4 = {
    **FP8,
    "quant_algo": "MIXED_PRECISION",
    "moe_quant_algo": "NVFP4",
    "group_size": 16,
    "ignore": ["lm_head", "mtp*"],
}
# name -> quantization_config, dtype of a routed expert, of its scale, of an expert in the draft layer
KINDS: Mapping[str, tuple[dict[str, Any], str, str, str]] = {
    "native": (FP8, "I8", "F8_E8M0", "I8"),
    "fp8": (FP8, "F8_E4M3", "F32", "F8_E4M3"),
    "nvfp4": (NVFP4, "U8", "F8_E4M3", "I8"),
}


def head(tensors: Mapping[str, tuple[str, list[int]]], **meta: str) -> tuple[bytes, int]:
    """Length and JSON of a header, and the bytes of data that it is for."""
    at, said = 0, {"__metadata__": {"format": "pt", **meta}}
    for name, (dtype, shape) in tensors.items():
        size = math.prod(shape) * BITS[dtype] // 8
        said[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + size]}  # type: ignore[dict-item]
        at += size
    text = json.dumps(said).encode()
    return len(text).to_bytes(8, "little") + text, at


def shard(tensors: Mapping[str, tuple[str, list[int]]], **meta: str) -> bytes:
    begin, size = head(tensors, **meta)
    return begin + bytes(size)


def v4_tensors(kind: str, layer: int) -> dict[str, tuple[str, list[int]]]:
    _, expert, scale, draft = KINDS[kind]
    name = f"layers.{layer}.ffn.experts.0.w1"
    suffix = "weight_scale" if kind == "nvfp4" else "scale"
    found = {
        f"layers.{layer}.attn.wq_a.weight": ("F8_E4M3", [8, 8]),
        f"{name}.weight": (expert, [16, 8]),
        f"{name}.{suffix}": (scale, [4]),
    }
    return found | ({"mtp.0.ffn.experts.0.w1.weight": (draft, [4, 4])} if layer == 1 else {})


def v4(folder: Path, kind: str = "native", *, shards: int = 2) -> Path:
    """A whole DeepSeek-V4 folder of this kind. It has no chat template, as the published ones have none."""
    folder.mkdir(parents=True, exist_ok=True)
    table = {}
    for number in range(shards):
        name = f"model-{number + 1:05d}-of-{shards:05d}.safetensors"
        tensors = v4_tensors(kind, number)
        (folder / name).write_bytes(shard(tensors))
        table |= dict.fromkeys(tensors, name)
    write(folder, INDEX, {"metadata": {"total_size": 0}, "weight_map": table})
    write(folder, "config.json", {**V4, "quantization_config": KINDS[kind][0]})
    write(folder, "generation_config.json", {"eos_token_id": 1})
    write(folder, "tokenizer_config.json", {"tokenizer_class": "PreTrainedTokenizerFast"})
    tokens = [{"id": 0, "content": "<｜begin▁of▁sentence｜>"}, {"id": 1, "content": "｜DSML｜"}]
    write(folder, "tokenizer.json", {"added_tokens": tokens, "model": {"type": "BPE", "vocab": {"a": 2}}})
    (folder / "encoding").mkdir(exist_ok=True)
    (folder / "encoding" / "encoding_dsv4.py").write_text("dsml_token = '｜DSML｜'\n")
    (folder / "README.md").write_text("not looked at\n")
    return folder


def write(folder: Path, name: str, content: object) -> None:
    (folder / name).write_text(json.dumps(content, ensure_ascii=False))
