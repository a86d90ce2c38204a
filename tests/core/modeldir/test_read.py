"""Families, quantization and experts, by the rules that sglang goes by; folders are small but whole."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from stackctl.core.modeldir.read import experts_of, family_of, model_dir, quantization_of
from stackctl.core.modeldir.values import ModelDir, Quantization
from stackctl.core.modeldir.view import view_of
from stackctl.onhost import model as onhost
from tests.models import FP8, KINDS, NVFP4, v4, write


def look(folder: Path) -> ModelDir:
    """As over the wire."""
    return model_dir(json.loads(json.dumps(onhost.main({"path": str(folder)}))))


@pytest.mark.parametrize(("kind", "experts"), [("native", "mxfp4"), ("fp8", "fp8"), ("nvfp4", "nvfp4")])
def test_the_three_checkpoints_of_v4(tmp_path: Path, kind: str, experts: str) -> None:
    found = look(v4(tmp_path, kind))
    _, dtype, scale, draft = KINDS[kind]
    assert (found.family, found.experts, found.stored) == ("deepseek-v4", experts, experts)
    assert (found.expert_dtypes, found.scale_dtypes) == ({dtype: 2}, {scale: 2})
    assert found.draft_dtypes == {draft: 1}
    assert found.faults == () and found.index is not None and found.index.missing == ()
    assert (found.context_length, found.tokenizer.dsml, found.chat_template) == (65536, 1, "")
    assert found.encodings == ("encoding/encoding_dsv4.py",)


def test_what_the_linter_is_told_of_a_folder(tmp_path: Path) -> None:
    view = view_of(look(v4(tmp_path, "nvfp4")))
    assert (view.family, view.experts, view.quantization, view.source) == ("deepseek-v4", "nvfp4", "nvfp4", "folder")
    assert (view.architecture, view.has_chat_template) == ("DeepseekV4ForCausalLM", False)
    gone = view_of(look(tmp_path / "gone"))
    assert (gone.family, gone.source, gone.has_chat_template) == (None, "unknown", None)


@pytest.mark.parametrize(
    ("model_type", "architecture", "family"),
    [
        ("deepseek_v41", "DeepseekV4ForCausalLM", "deepseek-v4.1"),  # model_type first
        ("deepseek_v4", "DeepseekV4ForCausalLM", "deepseek-v4"),
        (None, "DeepseekV4ForCausalLM", "deepseek-v4"),
        ("deepseek_v32", "DeepseekV32ForCausalLM", "deepseek-v3.2"),
        ("deepseek_v3", "DeepseekV3ForCausalLM", "deepseek-v3"),
        ("glm_moe_dsa", "GlmMoeDsaForCausalLM", "glm-dsa"),
        ("qwen3_moe", "Qwen3MoeForCausalLM", "qwen3-moe"),
        (None, "SomethingForCausalLM", None),
    ],
)
def test_families(model_type: str | None, architecture: str, family: str | None) -> None:
    assert family_of(model_type, architecture) == family


@pytest.mark.parametrize(
    ("config", "modelopt", "where", "kind"),
    [
        ({"quantization_config": FP8}, None, "config.json quantization_config", "fp8"),
        ({"quantization_config": NVFP4}, None, "config.json quantization_config", "nvfp4"),
        ({"compression_config": {"quant_method": "compressed-tensors"}}, None, "config.json compression_config",
         "compressed-tensors"),
        ({}, {"quantization": {"quant_algo": "NVFP4", "group_size": 16}}, "hf_quant_config.json", "nvfp4"),
        ({"quantization_config": FP8}, {"quantization": {"quant_algo": "NVFP4"}}, "config.json quantization_config",
         "fp8"),
        ({}, {"quantization": {"quant_algo": "FP8"}}, "hf_quant_config.json", "fp8"),
        ({}, {"quantization": ["NVFP4"]}, None, None),
        ({"quantization_config": "fp8"}, None, None, None),
        ({}, None, None, None),
    ],
)  # fmt: skip
def test_where_quantization_is_said(
    config: dict[str, Any], modelopt: dict[str, Any] | None, where: str | None, kind: str | None
) -> None:
    found = quantization_of(config, modelopt)
    assert (found and found.where, found and found.kind) == (where, kind)


@pytest.mark.parametrize(
    ("dtypes", "scales", "method", "algo", "experts"),
    [
        ({"I8": 4}, {"F8_E8M0": 4}, "fp8", None, "mxfp4"),
        ({"U8": 4}, {"F8_E8M0": 4}, "fp8", None, "mxfp4"),
        ({"U8": 4}, {"F8_E4M3": 4}, "fp8", "MIXED_PRECISION", "nvfp4"),
        ({"U8": 4}, {"F32": 4, "F8_E4M3": 4}, None, None, "nvfp4"),
        ({"U8": 4}, {}, "fp8", "NVFP4", "nvfp4"),
        ({"I8": 4}, {}, "fp8", None, "mxfp4"),
        ({"I8": 4}, {}, None, None, None),  # w8a8, perhaps
        ({"U8": 4}, {}, None, None, None),
        ({"F8_E4M3": 4}, {"F32": 4}, "fp8", None, "fp8"),
        ({"BF16": 4}, {}, None, None, "bf16"),
        ({"I32": 4}, {}, "gptq", None, None),
        ({"U8": 4, "I8": 2}, {"F8_E4M3": 4}, "fp8", None, None),
        ({}, {}, None, None, None),
    ],
)
def test_how_experts_are_stored(
    dtypes: dict[str, int], scales: dict[str, int], method: str | None, algo: str | None, experts: str | None
) -> None:
    assert experts_of(dtypes, scales, Quantization("", method, algo) if method or algo else None) == experts


def test_a_template_of_its_own_comes_before_that_of_the_tokenizer(tmp_path: Path) -> None:
    write(v4(tmp_path), "tokenizer_config.json", {"chat_template": [{"name": "default", "template": "x"}]})
    assert look(tmp_path).chat_template == "tokenizer_config.json"
    (tmp_path / "chat_template.jinja").write_text("{{ x }}")
    assert look(tmp_path).chat_template == "chat_template.jinja"


def test_a_token_that_only_the_tokenizers_configuration_adds_counts(tmp_path: Path) -> None:
    v4(tmp_path)
    write(tmp_path, "tokenizer.json", {"added_tokens": [], "model": {"vocab": {}}})
    assert look(tmp_path).tokenizer.dsml == 0
    write(tmp_path, "tokenizer_config.json", {"added_tokens_decoder": {"9": {"content": "｜DSML｜"}}})
    assert look(tmp_path).tokenizer.dsml == 1


def test_repository_and_revision_are_read_where_the_hubs_client_left_them(tmp_path: Path) -> None:
    revision = "0123456789abcdef0123456789abcdef01234567"
    home = tmp_path / "models--deepseek-ai--DeepSeek-V4-Flash"
    snapshot = home / "snapshots" / revision
    v4(snapshot)
    blob = home / "blobs" / ("ab" * 32)
    blob.parent.mkdir()
    name = "model-00001-of-00002.safetensors"
    (snapshot / name).rename(blob)
    (snapshot / name).symlink_to(blob)
    (tmp_path / "here").symlink_to(snapshot)
    found = look(tmp_path / "here")
    assert (found.repository, found.revisions) == ("deepseek-ai/DeepSeek-V4-Flash", (revision,))
    assert [one.published for one in found.shards] == ["ab" * 32, None]


def test_a_folder_that_was_fetched_into_tells_revisions_and_what_was_not_finished(tmp_path: Path) -> None:
    place = v4(tmp_path) / ".cache" / "huggingface" / "download"
    place.mkdir(parents=True)
    (place / "config.json.metadata").write_text(f"{'a' * 40}\n{'b' * 40}\n1.0\n")
    (place / "model-00001-of-00002.safetensors.metadata").write_text(f"{'c' * 40}\n{'d' * 64}\n1.0\n")
    (place / "gone.safetensors.metadata").write_text(f"{'e' * 40}\n{'f' * 64}\n1.0\n")
    (place / "x.incomplete").write_text("")
    found = look(tmp_path)
    assert (found.revisions, found.unfinished, found.repository) == (("a" * 40, "c" * 40), 1, None)
    assert found.shards[0].published == "d" * 64
