"""Rules on single engines: what sglang itself checks at start, minutes later, and what is missed after a crash."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from stackctl.core.lint.known.asked import at_flag
from stackctl.core.lint.known.evidence import source
from stackctl.core.lint.known.ports import attention_dp
from stackctl.core.lint.known.wording import engine
from stackctl.core.lint.rules.pd import PAGES_OF_THEIR_OWN
from stackctl.core.lint.setup import Process, Setup
from stackctl.core.lint.values import Hit, Rule

ARGS: Final = source("0.5.15", "srt/server_args.py")
VALIDATION: Final = source("0.5.23", "srt/arg_groups/validation_hook.py")
V4_PAGE: Final = 256
CHUNK: Final = "chunked-prefill-size"
OBJECT_STORES: Final = ("s3://", "gs://", "az://")  # a served name may be one: its colon is allowed


def _chunk(setup: Setup) -> Iterator[Hit]:
    for process in setup.engines:
        chunk, page = process.number(CHUNK), _page(setup, process)
        if process.role == "decode" or process.given(CHUNK) is None or chunk is None or chunk <= 0 or page is None:
            continue
        parts = _attention_ranks(process)
        each = int(chunk) // parts
        if each % page:
            shared = f", which each of {parts} attention ranks takes {each} of," if parts > 1 else ""
            step = int(page * parts)
            right = max(step, int(chunk) // step * step)
            yield Hit(
                f"--{CHUNK} {chunk:.0f}{shared} is no multiple of the page of {page:.0f} tokens: stops at start",
                at_flag(process, CHUNK),
                f"write {right}",
            )


def _page(setup: Setup, process: Process) -> float | None:
    """The page size that will hold; None when it is not known."""
    if setup.model.is_v4:
        return V4_PAGE if process.text("device") in (None, "cuda") else None
    backends = {process.text(name) for name in ("attention-backend", "prefill-attention-backend")}
    card = process.card.arch if process.card is not None else None
    by_card = card is not None and card.startswith("sm_10") and backends == {None}  # it may take trtllm_mha there
    if process.given("page-size") is None or by_card or backends & PAGES_OF_THEIR_OWN:
        return None
    return process.number("page-size") or None


def _attention_ranks(process: Process) -> int:
    """The chunk is divided among them before it is checked."""
    if not attention_dp(process):
        return 1
    name = "attn-dp-size" if process.given("attn-dp-size") is not None else "dp-size"
    return int(process.number(name) or 1)


def _colon(setup: Setup) -> Iterator[Hit]:
    for process in setup.engines:
        name = process.text("served-model-name") or ""
        if ":" in name and not name.startswith(OBJECT_STORES):
            yield Hit(
                f"a colon in the served name {name} stops sglang at start: it would divide model and adapter",
                at_flag(process, "served-model-name"),
                f"write {name.replace(':', '-')}",
            )


def _pipeline(setup: Setup) -> Iterator[Hit]:
    for process in setup.engines:
        stages = process.number("pp-size") or 1
        if stages <= 1:
            continue
        algorithm = (process.text("speculative-algorithm") or "").upper()
        if process.given("speculative-algorithm") is not None and _refuses(setup, process, algorithm):
            yield Hit(
                f"{engine(setup)} refuses pipeline stages together with speculation ({algorithm})",
                at_flag(process, "pp-size"),
                "take one of the two away",
                "error",
            )
        elif not process.on("disable-overlap-schedule"):
            yield Hit(
                "with pipeline stages sglang switches the overlap schedule off itself",
                at_flag(process, "pp-size"),
                "write disable-overlap-schedule too, so that the file says what runs",
            )


def _refuses(setup: Setup, process: Process, algorithm: str) -> bool:
    """False where it is not known."""
    if setup.at("<0.5.20"):
        return True
    if setup.at("<0.5.21"):
        return process.text("device") != "npu"
    if not setup.at(">=0.5.21"):
        return False
    if algorithm == "DSPARK":
        return process.role != "prefill"
    return algorithm not in ("EAGLE", "NEXTN") or process.on("enable-multi-layer-eagle")


def _dense_tp(setup: Setup) -> Iterator[Hit]:
    for process in setup.engines:
        size, tp = process.number("moe-dense-tp-size"), process.number("tp-size") or 1
        allowed = (1,) if setup.at("<0.5.13") else (1, tp)
        if process.given("moe-dense-tp-size") is not None and size is not None and size not in allowed:
            others = " or ".join(f"{one:.0f}" for one in sorted(set(allowed)))
            yield Hit(
                f"--moe-dense-tp-size {size:.0f} stops at start: {engine(setup)} takes {others}",
                at_flag(process, "moe-dense-tp-size"),
                f"write {others}, or leave it out",
            )


def _crash_dump(setup: Setup) -> Iterator[Hit]:
    name = "crash-dump-folder"
    for process in setup.engines:
        if process.has(name) and not process.text(name):
            yield Hit(
                "without --crash-dump-folder nothing is left of the requests that were running when the engine fell",
                at_flag(process, name),
                "give a folder with room: the requests of the last five minutes are written there",
            )
            if setup.stack is None:
                return  # once for all commands of a file: they have no line in common


RULES = (
    Rule(
        "CHUNK-PAGE",
        "error",
        _chunk,
        "a prefill chunk that is no multiple of the page",
        "Checked at start, after the model was looked at; decode is not asked. With DP attention the chunk is divided "
        "among the ranks first. DeepSeek-V4 has pages of 256 tokens whatever the flag says.",
        (f"{ARGS}#L6605", f"{ARGS}#L4902", VALIDATION),
    ),
    Rule(
        "SERVED-NAME-COLON",
        "error",
        _colon,
        "a colon in the served name",
        "The colon stands between a model and its LoRA adapter.",
        (f"{ARGS}#L6590", VALIDATION),
    ),
    Rule(
        "PP-OVERLAP",
        "info",
        _pipeline,
        "pipeline stages with overlap scheduling or speculation",
        "Overlap is switched off without an error. Speculation is refused up to 0.5.20; from 0.5.21 EAGLE is "
        "allowed, and DSPARK on prefill.",
        (f"{ARGS}#L6572", source("0.5.15", "srt/arg_groups/overrides.py#L1945"), VALIDATION),
    ),
    Rule(
        "MOE-DENSE-TP",
        "error",
        _dense_tp,
        "a tensor parallelism of dense layers that is refused",
        "1 only up to 0.5.12; 1 or the value of --tp-size from 0.5.13 on.",
        (f"{ARGS}#L6584", VALIDATION),
    ),
    Rule(
        "CRASH-DUMP",
        "info",
        _crash_dump,
        "no folder for a crash",
        "The requests of the last five minutes before a crash are often the only way to repeat it.",
        (f"{ARGS}#L1151",),
    ),
)
