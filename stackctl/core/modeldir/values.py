"""What a model's folder holds, as plain values: made of config.json, tokenizer files and heads of shards alone.

None means that the folder does not say it. Nothing here knows a stack; findings.py compares with one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

FaultKind = Literal["dangling", "unreadable", "large", "lfs", "json", "shard"]


def printable(text: str) -> str:
    """Names and words of a folder may hold anything, and a terminal obeys control characters."""
    return re.sub(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]", "?", text)


@dataclass(frozen=True)
class Fault:
    """What is wrong with one file. `dangling`: a link to nothing; `shard`: no whole safetensors file."""

    kind: FaultKind
    file: str
    message: str


@dataclass(frozen=True)
class SmallFile:
    size: int
    sha256: str


@dataclass(frozen=True)
class Shard:
    """One safetensors file. Sizes in bytes; `header`: of its JSON, and `sha256`: of that with the length before it;
    None when it has no whole head. Bytes by kind: routed experts, the draft (MTP) layers, all else. `published`: the
    sha256 of the whole file, as the hub's client wrote it down."""

    name: str
    size: int
    header: int | None = None
    sha256: str | None = None
    tensors: int = 0
    experts: int = 0
    draft: int = 0
    other: int = 0
    published: str | None = None


@dataclass(frozen=True)
class Index:
    """model.safetensors.index.json. `shards`: file -> tensors that it should have; `missing`: named, not there;
    `unnamed`: there, not named; `lacking`: file -> how many of its tensors it lacks, and the first of them."""

    shards: Mapping[str, int]
    missing: tuple[str, ...] = ()
    unnamed: tuple[str, ...] = ()
    lacking: Mapping[str, tuple[int, tuple[str, ...]]] = field(default_factory=dict)
    total_size: int | None = None


@dataclass(frozen=True)
class Quantization:
    """As the folder says it, and `where`: `config.json quantization_config`, `hf_quant_config.json`, …"""

    where: str
    method: str | None = None  # quant_method
    algo: str | None = None  # quant_algo
    moe_algo: str | None = None  # moe_quant_algo
    group_size: int | None = None
    ignored: int = 0  # modules that are left as they are

    @property
    def kind(self) -> str | None:
        """In one word, as a stack would say it: nvfp4, fp8, …"""
        algorithm = (self.moe_algo or self.algo or "").lower()
        return "nvfp4" if "nvfp4" in algorithm or algorithm == "fp4" else algorithm or self.method

    def __str__(self) -> str:
        said = (("quant_method", self.method), ("quant_algo", self.algo), ("moe_quant_algo", self.moe_algo))
        return ", ".join(f"{key} {value}" for key, value in said if value) or "nothing"


@dataclass(frozen=True)
class Tokenizer:
    """`files`: those that are there. `dsml`: tokens with `｜DSML｜`, None when tokenizer.json could not be read;
    `dsml_spelled`: a few tokens that bear the word DSML, however spelled."""

    files: tuple[str, ...] = ()
    cls: str | None = None  # tokenizer_class
    vocabulary: int | None = None
    dsml: int | None = None
    dsml_spelled: tuple[str, ...] = ()


@dataclass(frozen=True)
class ModelDir:
    """`family` and `experts` as in lint's ModelView. `problem`: why the folder cannot be looked at; then all else is
    empty, but for a `repository` that was asked for by its name. `chat_template`: the file that has one, empty when
    none has. `size`: bytes of its files."""

    path: str
    problem: str = ""
    real: str = ""  # where links lead
    architecture: str | None = None
    model_type: str | None = None
    family: str | None = None
    quantization: Quantization | None = None
    experts: str | None = None
    expert_dtypes: Mapping[str, int] = field(default_factory=dict)  # of routed experts' weights -> tensors
    scale_dtypes: Mapping[str, int] = field(default_factory=dict)
    draft_dtypes: Mapping[str, int] = field(default_factory=dict)  # of experts in draft layers
    context_length: int | None = None
    layers: int | None = None
    dtype: str | None = None
    shards: tuple[Shard, ...] = ()
    index: Index | None = None
    files: Mapping[str, SmallFile] = field(default_factory=dict)
    tokenizer: Tokenizer = Tokenizer()
    chat_template: str = ""
    encodings: tuple[str, ...] = ()  # programs that render prompts: encoding/encoding_dsv4.py
    repository: str | None = None  # of the hub, where the folder shows it
    revisions: tuple[str, ...] = ()  # of the hub, where its client wrote them down; more than one: a mixture
    unfinished: int = 0  # downloads
    other_weights: tuple[str, ...] = ()
    size: int = 0
    faults: tuple[Fault, ...] = ()

    @property
    def weights(self) -> int:
        """Bytes of all tensors whose head could be read."""
        return sum(one.experts + one.draft + one.other for one in self.shards)

    @property
    def stored(self) -> str | None:
        """How the weights are stored, in a stack's words: as the routed experts are, else as the folder says it."""
        if self.experts or self.quantization:
            return self.experts or (self.quantization.kind if self.quantization else None)
        return {"bfloat16": "bf16", "float16": "f16", "float32": "f32"}.get(self.dtype or "")

    @property
    def is_v4(self) -> bool:
        return self.family in ("deepseek-v4", "deepseek-v4.1")

    def of_kind(self, *kinds: FaultKind) -> tuple[Fault, ...]:
        return tuple(fault for fault in self.faults if fault.kind in kinds)
