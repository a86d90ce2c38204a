"""Rules on disaggregated serving that hold in certain releases: refused combinations, known faults, reported hangs.

A fault that a patch of the queue mends is told only for whole deployments, and of commands from elsewhere only as a
note, since nobody knows what is in the image that will run them.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from typing import Final

from stackctl.core.lint.known.asked import at_env, at_flag, patched, unless_patched, unpatched
from stackctl.core.lint.known.evidence import issue, pull, source
from stackctl.core.lint.known.pairs import pairs
from stackctl.core.lint.known.wording import engine
from stackctl.core.lint.setup import ModelView, Process, Setup
from stackctl.core.lint.values import Hit, Rule

HOOK: Final = source("0.5.15", "srt/arg_groups/pd_disaggregation_hook.py")
NIXL: Final = source("0.5.15", "srt/disaggregation/nixl/conn.py")
BACKEND, SPECULATION = "disaggregation-transfer-backend", "speculative-algorithm"
HICACHE, DECODE_RADIX = "enable-hierarchical-cache", "disaggregation-decode-enable-radix-cache"
DENSE: Final = re.compile(r"(llama-?[23]|mistral-7b|qwen[23](\.5)?-[0-9.]+b(?!-a[0-9])|gemma|phi-[34])", re.IGNORECASE)
DENSE_ARCHITECTURES: Final = ("LlamaForCausalLM", "MistralForCausalLM", "Qwen2ForCausalLM", "Qwen3ForCausalLM")
TIMEOUTS: Final = ("SGLANG_REQ_WAITING_TIMEOUT", "SGLANG_REQ_RUNNING_TIMEOUT")


def _over_nixl(setup: Setup) -> list[Process]:
    """Both sides of a deployment that sends over nixl."""
    both = [pair for pair in pairs(setup) if all(side.text(BACKEND) == "nixl" for side in pair)]
    return list({side.id: side for pair in both for side in pair}.values())


def _state(setup: Setup) -> Iterator[Hit]:
    patch = "pd/nixl-state-components"
    if not setup.model.is_v4 or patched(setup, "nixl-state-components"):
        return
    for process in _over_nixl(setup):
        yield Hit(
            f"over nixl, {engine(setup)} counts ranks and not parts of DeepSeek-V4's state: decode may start before "
            f"all of it has arrived{unless_patched(setup)}",
            at_flag(process, BACKEND),
            f"add the patch {patch}; no setting avoids it",
            unpatched(setup),
        )


def _abort(setup: Setup) -> Iterator[Hit]:
    patch = "pd/nixl-abort-race"
    if patched(setup, "nixl-abort-race"):
        return
    for process in _over_nixl(setup):
        yield Hit(
            f"over nixl, the first aborted request ends a prefill rank's bootstrap thread in {engine(setup)}: later "
            f"ones wait until they time out, while /health stays green{unless_patched(setup)}",
            at_flag(process, BACKEND),
            f"add the patch {patch}, or take a base from 0.5.16 on",
            unpatched(setup),
        )


def _dense(setup: Setup) -> Iterator[Hit]:
    if not _is_dense(setup.model):
        return
    for process in _over_nixl(setup):
        yield Hit(
            f"a hang was reported for dense models over nixl in {engine(setup)}",
            at_flag(process, BACKEND),
            "take a newer base, or another transfer backend",
        )


def _is_dense(model: ModelView) -> bool:
    if model.family is not None:
        return False
    if model.architecture is not None:
        return model.architecture in DENSE_ARCHITECTURES
    return DENSE.match(posixpath.basename(model.path.rstrip("/"))) is not None


def _hicache_hisparse(setup: Setup) -> Iterator[Hit]:
    seen = set()
    for prefill, decode in pairs(setup):
        if prefill.on(HICACHE) and decode.on("enable-hisparse") and decode.id not in seen:
            seen.add(decode.id)
            yield Hit(
                "a hang was reported for --enable-hisparse on decode with --enable-hierarchical-cache on prefill",
                at_flag(decode, "enable-hisparse"),
                "take one of the two away",
            )


def _attention_dp_mtp(setup: Setup) -> Iterator[Hit]:
    for decode in setup.of_role("decode"):
        algorithm = (decode.text(SPECULATION) or "").upper()
        if decode.on("enable-dp-attention") and (decode.number("dp-size") or 1) > 1 and algorithm in ("EAGLE", "NEXTN"):
            yield Hit(
                f"a hang was reported for DP attention with {algorithm} on decode in {engine(setup)}",
                at_flag(decode, "enable-dp-attention"),
                "take a newer base, or tensor parallelism alone",
            )


def _decode_hicache(setup: Setup) -> Iterator[Hit]:
    for decode in setup.of_role("decode"):
        if decode.on(HICACHE) and not decode.on(DECODE_RADIX):
            also = f", or add --{DECODE_RADIX}" if decode.has(DECODE_RADIX) else ""
            yield Hit(
                f"decode stops at start: {engine(setup)} switches its radix cache off, and the hierarchical cache is "
                "refused without one",
                at_flag(decode, HICACHE),
                f"set it on prefill only{also}",
            )


def _decode_radix_spec(setup: Setup) -> Iterator[Hit]:
    for decode in setup.of_role("decode"):
        algorithm = decode.text(SPECULATION)
        if decode.on(DECODE_RADIX) and decode.given(SPECULATION) is not None:
            yield Hit(
                f"{engine(setup)} refuses decode's radix cache together with speculation ({algorithm})",
                at_flag(decode, DECODE_RADIX),
                "take one of the two away",
            )


def _timeouts(setup: Setup) -> Iterator[Hit]:
    for process in setup.engines:
        ranks = process.number("tp-size") or 1
        for name in TIMEOUTS:
            if ranks > 1 and _positive(process.env.get(name)):
                yield Hit(
                    f"with --tp-size {ranks:.0f} each rank decides by its own clock which requests are too old: ranks "
                    "that disagree hang",
                    at_env(process, name),
                    "unset it; let the client or the router time out",
                )


def _positive(text: str | None) -> bool:
    try:
        return float(text or "-1") > 0
    except ValueError:
        return False


RULES = (
    Rule(
        "PD-NIXL-V4-STATE",
        "error",
        _state,
        "DeepSeek-V4 over nixl without the patch that waits for all of its state",
        "V4 sends two parts of state (the window and the C128 ring) since 0.5.15; the receiver takes the first as "
        "all. The answers are wrong now and then, without an error. 0.5.23 waits for prefill's word.",
        (f"{NIXL}#L2171", issue(39846), pull(39852)),
        ">=0.5.15,<0.5.23",
    ),
    Rule(
        "PD-NIXL-ABORT",
        "error",
        _abort,
        "nixl without the patch that understands an abort",
        "Decode tells prefill of an abort; the nixl side asserts that every message begins with its own mark, and "
        "the thread ends.",
        (f"{NIXL}#L2348", pull(30352)),
        ">=0.5.13,<0.5.16",
    ),
    Rule(
        "PD-NIXL-DENSE",
        "warning",
        _dense,
        "a dense model over nixl",
        "Reported, not reproduced here. What is dense is told by the architecture or a well-known name.",
        (issue(25698),),
        "==0.5.12",
        doubt=True,
    ),
    Rule(
        "PD-HICACHE-HISPARSE",
        "warning",
        _hicache_hisparse,
        "a hierarchical cache on prefill with hierarchical sparse attention on decode",
        "Reported, not reproduced here.",
        (issue(26092),),
        doubt=True,
    ),
    Rule(
        "PD-DPATTN-MTP",
        "warning",
        _attention_dp_mtp,
        "decode with DP attention and multi-token prediction",
        "Reported for 0.5.15 and mended after it; not reproduced here.",
        (pull(32209),),
        "==0.5.15",
        doubt=True,
    ),
    Rule(
        "PD-DECODE-HICACHE",
        "error",
        _decode_hicache,
        "a hierarchical cache on decode",
        "Decode switches the radix cache off before hierarchical cache and radix cache are checked against each "
        "other, in every release from 0.5.9 to 0.5.23. Its own radix cache is an experiment since 0.5.11.",
        (HOOK, source("0.5.15", "srt/server_args.py#L5772")),
    ),
    Rule(
        "PD-DECODE-RADIX-SPEC",
        "error",
        _decode_radix_spec,
        "decode's radix cache together with speculation",
        "Refused at start; allowed from 0.5.23 on.",
        (HOOK,),
        ">=0.5.11,<0.5.23",
    ),
    Rule(
        "REQ-TIMEOUT-TP",
        "warning",
        _timeouts,
        "a timeout of requests with several tensor-parallel ranks",
        "Each rank compares with its own clock. From 0.5.20 on one rank decides and tells the others.",
        (issue(27221), source("0.5.15", "srt/managers/scheduler.py#L2398")),
        "<0.5.20",
    ),
)
