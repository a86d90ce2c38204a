"""Rules on what prefill and decode must have alike, since one writes memory that the other reads.

sglang compares some of it when the two connect, which is after both have loaded; the rest it does not compare, and
then the answers are wrong. Only pairs of one deployment are compared: a single command says nothing about the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from stackctl.core.lint.known.asked import FALSE, TRUE
from stackctl.core.lint.known.evidence import issue, pull, source
from stackctl.core.lint.known.pairs import V4_KV, Agreement, Reader, Told, called, flag, pairs, where
from stackctl.core.lint.setup import Process, Setup
from stackctl.core.lint.values import Hit, Rule

CONN: Final = source("0.5.15", "srt/disaggregation/common/conn.py")
PAGES_OF_THEIR_OWN: Final = frozenset(  # attention backends that replace a page size
    ("flashmla", "cutlass_mla", "trtllm_mla", "tokenspeed_mla", "cutedsl_mla", "trtllm_mha", "fa4", "aiter", "dsv4")
)
DRAFTS: Final = frozenset(("EAGLE", "EAGLE3", "STANDALONE", "DSPARK", "DFLASH"))  # have a KV pool that is sent too
SHARED_VARIABLES: Final = (
    "SGLANG_DSV4_INDEX_K_DTYPE",
    "SGLANG_DISAGGREGATION_DEFERRED_DECODE_KV_RELEASE",
    "SGLANG_ENABLE_DISAGG_SAMPLING_MASK",
)
WRONG: Final = "what is sent is then read wrongly"
NO_COUNTERPART: Final = "the draft's cache of the one has no counterpart on the other"
DRAFTS_DIFFER: Final = "the drafts may not fit together"
TWO_PROMPTS: Final = "each side makes the prompt by itself, and they may not be the same"
ONE_ANSWERS: Final = "only decode's answers are read"
STOPS: Final = "decode refuses this when it connects"


def _page(setup: Setup, process: Process) -> Told:
    backends = {process.text(name) for name in ("attention-backend", "prefill-attention-backend")}
    if setup.model.is_v4 or backends & PAGES_OF_THEIR_OWN:
        return Told(None)  # replaced
    return Told(process.text("page-size"), process.given("page-size") is not None)


def _kv_dtype(setup: Setup) -> Iterator[Hit]:
    """The texts are compared after `auto` was resolved, which is known for DeepSeek-V4 only."""
    name = "kv-cache-dtype"
    for prefill, decode in pairs(setup):
        one, two = _dtype(setup, prefill), _dtype(setup, decode)
        if one.text is None or two.text is None or one.text == two.text:
            continue
        unchecked = "sglang 0.5.9 does not compare them, and the cache is read wrongly"
        then = unchecked if setup.at("<0.5.10") else STOPS
        doubt = "auto" in (one.text, two.text)
        if doubt:
            then = "what auto becomes depends on model and card, and the two are compared as text"
        yield Hit(
            f"--{name} differs: {called(setup, prefill)} has {one}, {called(setup, decode)} has {two}; {then}",
            where(setup, (prefill, one.given), (decode, two.given), "flag", name),
            "write the same value on both",
            "warning" if doubt else None,
        )


def _dtype(setup: Setup, process: Process) -> Told:
    text = process.text("kv-cache-dtype")
    given = process.given("kv-cache-dtype") is not None
    return Told(V4_KV if text == "auto" and setup.model.is_v4 else text, given)


def _backend(_setup: Setup, process: Process) -> Told:
    """`mooncake_tcp` becomes mooncake."""
    text = process.text("disaggregation-transfer-backend")
    given = process.given("disaggregation-transfer-backend") is not None
    return Told("mooncake" if text == "mooncake_tcp" else text, given)


def _speculation(setup: Setup, process: Process) -> Told:
    """The algorithm as far as it has a cache of its own: n-grams have none."""
    option = process.given("speculative-algorithm")
    algorithm = "none" if option is None else (process.text("speculative-algorithm") or "none").upper()
    algorithm = {"NEXTN": "EAGLE", "NGRAM": "none", "NONE": "none"}.get(algorithm, algorithm)
    known = algorithm == "none" or algorithm in DRAFTS
    return Told(algorithm if known else None, option is not None)


def _pp(setup: Setup) -> Iterator[Hit]:
    for prefill, decode in pairs(setup):
        one, two = prefill.number("pp-size"), decode.number("pp-size")
        if one is None or two is None or two in (1, one):
            continue
        given = decode.given("pp-size") is not None
        yield Hit(
            f"decode's --pp-size {two:.0f} is neither 1 nor prefill's {one:.0f}: no request gets through",
            where(setup, (prefill, not given), (decode, given), "flag", "pp-size"),
            f"write 1{f' or {one:.0f}' if one != 1 else ''} on decode",
        )


def _variable(name: str) -> Reader:
    def read(setup: Setup, process: Process) -> Told:
        default = setup.upstream.env[name].default
        value = process.env.get(name)
        return Told(_plain(value if value is not None else default or "not set"), value is not None)

    return read


def _plain(value: str) -> str:
    low = value.lower()
    return "1" if low in TRUE else "0" if low in FALSE else low


def _variables(setup: Setup) -> Iterator[Hit]:
    """Only those that this tree reads: another name is the business of ENV-UNKNOWN."""
    for name in SHARED_VARIABLES:
        if name in setup.upstream.env:
            yield from Agreement(name, _variable(name), WRONG, "env").check(setup)


def _speculations(setup: Setup) -> Iterator[Hit]:
    yield from Agreement("speculative-algorithm", _speculation, NO_COUNTERPART).check(setup)
    for name in ("speculative-draft-model-path", "speculative-eagle-topk"):
        yield from Agreement(name, flag(name), DRAFTS_DIFFER, severity="warning").check(setup)


def _parsers(setup: Setup) -> Iterator[Hit]:
    for name in ("tool-call-parser", "chat-template"):
        yield from Agreement(name, flag(name, "none"), TWO_PROMPTS).check(setup)
    yield from Agreement("reasoning-parser", flag("reasoning-parser", "none"), ONE_ANSWERS).check(setup)


PAGE = Agreement("page-size", _page, STOPS)
BACKEND = Agreement("disaggregation-transfer-backend", _backend, "they speak different protocols")

RULES = (
    Rule(
        "PD-PAGE",
        "error",
        PAGE.check,
        "prefill and decode with pages of different size",
        "Compared when decode connects, in every release. DeepSeek-V4 and some attention backends replace the page "
        "size, so nothing is said there.",
        (CONN + "#L259",),
    ),
    Rule(
        "PD-KV-DTYPE",
        "error",
        _kv_dtype,
        "prefill and decode with a KV cache of different type",
        "Compared as text from 0.5.10 on; 0.5.9 reads the cache as if it were its own type. `auto` is resolved "
        "before that: write the type out on both.",
        (CONN + "#L266", pull(19398)),
    ),
    Rule(
        "PD-BACKEND",
        "error",
        BACKEND.check,
        "prefill and decode with different transfer backends",
        "The default is mooncake; mooncake_tcp is mooncake over TCP.",
        (source("0.5.15", "srt/disaggregation/utils.py#L409"),),
    ),
    Rule(
        "PD-SPEC",
        "error",
        _speculations,
        "speculation on one side, or another one on each",
        "The draft model's cache is sent beside the model's: the lists of buffers must be alike. N-gram speculation "
        "has no cache and may stand on one side.",
        (source("0.5.15", "srt/disaggregation/prefill.py#L164"), issue(9266)),
    ),
    Rule(
        "PD-PP",
        "error",
        _pp,
        "decode with a number of pipeline stages that is neither 1 nor prefill's",
        "Asserted for every request, in all releases that were read.",
        (CONN + "#L344",),
    ),
    Rule(
        "PD-ENV",
        "error",
        _variables,
        "a variable that changes what is sent, set differently on prefill and decode",
        f"{', '.join(SHARED_VARIABLES)}: each changes pools or messages that both sides must understand. Asked only "
        "where the tree, patches included, reads the variable.",
        (source("0.5.23", "srt/disaggregation/common/conn.py#L339"),),
    ),
    Rule(
        "PD-PARSERS",
        "warning",
        _parsers,
        "prefill and decode that parse or render differently",
        "The router sends the same messages to both; each renders the prompt with its own parser and template, and "
        "the cache is sent for the tokens that prefill made.",
        (source("0.5.15", "srt/entrypoints/openai/serving_chat.py#L291"),),
    ),
)
