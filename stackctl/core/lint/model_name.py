"""Which model and which card someone means, from names alone: a path, a repository, the stack's keys, free words.

Half of the rules are for one family, one storage of its experts or one card. Names are the weakest source, so what
they do not say stays None: a distilled model is not the family it was distilled from, `RTX 6000` is three cards.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from stackctl.core.lint.setup import Card, ModelView
from stackctl.core.stack.resolved import Model

NAMELESS: Final = re.compile(  # a folder that says nothing of the model: what is above it does
    r"[0-9a-f]{7,64}|\d+|v\d+|snapshots?|main|master|latest|current|models?|weights|checkpoints?|original|hf|hub"
    r"|data|mnt|srv|home|opt|root|tmp|var|nfs|raid|workspace|cache|huggingface",
    re.I,
)
FAMILIES: Final = (
    ("deepseek-v4.1", r"deepseek[ -]?v4[.]?1"),
    ("deepseek-v4", r"deepseek[ -]?v4"),
    ("deepseek-v3.2", r"deepseek[ -]?v3[.]?2"),
    ("deepseek-v3", r"deepseek[ -]?(?:v3(?:[.]?1)?|r1)"),
    ("glm-dsa", r"glm[ -]?5(?:[.]\d)?"),
)
ARCHITECTURES: Final = {
    "deepseekv4": "deepseek-v4",
    "deepseekv32": "deepseek-v3.2",
    "deepseekv3": "deepseek-v3",
    "glmmoedsa": "glm-dsa",
}
OTHERS: Final = frozenset(("distill", "distilled", "qwen", "qwen2", "qwen3", "llama", "eagle", "eagle3", "draft"))
NATIVE: Final = {  # words that a name may have and still be the checkpoint as its maker published it
    "deepseek-v4": ("mxfp4", frozenset(("flash", "pro"))),
    "deepseek-v3.2": ("fp8", frozenset(("exp", "speciale"))),
    "deepseek-v3": ("fp8", frozenset(("terminus", "zero"))),
}
STORED: Final = ("nvfp4", "mxfp4", "fp8", "bf16")
QUANTIZED: Final = {
    "modelopt_fp4": "nvfp4",
    "modelopt_mixed": "nvfp4",
    "modelopt_fp8": "fp8",
    "bfloat16": "bf16",
    "native": "",
    **{one: one for one in STORED},
}


def model_of_name(path: str, served: str | None = None) -> ModelView:
    """The model of a path or repository. `served`: the name it goes by, for a path that says nothing of its own."""
    told = _named(path)
    family, rest = _family(told)
    experts = _experts(family, rest)
    if not told and served:
        family, rest = _family(_words(served))
        experts = _stored(rest)
    return ModelView(path, family, experts, source="name" if family else "unknown")


def model_of_words(text: str) -> ModelView:
    """The model of a remark such as `deepseek_v4, FP4 experts`: experts only where the remark says so."""
    family, rest = _family(_words(text))
    fp4 = "fp4" in rest and "experts" in rest and family == "deepseek-v4"
    return ModelView("", family, "mxfp4" if fp4 else _stored(rest), source="name" if family else "unknown")


def model_of_stack(model: Model) -> ModelView:
    """What the stack says of its model: its keys first, then repository, path, and the name it is served by."""
    by_name = model_of_name(model.repo or model.path, model.name)
    family = _of_architecture(model.architecture) if model.architecture else by_name.family
    if by_name.family == "deepseek-v4.1" and family == "deepseek-v4":
        family = by_name.family  # it has V4's architecture, only its model_type differs
    if family != by_name.family:
        by_name = replace(by_name, experts=None)
    said = model.architecture is not None or model.quantization is not None
    return ModelView(
        model.path,
        family,
        _quantized(model.quantization, family, by_name.experts),
        model.quantization,
        model.architecture,
        source="stack" if said else by_name.source,
    )


def _of_architecture(architecture: str) -> str | None:
    return ARCHITECTURES.get(re.split(r"(?:For|MTP|Next)", architecture)[0].lower())


def _quantized(said: str | None, family: str | None, by_name: str | None) -> str | None:
    """How the experts are stored. `fp8` is also what V4's own MXFP4 checkpoint calls its method: it needs the name."""
    if said is None:
        return by_name
    stored = QUANTIZED.get(said.lower().replace("-", "_"))
    if stored == "":
        return NATIVE[family][0] if family in NATIVE else None
    if stored == "fp8" and family == "deepseek-v4":
        return by_name if by_name == "fp8" else None
    return stored


def _named(path: str) -> Sequence[str]:
    """The words of the last component that names something."""
    for part in reversed([one for one in path.split("/") if one not in ("", ".", "..")]):
        if not NAMELESS.fullmatch(part):
            return _words(part)
    return ()


def _words(text: str) -> Sequence[str]:
    return re.findall(r"[a-z0-9]+(?:[.][0-9]+)*", text.lower())


def _family(words: Sequence[str]) -> tuple[str | None, frozenset[str]]:
    """The family, and the words beside it."""
    text = " ".join(words)
    if OTHERS & set(words):
        return None, frozenset()
    for family, pattern in FAMILIES:
        if found := re.search(rf"(?<![a-z0-9]){pattern}(?![a-z0-9.])", text):
            return family, frozenset(_words(text[: found.start()] + text[found.end() :]))
    return None, frozenset()


def _stored(words: frozenset[str]) -> str | None:
    found = [one for one in STORED if one in words]
    return found[0] if found else None


def _experts(family: str | None, words: frozenset[str]) -> str | None:
    if family is None:
        return None
    stored, variants = NATIVE.get(family, (None, frozenset[str]()))
    rest = {word for word in words if not re.fullmatch(r"\d{4}", word)} - {"deepseek", "ai", "models"}
    if stored and rest <= variants and (rest or family != "deepseek-v4"):
        return stored
    return _stored(words)


GIB: Final = 1 << 30
CARDS: Final = (  # pattern, architecture, memory of one in GiB where all of that name have the same
    (r"rtx pro 6000d|rtx 6000d", "sm_120", 84),
    (r"rtx pro 6000", "sm_120", 96),
    (r"rtx pro 4500", "sm_120", 32),
    (r"rtx pro 4000", "sm_120", 24),
    (r"rtx pro [0-9]{4}", "sm_120", None),
    (r"(?:rtx )?5090", "sm_120", 32),
    (r"(?:rtx )?5080", "sm_120", 16),
    (r"rtx 50[5-7]0", "sm_120", None),
    (r"gb10|dgx spark", "sm_121", None),
    (r"g?b300", "sm_103", None),
    (r"g?b200", "sm_100", None),
    (r"h200", "sm_90", 141),
    (r"gh200|h800|h100|h20", "sm_90", None),
    (r"l40s?|l4|l20|(?:rtx )?4090d?|rtx [0-9]{4} ada", "sm_89", None),
    (r"rtx a[0-9]{4}|a40|a10g?|(?:rtx )?3090", "sm_86", None),
    (r"a100|a800", "sm_80", None),
    (r"t4", "sm_75", None),
    (r"v100", "sm_70", None),
)
CAPABILITY: Final = (
    r"(?:sm ?_?|compute capability |cc )(?P<sm>[0-9]{1,2}[.]?[0-9])a?\b|\((?P<paren>[0-9]{1,2}[.][0-9])\)"
)


def card_of_hardware(text: str | None) -> Card | None:
    """The card that free words mean; None for none of NVIDIA's, for an unknown one, and for two different ones.

    `count` is what stands before it (`8x RTX PRO 6000`); of `2xH200x8`, two hosts, it is what one host has.
    """
    if text is None:
        return None
    words = re.sub(r"[\s_-]+", " ", text.lower().replace("×", "x"))
    found = dict(_cards(words))
    said = {f"sm_{(one['sm'] or one['paren']).replace('.', '')}" for one in re.finditer(CAPABILITY, words)}
    kinds = set(found) | said
    if len(kinds) != 1:
        return None
    arch = kinds.pop()
    return Card(arch, _count(words), found.get(arch))


def _cards(words: str) -> list[tuple[str, int | None]]:
    taken: list[tuple[str, int | None]] = []
    for pattern, arch, memory in CARDS:
        words, times = re.subn(rf"(?<![a-z0-9])(\d+ ?x ?)?(?:{pattern})(?![0-9a-wyz])", r" \1", words)
        if times:
            taken.append((arch, memory * GIB if memory else None))
    return taken


def _count(words: str) -> int | None:
    """`8x RTX`, `RTX x8`, and of `2x H200 x8` the last, as the first counts hosts."""
    found = re.search(r"(?<=[0-9a-z]) ?x ?(\d{1,2})$", words) or re.search(r"\b(\d{1,3}) ?x ?(?=[a-z0-9])", words)
    return int(found[1]) if found else None
