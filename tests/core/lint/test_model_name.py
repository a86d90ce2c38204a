"""What names say of a model and of a card, and what they must not be made to say."""

from __future__ import annotations

import pytest

from stackctl.core.lint.model_name import card_of_hardware, model_of_name, model_of_stack, model_of_words
from stackctl.core.stack.resolved import Model

V4 = "deepseek-v4"


@pytest.mark.parametrize(
    ("name", "family", "experts"),
    [
        ("deepseek-ai/DeepSeek-V4-Flash", V4, "mxfp4"),
        ("deepseek-ai/DeepSeek-V4-Flash-0731", V4, "mxfp4"),
        ("deepseek-ai/DeepSeek-V4-Pro", V4, "mxfp4"),
        ("sgl-project/DeepSeek-V4-Flash-FP8", V4, "fp8"),
        ("/models/DeepSeek-V4-FP8", V4, "fp8"),
        ("nvidia/DeepSeek-V4-Flash-NVFP4", V4, "nvfp4"),
        ("/srv/deepseek_v4_flash_nvfp4/", V4, "nvfp4"),
        ("deepseek-ai/DeepSeek-V4-Flash-Vision-Exp", V4, None),
        ("someone/DeepSeek-V4-Flash-AWQ", V4, None),
        ("someone/DeepSeek-V4-Flash-FP4", V4, None),  # NVIDIA's FP4 is NVFP4, others' is not
        ("DeepSeek-V4", V4, None),
        ("/hub/models--deepseek-ai--DeepSeek-V4-Pro/snapshots/0a1b2c3d4e5f", V4, "mxfp4"),
        ("/data/DeepSeek-V4-Flash-NVFP4/v1/weights", V4, "nvfp4"),
        ("deepseek-ai/DeepSeek-V4.1-Flash", "deepseek-v4.1", None),
        ("deepseek_v41", "deepseek-v4.1", None),
        ("deepseek-ai/DeepSeek-V3.2-Exp", "deepseek-v3.2", "fp8"),
        ("DeepSeek-V3/", "deepseek-v3", "fp8"),
        ("deepseek-ai/DeepSeek-V3-0324", "deepseek-v3", "fp8"),
        ("deepseek-ai/DeepSeek-V3.1-Terminus", "deepseek-v3", "fp8"),
        ("nvidia/DeepSeek-R1-FP4", "deepseek-v3", None),
        ("zai-org/GLM-5.2-FP8", "glm-dsa", "fp8"),
        ("zai-org/GLM-5", "glm-dsa", None),
        ("zai-org/GLM-4.5-FP8", None, None),
        ("/models/DeepSeek-R1-Distill-Llama-8B", None, None),
        ("deepseek-ai/DeepSeek-R1-0528-Qwen3-8B", None, None),
        ("/data/DeepSeek-V4/Qwen3-8B", None, None),
        ("deepseek-ai/DeepSeek-V40", None, None),
        ("/model", None, None),
        ("", None, None),
    ],
)
def test_a_name_says_the_family_and_the_storage_of_its_experts(
    name: str, family: str | None, experts: str | None
) -> None:
    said = model_of_name(name)
    assert (said.family, said.experts, said.path) == (family, experts, name)
    assert said.source == ("name" if family else "unknown")


def test_a_served_name_says_the_family_but_is_no_proof_of_the_native_checkpoint() -> None:
    assert (said := model_of_name("/model", "deepseek-v4-flash")).family == V4
    assert said.experts is None
    assert model_of_name("/model", "deepseek-v4-flash-nvfp4").experts == "nvfp4"
    assert model_of_name("/data/model", "DeepSeek-V3.1-NVFP4/main").family == "deepseek-v3"
    assert model_of_name("/models/Qwen3-8B", "deepseek-v4").family is None
    assert model_of_name("/models/DeepSeek-V4-Flash-FP8", "deepseek-v4-flash-nvfp4").experts == "fp8"


@pytest.mark.parametrize(
    ("model", "family", "experts", "source"),
    [
        (Model("/model", "x", "DeepseekV4ForCausalLM", "nvfp4"), V4, "nvfp4", "stack"),
        (Model("/model", "x", "DeepseekV4ForCausalLM", "modelopt_fp4"), V4, "nvfp4", "stack"),
        (Model("/model", "x", "DeepseekV4ForCausalLM", "native"), V4, "mxfp4", "stack"),
        (Model("/model", "x", "DeepseekV4ForCausalLM"), V4, None, "stack"),
        # what the native checkpoint calls its method is fp8 too
        (Model("/models/DeepSeek-V4-Flash", "x", "DeepseekV4ForCausalLM", "fp8"), V4, None, "stack"),
        (Model("/models/DeepSeek-V4-Flash-FP8", "x", "DeepseekV4ForCausalLM", "fp8"), V4, "fp8", "stack"),
        (Model("/models/DeepSeek-V4.1-Flash", "x", "DeepseekV4ForCausalLM"), "deepseek-v4.1", None, "stack"),
        (Model("/models/DeepSeek-V4-Flash", "x", "LlamaForCausalLM"), None, None, "stack"),
        (Model("/models/DeepSeek-V4-Flash", "x"), V4, "mxfp4", "name"),
        (Model("/model", "x", "GlmMoeDsaForCausalLM", "fp8"), "glm-dsa", "fp8", "stack"),
        (Model("/model", "x", "DeepseekV32ForCausalLM"), "deepseek-v3.2", None, "stack"),
        (Model("/model", "x", quantization="awq"), None, None, "stack"),
        (Model("/model", "x"), None, None, "unknown"),
        (Model("/model", "deepseek-v4-flash-nvfp4"), V4, "nvfp4", "name"),
        (Model("/models/mine", "x", repo="nvidia/DeepSeek-V4-Flash-NVFP4"), V4, "nvfp4", "name"),
        (Model("/model", "x", "DeepseekV4ForCausalLM", "modelopt_fp8"), V4, None, "stack"),
        (Model("/model", "x", "SomethingForCausalLM", "bfloat16"), None, "bf16", "stack"),
    ],
)
def test_the_keys_of_a_stack_come_before_the_name(
    model: Model, family: str | None, experts: str | None, source: str
) -> None:
    said = model_of_stack(model)
    assert (said.family, said.experts, said.source) == (family, experts, source)
    assert (said.path, said.quantization, said.architecture) == (model.path, model.quantization, model.architecture)


def test_a_remark_says_experts_only_in_so_many_words() -> None:
    assert (said := model_of_words("deepseek_v4, FP4 experts")).family == V4
    assert said.experts == "mxfp4"
    assert model_of_words("deepseek_v41").experts is None
    assert model_of_words("deepseek_v4").experts is None
    assert model_of_words("DeepSeek V4, NVFP4").experts == "nvfp4"


@pytest.mark.parametrize(
    ("text", "arch", "count", "gib"),
    [
        ("RTX PRO 6000", "sm_120", None, 96),
        ("8x RTX PRO 6000", "sm_120", 8, 96),
        ("NVIDIA RTX PRO 6000 Blackwell Server Edition", "sm_120", None, 96),
        ("RTX 6000D (12.0)", "sm_120", None, 84),
        ("RTX PRO 4000 SM120", "sm_120", None, 24),
        ("RTX PRO 5000", "sm_120", None, None),  # of 48 and of 72
        ("5090", "sm_120", None, 32),
        ("4x RTX 5090", "sm_120", 4, 32),
        ("NVIDIA GeForce RTX 5090 x8", "sm_120", 8, 32),
        ("DGX Spark", "sm_121", None, None),
        ("sm_120a", "sm_120", None, None),
        ("compute capability 8.9", "sm_89", None, None),
        ("SM89", "sm_89", None, None),
        ("H200", "sm_90", None, 141),
        ("2xH200x8", "sm_90", 8, 141),
        ("H20", "sm_90", None, None),
        ("B200", "sm_100", None, None),
        ("GB300", "sm_103", None, None),
        ("64x4090", "sm_89", 64, None),
        ("RTX 6000 Ada", "sm_89", None, None),
        ("RTX A6000", "sm_86", None, None),
        ("A100-SXM4-80GB", "sm_80", None, None),
    ],
)
def test_words_for_a_card(text: str, arch: str, count: int | None, gib: int | None) -> None:
    card = card_of_hardware(text)
    assert card is not None
    assert (card.arch, card.count, card.memory) == (arch, count, gib << 30 if gib else None)


@pytest.mark.parametrize(
    "text", ["MI355X", "MI300X", "XPU", "Gaudi 3", "RTX 6000", "H100 or B200", "RTX PRO 6000 (8.9)", "CPU", "", None]
)
def test_no_card_of_words_that_mean_none_or_two(text: str | None) -> None:
    assert card_of_hardware(text) is None
