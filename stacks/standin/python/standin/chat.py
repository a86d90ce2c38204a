"""OpenAI's chat format around the engine, by deepseek-recipe: bodies to prompts, steps to deltas.

Only the fields below reach it; the rest of a body is for engines that sample. It never touches what was said.
"""

from __future__ import annotations

import json
import time
from argparse import Namespace
from dataclasses import dataclass

from deepseek_recipe import (
    ChatCompletionChunk,
    ChatCompletionRequest,
    ChatCompletionResponse,
    ConversationRequest,
    ConversionError,
    ConversionOptions,
    DeepseekV4Encoding,
    InferenceChunk,
    InferenceFinishReason,
    ModelVersion,
    ParsingOptions,
    PromptUsage,
    StreamProcessor,
)

from standin.decode import Step
from standin.prefill import Handover

FIELDS = ("messages", "tools", "tool_choice", "stream", "stream_options", "reasoning_effort")


class BadRequest(Exception):
    """The body is no chat request that the engine understands."""


@dataclass(frozen=True)
class Chat:
    """One request. `room` None: the role `single`."""

    request: ConversationRequest
    stream: bool
    limit: int | None  # tokens
    room: int | None
    bootstrap: str | None  # http://HOST:PORT of the prefill that has the room

    @property
    def prompt(self) -> str:
        return DeepseekV4Encoding().render_conversation(self.request.conversation).prompt


def read(body: object, model: str) -> Chat:
    """Raises BadRequest with one sentence."""
    if not isinstance(body, dict) or not isinstance(body.get("messages"), list):
        raise BadRequest("the body must be a JSON object with messages")
    fields = {key: body[key] for key in FIELDS if body.get(key) is not None}
    thinking = bool((body.get("chat_template_kwargs") or {}).get("thinking"))
    options = ConversionOptions(default_thinking_mode=thinking).with_model_alias(model, ModelVersion.DeepseekV4Pro)
    try:
        request = ChatCompletionRequest({**fields, "model": model}).convert(options)
    except (ConversionError, ValueError, TypeError) as error:
        raise BadRequest(str(error)) from error
    limit = body.get("max_completion_tokens") or body.get("max_tokens")
    if limit is not None and (not isinstance(limit, int) or limit < 1):
        raise BadRequest("max_tokens must be a whole number above 0")
    room, host, port = (body.get(f"bootstrap_{name}") for name in ("room", "host", "port"))
    return Chat(request, bool(body.get("stream")), limit, room, f"http://{host}:{port}" if host else None)


class Answer:
    """One answer on its way: feed steps, get chunks. The parsers are on when the server was started with them."""

    def __init__(self, chat: Chat, id_: str, handover: Handover, args: Namespace) -> None:
        self.id, self.model, self._handover = id_, args.served_model_name, handover
        self._cut = chat.limit is not None and chat.limit < handover.answer_tokens
        asked = chat.request.parsing_options
        options = ParsingOptions(
            parse_tool_calls=asked.parse_tool_calls and args.tool_call_parser is not None,
            thinking_initial_stage=asked.thinking_initial_stage if args.reasoning_parser else None,
        )
        generator = ChatCompletionRequest.chunk_generator(chat.request, id_, self.model)
        self._processor = StreamProcessor(generator, options)
        self._whole: ChatCompletionResponse | None = None
        if not chat.stream:
            self._whole = ChatCompletionResponse(id_, self.model, int(time.time()), handover.prompt_tokens, 0)

    def begin(self) -> list[str]:
        usage = PromptUsage(prompt_tokens=self._handover.prompt_tokens)
        return self._push(InferenceChunk.ready(prompt_usage=usage))

    def step(self, step: Step) -> list[str]:
        return self._push(InferenceChunk.text(step.text, step.tokens))

    def end(self) -> list[str]:
        reason = InferenceFinishReason.Length if self._cut else InferenceFinishReason.Stop
        return self._push(InferenceChunk.finish(reason))

    def whole(self, weight_version: str) -> dict[str, object]:
        """The answer that is not streamed. Only this one carries the weight version, as sglang's does."""
        assert self._whole is not None, "a streamed answer is not kept"
        return {**json.loads(self._whole.to_json()), "metadata": {"weight_version": weight_version}}

    def _push(self, chunk: InferenceChunk) -> list[str]:
        deltas = []
        for delta in self._processor.push(chunk):
            deltas.append(delta.to_json())
            if self._whole is not None and isinstance(delta, ChatCompletionChunk):
                self._whole.accumulate(delta)
        return deltas


def aborted(id_: str, model: str) -> str:
    """The last chunk of a request that /abort_request ended."""
    choice = {"index": 0, "delta": {}, "logprobs": None, "finish_reason": "abort"}
    head = {"id": id_, "object": "chat.completion.chunk", "created": int(time.time()), "model": model}
    return json.dumps({**head, "choices": [choice]})
