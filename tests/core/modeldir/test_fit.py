"""Bounds of what weights take on a card; a verdict only where the lower bound leaves no doubt."""

from __future__ import annotations

from stackctl.core.modeldir.fit import GIB, Fit, findings, fits
from stackctl.core.modeldir.values import Fault, Index, ModelDir, Shard
from stackctl.core.stack.resolved import Instance

SHARDS = (
    Shard("a", 0, 8, "x", 1, experts=120 * GIB, draft=4 * GIB, other=16 * GIB),
    Shard("b", 0, 8, "x", 1, other=8 * GIB),
)
MODEL = ModelDir("/m", shards=SHARDS)


def one(memory: int | None = 96, **flags: str | int) -> Fit:
    named = {name.replace("_", "-"): value for name, value in flags.items()}
    engine = Instance("prefill", 0, "h", 1, gpus=(0, 1), flags=named)
    (fit,) = fits(MODEL, [engine], {"h": None if memory is None else memory * GIB})
    return fit


def test_all_weights_are_cut_at_least_and_experts_at_most() -> None:
    fit = one(tp_size=4)
    assert (fit.cards, fit.least, fit.most) == (4, 36 * GIB, 54 * GIB)
    assert one(tp=4).least == fit.least
    assert one(tp_size=2, pp_size="2").cards == 4


def test_draft_layers_count_with_speculation_only() -> None:
    assert one(tp_size=4, speculative_algorithm="EAGLE").least == 37 * GIB


def test_what_is_left_for_caches() -> None:
    fit = one(tp_size=4, mem_fraction_static="0.85")
    assert fit.caches == int(96 * GIB * 0.85) - 36 * GIB
    assert "at a share of 0.85 at most 45.6 GiB a card are left" in str(fit)
    assert one(tp_size=4).caches is None and "derives the share" in str(one(tp_size=4))


def test_not_to_fit_is_said_only_where_it_is_sure() -> None:
    fit = one(tp_size=1)
    assert fit.impossible and "do not fit" in str(fit)
    (told,) = findings([fit])
    assert (told.id, told.severity) == ("MODEL-FIT", "error")
    for unsure in (one(None, tp_size=1), one(tp_size=1, cpu_offload_gb=80), one(tp_size=1, quantization="fp8")):
        assert not unsure.impossible and not list(findings([unsure]))
    assert one(tp_size=2, mem_fraction_static="0.70").impossible  # 72 of 67.2
    assert not one(tp_size=2, mem_fraction_static="0.80").impossible


def test_nothing_is_said_of_weights_that_are_not_all_there_nor_without_cards() -> None:
    engine = Instance("single", 0, "h", 1, gpus=(0,))
    broken = (
        ModelDir("/m", "gone"),
        ModelDir("/m"),
        ModelDir("/m", shards=SHARDS, index=Index({}, missing=("c",))),
        ModelDir("/m", shards=SHARDS, faults=(Fault("shard", "a", "is cut off"),)),
    )
    assert [fits(model, [engine], {}) for model in broken] == [(), (), (), ()]
    assert fits(MODEL, [Instance("single", 0, "h", 1)], {}) == ()


def test_a_share_that_is_none_is_not_taken() -> None:
    assert [one(tp_size=4, mem_fraction_static=text).share for text in ("x", "0", "1.5", "nan")] == [None] * 4
