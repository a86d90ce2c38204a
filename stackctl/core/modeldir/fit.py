"""Whether the weights can lie in the cards' memory: bounds of sizes that the heads of shards say, and no more.

The lower bound cuts all weights evenly; the upper one cuts routed experts only, as when attention is replicated. What
neither holds is said in words. Only a lower bound above the memory is a verdict.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from stackctl.core.doctor.values import Evidence, Finding
from stackctl.core.modeldir.sound import finding
from stackctl.core.modeldir.values import ModelDir
from stackctl.core.stack.resolved import Instance, Value

GIB = 1 << 30
LEFT_OUT = (
    "CUDA contexts and communication buffers",
    "activations and captured graphs",
    "copies that a kernel makes of the weights when it loads them",
    "replicated parts of the weights (between the two bounds)",
    "the pools that attention keeps beside keys and values",
)
TP = ("tp-size", "tp", "tensor-parallel-size")
PP = ("pp-size", "pp", "pipeline-parallel-size")
SPECULATION = ("speculative-algorithm", "speculative-algo")
ELSEWHERE = ("cpu-offload-gb", "quantization", "load-format", "kt-weight-path", "dtype")  # then sizes say too little


@dataclass(frozen=True)
class Fit:
    """One engine. Bytes a card: weights at least and at most, memory of the card, and what is left of the share that
    weights and caches may take (`--mem-fraction-static`), at most. None: not known. `cards`: that share the weights."""

    instance: str
    cards: int
    least: int
    most: int
    memory: int | None = None
    share: float | None = None
    caches: int | None = None
    unsure: str = ""  # why the sizes on the disk may not be those in memory
    left_out: tuple[str, ...] = LEFT_OUT

    @property
    def impossible(self) -> bool:
        """Known not to fit."""
        room = None if self.memory is None else self.memory * (self.share or 1.0)
        return room is not None and not self.unsure and self.least > room

    def __str__(self) -> str:
        weights = f"weights {_gib(self.least)} to {_gib(self.most)} GiB a card on {self.cards}"
        if self.memory is None:
            return f"{self.instance}: {weights}; the card's memory is not known"
        text = f"{self.instance}: {weights}, of {_gib(self.memory)} GiB"
        if self.unsure:
            return f"{text}; {self.unsure}"
        if self.impossible:
            return f"{text}: they do not fit"
        if self.share is None or self.caches is None:
            return f"{text}; sglang derives the share for caches itself"
        return f"{text}; at a share of {self.share:g} at most {_gib(self.caches)} GiB a card are left for caches"


def fits(model: ModelDir, engines: Sequence[Instance], memory: Mapping[str, int | None]) -> tuple[Fit, ...]:
    """`memory`: bytes of one card, by host. Nothing for a model whose weights are not all there."""
    if model.problem or not model.weights or model.of_kind("shard", "lfs") or (model.index and model.index.missing):
        return ()
    return tuple(_fit(model, one, memory.get(one.host)) for one in engines if one.gpus)


def _fit(model: ModelDir, engine: Instance, memory: int | None) -> Fit:
    flags = engine.flags
    cards = max(1, _number(flags, TP) or 1) * max(1, _number(flags, PP) or 1)
    drafts = any(name in flags for name in SPECULATION)
    experts = sum(one.experts for one in model.shards)
    other = sum(one.other + (one.draft if drafts else 0) for one in model.shards)
    least, most = (experts + other) // cards, experts // cards + other
    share = _share(flags)
    caches = int(memory * share) - least if memory is not None and share is not None else None
    changed = [name for name in ELSEWHERE if name in flags]
    unsure = f"{changed[0]} is set, so what is loaded may be smaller or larger" if changed else ""
    return Fit(engine.id, cards, least, most, memory, share, caches, unsure)


def findings(fits: Sequence[Fit]) -> Iterator[Finding]:
    for fit in fits:
        if fit.impossible:
            hint = "More cards (tp-size), a smaller checkpoint, or a larger mem-fraction-static."
            yield finding("MODEL-FIT", "error", str(fit), [Evidence("heads of the shards", str(fit))], hint)


def _number(flags: Mapping[str, Value], names: Sequence[str]) -> int | None:
    value = next((flags[name] for name in names if name in flags), None)
    return int(value) if isinstance(value, (int, str)) and str(value).isdigit() else None


def _share(flags: Mapping[str, Value]) -> float | None:
    try:
        value = float(str(flags["mem-fraction-static"]))
    except (KeyError, ValueError):
        return None
    return value if 0.0 < value <= 1.0 else None


def _gib(size: int) -> str:
    return f"{size / GIB:.1f}"
