"""What the client knows about one request before it judges the answer: the right answer, limits, other requests.

Plain values; made by cases.py for generated prompts, by expected.py for a file of known answers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from stackctl.core.verify import nonces

Tool = Mapping[str, Any]  # in OpenAI's form: {"type": "function", "function": {"name", "parameters", …}}


@dataclass(frozen=True)
class ExpectedCall:
    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True)
class Control:
    """The same prompts at C=1. `needed`: how many runs make it count for faults that could be the model's own."""

    runs: int = 0
    classes: frozenset[str] = frozenset()
    prompt_tokens: int | None = None  # of the identical body
    completion_tokens: int | None = None
    needed: int = 20


@dataclass(frozen=True)
class Answer:
    """A known answer, of a model whose every answer is known: exact text and counts, not only the calls."""

    content: str | None = None
    finish: str | None = None
    completion_tokens: int | None = None


@dataclass(frozen=True)
class Others:
    """What belongs to other requests. Owners of ids: id -> the requests in whose streams it was seen."""

    live: frozenset[str] = frozenset()  # nonce keys of this run
    past: frozenset[str] = frozenset()  # of earlier runs on record
    response_ids: Mapping[str, frozenset[str]] = field(default_factory=dict)
    call_ids: Mapping[str, frozenset[str]] = field(default_factory=dict)
    answers: Mapping[str, str] = field(default_factory=dict)  # known text or arguments -> the case it belongs to


@dataclass(frozen=True)
class Known:
    id: str
    expected: tuple[ExpectedCall, ...]
    tools: tuple[Tool, ...]
    max_tokens: int
    include_usage: bool = True
    nonce: str | None = None
    nonce_at: str = "/nonce"  # JSON pointer into the arguments of the call
    case: str = ""  # prompts of one case have the same answer
    scripts: frozenset[str] = frozenset({"LATIN"})
    ttft: float = 60.0  # seconds
    gap: float = 30.0  # seconds
    others_progress: bool = True  # other streams went on while this one was silent
    crashed: bool = False  # the server was up at warm-up and refuses a second probe too
    control: Control = Control()
    answer: Answer | None = None

    @property
    def key(self) -> str | None:
        return nonces.key(self.nonce) if self.nonce else None

    def tool(self, name: str) -> Tool | None:
        return next((tool for tool in self.tools if tool["function"]["name"] == name), None)
