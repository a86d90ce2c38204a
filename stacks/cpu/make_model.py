"""Makes a tiny Llama whose every greedy answer is known beforehand: `python make_model.py OUT_DIR`.

Why: a model with random weights gives near-equal logits, so sixty different prompts get one and the same answer and a
mix-up of requests is invisible. Here each case has words of its own. Nothing is trained and nothing is random:

- the embedding of token t is the unit vector t, so the residual stream says which token came last;
- attention is uniform (q = k = 0) and carries one thing only: which <case-NN> token the prompt holds;
- the MLP is nil; `lm_head` holds "what follows what", and a small vote of the case where that is ambiguous.

The server's own tokenizer, batching, cache, detokenizer and streaming tool-call parser do the rest. Writes the model
folder, `expected.json` (answers that sglang 0.5.15 gives right) and `expected-text-and-call.json` (text before a tool
call, which its streaming parser loses when both come in one chunk). The same bytes on every run.

It refuses to write a model that would not give its own answers (`check`). It proves nothing about kernels or quality.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

BOS, EOS, DSML = "<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>", "｜DSML｜"
SPECIAL = [BOS, EOS, "<｜User｜>", "<｜Assistant｜>", "<think>", "</think>", DSML]
TASKS = ("latest_reminder", "action", "query", "authority", "domain", "title", "read_url")
SPECIAL += [f"<｜{name}｜>" for name in TASKS]
OPENERS = ("</think>", "<think>", "<｜Assistant｜>")  # an answer begins after one of these
EMOJI = "😀🚀🌍🎈"  # four bytes each, never one token
HEADS, HEAD_DIM, MLP = 4, 32, 64
CASES_AT_MOST = HEADS * HEAD_DIM
FOLLOWS, VOTE, CARRY = 1.0, 0.05, 100.0  # logits: what follows what; the case's vote; how loud the case is carried

BYTE_LEVEL = pre_tokenizers.ByteLevel(add_prefix_space=False)
FILLER = "the lazy dog jumps over the quick brown fox and waits for the next train to the sea "


def tool(name: str, description: str, properties: dict[str, Any]) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


TEXT, TEXTS = {"type": "string"}, {"type": "array", "items": {"type": "string"}}
TOOLS = [
    tool("get_weather", "Weather of a city for some days.", {"city": TEXT, "days": {"type": "integer"}}),
    tool("add_note", "Keeps a note.", {"title": TEXT, "tags": TEXTS, "urgent": {"type": "boolean"}}),
]
Call = tuple[str, dict[str, Any]]


@dataclass(frozen=True)
class Case:
    """One prompt and the pieces (each one token of the model) that answer it; `own` are this case's alone."""

    id: str
    group: str
    content: str | None
    pieces: tuple[str, ...]
    own: frozenset[str]
    calls: tuple[Call, ...] = ()
    tools: bool = False

    def prompt(self, number: int) -> list[dict[str, str]]:
        """Some with a long shared start, some with a long start of their own, most short; the case at varied places."""
        ask = f"Please answer case <case-{number:02}> now."
        if number % 8 in (2, 3):
            shared = "You know all cases. " + FILLER * 12
            return [{"role": "system", "content": shared}, {"role": "user", "content": ask}]
        if number % 8 in (6, 7):
            return [{"role": "user", "content": f"{ask} Case {number:02} is long: " + FILLER * (6 + number % 5)}]
        return [{"role": "user", "content": ask}]


class Script:
    """Cuts answers into pieces. A piece that several cases share is always followed by the same one, or by a vote."""

    def __init__(self) -> None:
        self._segments: dict[str, list[str]] = {}
        self._used: set[str] = set()

    def segment(self, text: str, first: int = 0) -> list[str]:
        """Markup in tokens that no other segment has, never cut inside ｜DSML｜; the first is at least so long."""
        if text not in self._segments:
            pieces: list[str] = []
            rest, width = text, 8 + len(self._segments) % 7
            while rest:
                piece = rest[: cut(rest, max(width, 0 if pieces else first))]
                while self._taken(piece, pieces) and len(piece) < len(rest):
                    piece = rest[: cut(rest, len(piece) + 1)]
                rest = rest[len(piece) :]
                while self._taken(piece, pieces) and pieces:  # the end of another segment too: take more of this one
                    piece = pieces.pop() + piece
                pieces.append(piece)
            self._segments[text] = pieces
            self._used |= set(pieces)
        return self._segments[text]

    def _taken(self, piece: str, pieces: list[str]) -> bool:
        return piece in self._used or piece in pieces

    def calls(self, calls: tuple[Call, ...], before: str = "", touch: int = 0) -> tuple[list[str], set[str]]:
        """Tool calls as DSML, and those pieces that are no markup. `before` comes in one piece with the start of the
        block, of which that piece holds at least `touch` characters."""
        pieces: list[str] = []
        own: set[str] = set()
        markup = f"{before}\n\n<{DSML}tool_calls>\n"
        for name, arguments in calls:
            markup += f'<{DSML}invoke name="{name}">\n'
            for key, value in arguments.items():
                is_text = isinstance(value, str)
                markup += f'<{DSML}parameter name="{key}" string="{str(is_text).lower()}">'
                words = split_value(value if is_text else json.dumps(value))
                if isinstance(value, bool):
                    markup += words.pop()
                else:
                    opening = self.segment(markup, len(before) + touch)
                    own |= {word for word in words if not is_byte(word)} | set(opening[:1] if before else ())
                    pieces += opening + words
                    markup = before = ""
                markup += f"</{DSML}parameter>\n"
            markup += f"</{DSML}invoke>\n"
        return pieces + self.segment(markup + f"</{DSML}tool_calls>"), own


def cut(text: str, at: int) -> int:
    """`at`, or the end of the ｜DSML｜ that it would cut through; at most the text's length."""
    for start in (i for i in range(len(text)) if text.startswith(DSML, i)):
        if start < at < start + len(DSML):
            return start + len(DSML)
    return min(at, len(text))


def split_value(text: str) -> list[str]:
    """An argument in two tokens, and an emoji in it as four; true and false stay whole."""
    if text in ("true", "false"):
        return [text]
    for mark in EMOJI:
        if mark in text:
            head, _, tail = text.partition(mark)
            return [head, *emoji(mark), tail]
    half = len(text) // 2
    return [text[:half], text[half:]]


def emoji(mark: str) -> list[str]:
    """Its bytes, as the byte-level vocabulary writes them; the \\0 says that a piece is such a byte."""
    return ["\0" + byte for byte in BYTE_LEVEL.pre_tokenize_str(mark)[0][0]]


def is_byte(piece: str) -> bool:
    return piece.startswith("\0")


def text_case(number: int) -> Case:
    """Ten to thirty words and an emoji; every third one is asked with tools at hand, which it does not call."""
    count = 10 + number * 7 % 23
    words = [f"w{number:02}.{n}" + " " * (n < count - 1) for n in range(count)]
    middle = len(words) // 2
    head, mark, tail = words[:middle], EMOJI[number % len(EMOJI)], words[middle:]
    pieces, content = (*head, *emoji(mark), *tail), "".join([*head, mark, *tail])
    return Case(f"text-{number:02}", "text", content, pieces, frozenset(words), tools=number % 3 == 2)


def weather(number: int) -> Call:
    mark = EMOJI[number % len(EMOJI)] if number % 4 == 1 else "-"
    return "get_weather", {"city": f"North{number:02}{mark}{number:02}town", "days": number * 1009 + 10000}


def note(number: int) -> Call:
    tags = [f"{number:02}tag{number:02}", f"{number:02}more{number:02}"][: 1 + number % 2]
    return "add_note", {"title": f"Note {number:02} of {number:02} list", "tags": tags, "urgent": True}


def chosen(number: int) -> tuple[Call, ...]:
    return ((weather(number),), (note(number),), (weather(number), note(number)))[number % 3]


def call_case(script: Script, number: int) -> Case:
    """One call, or two in one block; nothing before it."""
    calls = chosen(number)
    pieces, own = script.calls(calls)
    return Case(f"call-{number:02}", "call", None, tuple(pieces), frozenset(own), calls, tools=True)


def text_and_call_case(script: Script, number: int, together: bool) -> Case:
    """Text, then a call: in chunks of their own, or the end of the text and the start of the call in one chunk."""
    words, last, calls = [f"Case {number:02}. ", f"See {number:02}: "], f"it is {number:02}.", chosen(number)
    pieces, own = script.calls(calls, last, 3 + number % 2) if together else script.calls(calls)
    before = words if together else [*words, last]
    group, content = ("same-chunk" if together else "text-then-call"), "".join([*words, last])
    return Case(f"{group}-{number:02}", group, content, (*before, *pieces), frozenset({*own, *before}), calls, True)


def all_cases() -> list[Case]:
    script = Script()
    cases = [text_case(n) if n % 2 == 0 else call_case(script, n) for n in range(60)]
    cases += [text_and_call_case(script, n, together=n >= 68) for n in range(60, 84)]
    if len(cases) > CASES_AT_MOST:
        raise SystemExit(f"{len(cases)} cases, but the attention carries {CASES_AT_MOST}")
    return cases


def make_tokenizer(cases: list[Case]) -> Tokenizer:
    """Byte-level BPE over the words of the prompts; the pieces of the answers are tokens of their own."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = BYTE_LEVEL
    tokenizer.decoder = decoders.ByteLevel()
    corpus = [FILLER, json.dumps(TOOLS), *(message["content"] for message in cases[0].prompt(0)), __doc__ or ""]
    trainer = trainers.BpeTrainer(
        vocab_size=512, special_tokens=SPECIAL, initial_alphabet=sorted(BYTE_LEVEL.alphabet()), show_progress=False
    )
    tokenizer.train_from_iterator(corpus, trainer)
    tokenizer.add_tokens([AddedToken(f"<case-{n:02}>", normalized=False) for n in range(len(cases))])
    pieces = dict.fromkeys(piece for case in cases for piece in case.pieces if not is_byte(piece))
    tokenizer.add_tokens([AddedToken(piece, normalized=False) for piece in pieces])
    return tokenizer


def token_ids(tokenizer: Tokenizer, case: Case) -> list[int]:
    return [tokenizer.token_to_id(piece.removeprefix("\0")) for piece in (*case.pieces, EOS)]


def make_lm_head(tokenizer: Tokenizer, cases: list[Case], width: int) -> torch.Tensor:
    """Rows: what may follow. Columns: what came last, then one for each case."""
    vocab = width - CASES_AT_MOST
    openers = [tokenizer.token_to_id(opener) for opener in OPENERS]
    follows: dict[int, set[int]] = defaultdict(set)
    chains = [token_ids(tokenizer, case) for case in cases]
    for chain in chains:
        for last, following in zip([openers[0], *chain], chain, strict=False):
            follows[last].add(following)
    head = torch.zeros(vocab, width)
    for last, following in follows.items():
        for column in openers if last == openers[0] else [last]:
            head[sorted(following), column] = FOLLOWS
    for number, chain in enumerate(chains):
        for last, token in zip([openers[0], *chain], chain, strict=False):
            if len(follows[last]) > 1:
                head[token, vocab + number] = VOTE
    return head


def check(tokenizer: Tokenizer, cases: list[Case], head: torch.Tensor) -> None:
    """Walk every answer by the head alone: each step must have one best token, and it must be the scripted one."""
    vocab = head.shape[0]
    for number, case in enumerate(cases):
        last = tokenizer.token_to_id(OPENERS[0])
        for token in token_ids(tokenizer, case):
            scores = head[:, last] + head[:, vocab + number]
            best = torch.topk(scores, 2)
            if int(best.indices[0]) != token or best.values[0] - best.values[1] < VOTE / 2:
                raise SystemExit(f"{case.id}: after {tokenizer.id_to_token(last)!r} the next token is ambiguous")
            last = token
        others = [other for other in cases if other is not case and other.own & case.own]
        if others:
            raise SystemExit(f"{case.id} shares words with {others[0].id}: a mix-up would not show")


def make_weights(tokenizer: Tokenizer, cases: list[Case], head: torch.Tensor) -> dict[str, torch.Tensor]:
    vocab, width = head.shape
    value = torch.zeros(CASES_AT_MOST, width)
    output = torch.zeros(width, CASES_AT_MOST)
    for number in range(len(cases)):
        value[number, tokenizer.token_to_id(f"<case-{number:02}>")] = CARRY / width**0.5
        output[vocab + number, number] = 1.0
    layer = "model.layers.0."
    return {
        "model.embed_tokens.weight": torch.eye(vocab, width),
        "model.norm.weight": torch.ones(width),
        "lm_head.weight": head,
        layer + "input_layernorm.weight": torch.ones(width),
        layer + "post_attention_layernorm.weight": torch.ones(width),
        layer + "self_attn.q_proj.weight": torch.zeros(CASES_AT_MOST, width),
        layer + "self_attn.k_proj.weight": torch.zeros(CASES_AT_MOST, width),
        layer + "self_attn.v_proj.weight": value,
        layer + "self_attn.o_proj.weight": output,
        layer + "mlp.gate_proj.weight": torch.zeros(MLP, width),
        layer + "mlp.up_proj.weight": torch.zeros(MLP, width),
        layer + "mlp.down_proj.weight": torch.zeros(width, MLP),
    }


def expected(cases: list[Case], groups: set[str]) -> dict[str, Any]:
    """What a client must get. The end of an answer is one token more, and is counted too."""
    return {
        "format": 1,
        "tools": TOOLS,
        "cases": [
            {
                "id": case.id,
                "group": case.group,
                "messages": case.prompt(number),
                "tools": case.tools,
                "max_tokens": 96,
                "expect": {
                    "content": case.content,
                    "calls": [{"name": name, "arguments": arguments} for name, arguments in case.calls],
                    "finish": "tool_calls" if case.calls else "stop",
                    "completion_tokens": len(case.pieces) + 1,
                },
            }
            for number, case in enumerate(cases)
            if case.group in groups
        ],
    }


def write_json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def config(vocab: int, width: int, tokenizer: Tokenizer) -> dict[str, Any]:
    heads = {"num_attention_heads": HEADS, "num_key_value_heads": HEADS, "head_dim": HEAD_DIM}
    sizes = {"hidden_size": width, "intermediate_size": MLP, "num_hidden_layers": 1, "vocab_size": vocab, **heads}
    numbers = {"max_position_embeddings": 8192, "rms_norm_eps": 1e-6, "rope_theta": 10000.0, "hidden_act": "silu"}
    ends = {"bos_token_id": tokenizer.token_to_id(BOS), "eos_token_id": tokenizer.token_to_id(EOS)}
    kind = {"architectures": ["LlamaForCausalLM"], "model_type": "llama"}
    return {**kind, **sizes, **numbers, **ends, "torch_dtype": "float32", "tie_word_embeddings": False}


def main(folder: str) -> None:
    out, cases = Path(folder), all_cases()
    tokenizer = make_tokenizer(cases)
    vocab = -(-tokenizer.get_vocab_size() // 64) * 64
    width = vocab + CASES_AT_MOST
    head = make_lm_head(tokenizer, cases, width)
    check(tokenizer, cases, head)
    out.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(out / "tokenizer.json"))
    save_file(make_weights(tokenizer, cases, head), str(out / "model.safetensors"), metadata={"format": "pt"})
    settings = config(vocab, width, tokenizer)
    write_json(out / "config.json", settings)
    write_json(out / "generation_config.json", {key: settings[key] for key in ("bos_token_id", "eos_token_id")})
    names = {"bos_token": BOS, "eos_token": EOS, "model_max_length": 8192}
    write_json(out / "tokenizer_config.json", {"tokenizer_class": "PreTrainedTokenizerFast", **names})
    write_json(out / "expected.json", expected(cases, {"text", "call"}))
    write_json(out / "expected-text-and-call.json", expected(cases, {"text-then-call", "same-chunk"}))
    print(f"{out}: {len(cases)} cases, {vocab} tokens, width {width}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit("usage: make_model.py OUT_DIR")
    main(sys.argv[1])
