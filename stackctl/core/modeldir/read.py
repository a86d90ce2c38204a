"""From what a host tells of a model's folder (onhost/model.py) to a ModelDir: families, quantization, experts.

The rules are those by which sglang 0.5.15 and 0.5.23 tell checkpoints apart (configs/model_config.py,
configs/deepseek_v4.py, model_loader/weight_utils.py there). What they do not decide stays None.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from stackctl.core.modeldir.values import Fault, Index, ModelDir, Quantization, Shard, SmallFile, Tokenizer, printable

TOKENIZERS = ("tokenizer.json", "tokenizer_config.json", "tokenizer.model", "vocab.json", "merges.txt")
# model_type comes first: V4.1 has V4's architecture
MODEL_TYPES = {
    "deepseek_v41": "deepseek-v4.1",
    "deepseek_v4": "deepseek-v4",
    "deepseek_v32": "deepseek-v3.2",
    "deepseek_v3": "deepseek-v3",
    "glm_moe_dsa": "glm-dsa",
}
ARCHITECTURES = {
    "DeepseekV4ForCausalLM": "deepseek-v4",
    "DeepseekV32ForCausalLM": "deepseek-v3.2",
    "DeepseekV3ForCausalLM": "deepseek-v3",
    "GlmMoeDsaForCausalLM": "glm-dsa",
}
PLAIN = {"F8_E4M3": "fp8", "BF16": "bf16", "F16": "f16", "F32": "f32", "F4": "mxfp4"}
PACKED = ("U8", "I8")
DSML = "｜DSML｜"  # full-width bars
HUB = re.compile(r"/models--(?P<owner>[^/]+?)--(?P<name>[^/]+)/snapshots/(?P<revision>[0-9a-f]{40})(?:/|$)")


def model_dir(said: Mapping[str, Any]) -> ModelDir:
    """Raises KeyError or TypeError when it is no answer of onhost/model.py."""
    if said["problem"]:
        return ModelDir(said["path"], printable(said["problem"]), repository=said.get("asked") or None)
    faults = [Fault(kind, printable(file), printable(message)) for kind, file, message in said["faults"]]
    texts = {name: _object(name, text, faults) for name, text in said["texts"].items()}
    config, shards = texts.get("config.json", {}), said["shards"]
    inner = config.get("text_config")
    text_config: dict[str, Any] = inner if isinstance(inner, dict) else {}
    dtypes, scales, draft = (_counted(shards, key) for key in ("experts", "scales", "draft_experts"))
    quantization = quantization_of(config, texts.get("hf_quant_config.json"))
    architecture, model_type = _first_text(config.get("architectures")), _text(config.get("model_type"))
    names = sorted(said["files"])
    return ModelDir(
        path=said["path"],
        real=said["real"],
        architecture=architecture,
        model_type=model_type,
        family=family_of(model_type, architecture),
        quantization=quantization,
        experts=experts_of(dtypes, scales, quantization),
        expert_dtypes=dtypes,
        scale_dtypes=scales,
        draft_dtypes=draft,
        context_length=_number(config, "max_position_embeddings") or _number(text_config, "max_position_embeddings"),
        layers=_number(config, "num_hidden_layers") or _number(text_config, "num_hidden_layers"),
        dtype=_text(config.get("torch_dtype")) or _text(config.get("dtype")),
        shards=tuple(_shard(name, about, said["hub"]["sha256"].get(name)) for name, about in sorted(shards.items())),
        index=_index(said["index"]),
        files={name: SmallFile(about["size"], about["sha256"]) for name, about in sorted(said["files"].items())},
        tokenizer=_tokenizer(names, texts.get("tokenizer_config.json", {}), said["tokenizer"]),
        chat_template=template_of(names, texts),
        encodings=tuple(name for name in names if re.search(r"(^|/)encoding\w*\.py$", name)),
        repository=_repository(said["real"]),
        revisions=_revisions(said),
        unfinished=len(said["hub"]["unfinished"]),
        other_weights=tuple(said["other_weights"]),
        size=said["size"],
        faults=tuple(faults),
    )


def family_of(model_type: str | None, architecture: str | None) -> str | None:
    """`deepseek-v4`, …; of others the model_type itself, as it is a family too."""
    if model_type in MODEL_TYPES:
        return MODEL_TYPES[model_type]
    if architecture in ARCHITECTURES:
        return ARCHITECTURES[architecture]
    return model_type.replace("_", "-") if model_type else None


def quantization_of(config: Mapping[str, Any], modelopt: Mapping[str, Any] | None) -> Quantization | None:
    """In the order in which sglang looks: quantization_config, compression_config, hf_quant_config.json."""
    for key in ("quantization_config", "compression_config"):
        if isinstance(config.get(key), dict):
            return _quantization(f"config.json {key}", config[key])
    inner = (modelopt or {}).get("quantization")
    return _quantization("hf_quant_config.json", inner) if isinstance(inner, dict) else None


def _quantization(where: str, said: Mapping[str, Any]) -> Quantization:
    ignored: list[object] = next(
        (said[key] for key in ("ignore", "exclude_modules") if isinstance(said.get(key), list)), []
    )
    return Quantization(
        where,
        _text(said.get("quant_method")),
        _text(said.get("quant_algo")),
        _text(said.get("moe_quant_algo")),
        _number(said, "group_size"),
        len(ignored),
    )


def experts_of(dtypes: Mapping[str, int], scales: Mapping[str, int], quantization: Quantization | None) -> str | None:
    """How routed experts are stored: mxfp4, nvfp4, fp8, bf16, … None when shards do not agree or do not say.

    Four-bit values are packed two to a byte, so U8 and I8 say "four bits" only; which kind is told by the scales
    (F8_E8M0: MXFP4; F8_E4M3: NVFP4), else by the configuration, else by the byte: V4's own checkpoint has I8.
    """
    if len(dtypes) != 1:
        return None
    (dtype,) = dtypes
    if dtype not in PACKED:
        return PLAIN.get(dtype)
    if set(scales) == {"F8_E8M0"}:
        return "mxfp4"
    algorithm = ((quantization.moe_algo or quantization.algo or "") if quantization else "").upper()
    if "F8_E4M3" in scales or "NVFP4" in algorithm:
        return "nvfp4"
    return "mxfp4" if dtype == "I8" and quantization and quantization.method == "fp8" else None


def template_of(names: Iterable[str], texts: Mapping[str, Mapping[str, Any]]) -> str:
    """The file that has a chat template; one of its own comes before tokenizer_config.json, as in transformers."""
    there = set(names)
    for name in ("chat_template.jinja", "chat_template.json"):
        if name in there:
            return name
    return "tokenizer_config.json" if texts.get("tokenizer_config.json", {}).get("chat_template") else ""


def _tokenizer(names: Iterable[str], config: Mapping[str, Any], said: Mapping[str, Any] | None) -> Tokenizer:
    files = tuple(name for name in names if name in TOKENIZERS or name.endswith(".tiktoken"))
    cls, said = _text(config.get("tokenizer_class")), said or {}
    decoder = config.get("added_tokens_decoder")
    more = (
        [one.get("content") for one in decoder.values() if isinstance(one, dict)] if isinstance(decoder, dict) else []
    )
    dsml = said.get("dsml")
    if dsml == 0:
        dsml = sum(DSML in word for word in more if isinstance(word, str))
    return Tokenizer(files, cls, said.get("vocabulary"), dsml, tuple(map(printable, said.get("dsml_spelled", ()))))


def _shard(name: str, said: Mapping[str, Any], published: str | None) -> Shard:
    kinds = said.get("bytes", {})
    sizes = (kinds.get("experts", 0), kinds.get("draft", 0), kinds.get("other", 0))
    return Shard(name, said["size"], said["header"], said["sha256"], said["tensors"], *sizes, published)


def _index(said: Mapping[str, Any] | None) -> Index | None:
    if said is None:
        return None
    lacking = {shard: (count, tuple(names)) for shard, (count, names) in said["lacking"].items()}
    return Index(said["shards"], tuple(said["missing"]), tuple(said["unnamed"]), lacking, said["total_size"])


def _counted(shards: Mapping[str, Mapping[str, Any]], key: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for shard in shards.values():
        for dtype, count in shard.get(key, {}).items():
            found[printable(dtype)] = found.get(printable(dtype), 0) + count
    return dict(sorted(found.items()))


def _revisions(said: Mapping[str, Any]) -> tuple[str, ...]:
    """Of the files that are there; a snapshot of the hub's cache bears it in its name."""
    if found := HUB.search(said["real"]):
        return (found["revision"],)
    there = {*said["files"], *said["shards"]}
    return tuple(sorted({one for name, one in said["hub"]["revisions"].items() if name in there and one}))


def _repository(real: str) -> str | None:
    found = HUB.search(real)
    return f"{found['owner']}/{found['name']}" if found else None


def _object(name: str, text: str, faults: list[Fault]) -> dict[str, Any]:
    try:
        said = json.loads(text)
    except (ValueError, RecursionError) as error:
        faults.append(Fault("json", name, f"is no JSON: {error}"))
        return {}
    if not isinstance(said, dict):
        faults.append(Fault("json", name, "is no JSON object"))
        return {}
    return said


def _first_text(value: object) -> str | None:
    return _text(value[0]) if isinstance(value, list) and value else None


def _text(value: object) -> str | None:
    return printable(value) if isinstance(value, str) and value else None


def _number(said: Mapping[str, Any], key: str) -> int | None:
    value = said.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
