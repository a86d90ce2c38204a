"""One stand-in process over real HTTP: the surface that a router, a gate and a load test rely on."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import aiohttp
import pytest

from tests.standin import client, fleet

TREE = Path(__file__).resolve().parents[2] / "stacks/standin"
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def single() -> Iterator[fleet.Fleet]:
    with fleet.single(TREE, "--weight-version", "w7", "--enable-metrics", fleet.TIER, "--page-size", "32") as one:
        yield one


def post(url: str, path: str, body: object) -> tuple[int, str, dict[str, str]]:
    async def ask() -> tuple[int, str, dict[str, str]]:
        async with client.connect() as session, session.post(url + path, data=json.dumps(body)) as answer:
            return answer.status, await answer.text(), dict(answer.headers)

    return asyncio.run(ask())


def test_it_tells_its_arguments_its_place_and_its_version(single: fleet.Fleet) -> None:
    info = fleet.get(f"{single.url}/server_info")
    assert (info["page_size"], info["tp_size"], info["enable_hierarchical_cache"]) == (32, 1, True)
    assert info["import_path"] == str(TREE / "python/standin")
    assert info["pools"]["decode"]["free"] == info["pools"]["decode"]["pages"] == 256
    model = fleet.get(f"{single.url}/model_info")
    assert (model["weight_version"], model["is_generation"], model["model_path"]) == ("w7", True, str(TREE))
    assert [entry["id"] for entry in fleet.get(f"{single.url}/v1/models")["data"]] == ["m"]


def test_health_metrics(single: fleet.Fleet) -> None:
    assert fleet.get(f"{single.url}/health") == ""
    assert fleet.get(f"{single.url}/health_generate") == ""
    assert 'sglang:num_running_reqs{model_name="m"} 0\n' in fleet.get(f"{single.url}/metrics")


def test_a_stream_is_role_call_pieces_finish_done(single: fleet.Fleet) -> None:
    values = client.wanted("stream", 3)
    status, text, headers = post(single.url, "/v1/chat/completions", client.body(values, stream=True))
    assert (status, headers["Content-Type"]) == (200, "text/event-stream")
    assert client.judge(text, values) == "ok"
    events = [line[6:] for line in text.splitlines() if line]
    assert events[-1] == "[DONE]"
    chunks = [json.loads(event) for event in events[:-1]]
    assert chunks[0]["choices"][0]["delta"]["role"] == "assistant"
    assert len({chunk["id"] for chunk in chunks}) == 1
    assert len(chunks) > 15
    usage = chunks[-1]["usage"]
    assert usage["completion_tokens"] > 50
    assert usage["prompt_tokens"] > 300


def test_an_answer_that_is_not_streamed_carries_the_weight_version(single: fleet.Fleet) -> None:
    values = client.wanted("whole", 3)
    status, text, _ = post(single.url, "/v1/chat/completions", client.body(values))
    answer = json.loads(text)
    (call,) = answer["choices"][0]["message"]["tool_calls"]
    assert (status, json.loads(call["function"]["arguments"])) == (200, values)
    assert (answer["choices"][0]["finish_reason"], answer["metadata"]) == ("tool_calls", {"weight_version": "w7"})


def test_the_same_prompt_is_cut_into_the_same_pieces(single: fleet.Fleet) -> None:
    body = client.body(client.wanted("again", 1), stream=True)
    texts = [post(single.url, "/v1/chat/completions", body)[1] for _ in range(2)]
    assert len(pieces(texts[0])) > 15
    assert pieces(texts[0]) == pieces(texts[1])


def pieces(text: str) -> list[str]:
    """The arguments of a stream as they came."""
    chunks = [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: {")]
    calls = [chunk["choices"][0]["delta"].get("tool_calls") for chunk in chunks]
    return [call[0]["function"]["arguments"] for call in calls if call]


def test_a_plain_turn_gets_a_sentence_and_max_tokens_cuts_it(single: fleet.Fleet) -> None:
    body = {"messages": [{"role": "user", "content": "Say yes."}], "max_tokens": 4}
    status, text, _ = post(single.url, "/v1/chat/completions", body)
    answer = json.loads(text)
    assert (status, answer["choices"][0]["finish_reason"]) == (200, "length")
    assert answer["choices"][0]["message"]["content"] == "I make the calls"
    assert answer["usage"]["completion_tokens"] == 4


def test_reasoning_comes_apart_from_the_call(single: fleet.Fleet) -> None:
    values = client.wanted("think", 1)
    body = client.body(values, chat_template_kwargs={"thinking": True})
    message = json.loads(post(single.url, "/v1/chat/completions", body)[1])["choices"][0]["message"]
    assert message["reasoning_content"] == "The turn says which call to make."
    assert json.loads(message["tool_calls"][0]["function"]["arguments"]) == values


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ([1], "must be a JSON object"),
        ({"messages": 1}, "with messages"),
        ({"messages": [{"role": "user", "content": "x" * 40000}]}, "a request may have 128 of 256"),
        ({"messages": [{"role": "nobody", "content": "x"}]}, "unknown variant `nobody`"),
    ],
)
def test_a_request_that_cannot_be_served_is_a_400_of_sglangs_shape(
    single: fleet.Fleet, body: object, said: str
) -> None:
    status, text, _ = post(single.url, "/v1/chat/completions", body)
    fault = json.loads(text)
    assert (status, fault["object"], fault["type"], fault["code"]) == (400, "error", "BadRequestError", 400)
    assert said in fault["message"]
    assert fleet.get(f"{single.url}/server_info")["pools"]["prefill"]["free"] == 256


def test_abort_request_ends_a_stream_with_finish_reason_abort(single: fleet.Fleet) -> None:
    async def scene() -> str:
        body = client.body(client.wanted("abort", 1), stream=True)
        async with client.connect() as session:
            others = [asyncio.create_task(client.ask(session, single.url, client.wanted("o", n))) for n in range(40)]
            headers = {"X-Request-ID": "mine"}
            mine = asyncio.create_task(_text(session, f"{single.url}/v1/chat/completions", body, headers))
            while in_work(await _text(session, f"{single.url}/metrics")) < 20:
                assert not mine.done()
            await _text(session, f"{single.url}/abort_request", {"rid": "mine"})
            text = await mine
            assert set(await asyncio.gather(*others)) == {"ok"}
            return text

    text = asyncio.run(scene())
    assert client.reply(text)["finish"] == "abort"
    assert text.rstrip().endswith("data: [DONE]")
    assert {pool["free"] for pool in single.pools().values()} == {256}


async def _text(
    session: aiohttp.ClientSession, url: str, body: object = None, headers: dict[str, str] | None = None
) -> str:
    method = "GET" if body is None else "POST"
    async with session.request(method, url, json=body, headers=headers) as answer:
        return await answer.text()


def in_work(metrics: str) -> float:
    names = ("sglang:num_running_reqs", "sglang:num_queue_reqs")
    return sum(float(line.split()[-1]) for line in metrics.splitlines() if line.startswith(names))


def test_without_flags_markup_is_content_and_there_are_no_metrics() -> None:
    (port,) = fleet.free_ports(1)
    with fleet.process(fleet.worker(TREE, port), TREE) as child:
        url = f"http://127.0.0.1:{port}"
        fleet.wait(f"{url}/health", [child])
        message = json.loads(post(url, "/v1/chat/completions", client.body(client.wanted("raw", 1)))[1])["choices"][0]
        assert message["message"]["content"].startswith('<｜DSML｜tool_calls>\n<｜DSML｜invoke name="record_nonce">')
        assert message["finish_reason"] == "stop"
        assert post(url, "/metrics", {})[0] == 404
        child.terminate()
        assert child.wait(5) == 0


@pytest.mark.parametrize(
    ("flags", "code", "said"),
    [
        (["--no-such-flag"], 2, "unrecognized arguments: --no-such-flag"),
        (["--page-size", "0"], 2, "0 is not above 0"),
        (["--tool-call-parser", "hermes"], 2, "invalid choice: 'hermes'"),
        (["--page-size", "64", "--max-total-tokens", "64"], 2, "must hold two pages"),
    ],
)
def test_a_wrong_command_line_ends_at_once(flags: list[str], code: int, said: str) -> None:
    done = launch(["--model-path", "m", *flags])
    assert done.returncode == code
    assert said in done.stderr


def test_a_port_that_is_taken_is_said(single: fleet.Fleet) -> None:
    port = single.url.rpartition(":")[2]
    done = launch(["--model-path", "m", "--port", port])
    assert done.returncode == 1
    assert "cannot listen" in done.stderr
    assert port in done.stderr


def launch(words: list[str]) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": str(TREE / "python"), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "standin.launch_server", *words]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=30)
