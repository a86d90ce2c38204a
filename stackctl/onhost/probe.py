"""Questions to a deployment over HTTP, each answered by a list of faults; empty means right.

What to ask and what to expect comes in gate.json. `{nonce}` in a request is made fresh here, so that no answer can
come out of a cache. Proxies of the environment are not used.
"""

from __future__ import annotations

import http.client
import json
import os
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple
from urllib.parse import urlsplit

SETTLE = 60.0  # seconds for a router to have asked all workers
AT_ONCE = 4  # some faults need a second sequence in the batch
SHOWN = 1500  # characters of an answer in a message


class Answer(NamedTuple):
    """status 0: none came; then `text` says why."""

    status: int
    text: str


def get(url: str, seconds: float) -> Answer:
    return ask("GET", url, None, seconds)


def ask(method: str, url: str, body: str | None, seconds: float) -> Answer:
    parts = urlsplit(url)
    link = http.client.HTTPConnection(parts.hostname or "", parts.port or 80, timeout=seconds)
    try:
        link.request(method, parts.path or "/", body and body.encode(), {"Content-Type": "application/json"})
        answer = link.getresponse()
        return Answer(answer.status, _read(answer, time.monotonic() + seconds))
    except (OSError, http.client.HTTPException) as error:
        return Answer(0, f"{type(error).__name__}: {error}")
    finally:
        link.close()


def _read(answer: http.client.HTTPResponse, deadline: float) -> str:
    """All of it, but never past the deadline: a stream may trickle for ever."""
    pieces: list[bytes] = []
    while True:
        piece = answer.read1(65536)
        if not piece:
            return b"".join(pieces).decode("utf-8", "replace")
        pieces.append(piece)
        if time.monotonic() > deadline:
            raise TimeoutError("the answer did not end in time, it began: {!r}".format(b"".join(pieces)[:200]))


def workers(config: dict[str, Any]) -> list[str]:
    """Each engine says our release, and the arguments that we rendered."""
    faults: list[str] = []
    for launch in config["launches"]:
        if launch["role"] != "router":
            faults += _worker(launch, config)
    return faults


def _worker(launch: dict[str, Any], config: dict[str, Any]) -> list[str]:
    name = launch["instance"]
    answers = {path: get(launch["ask"] + path, config["probe"]) for path in ("/model_info", "/server_info")}
    parsed = {path: _json(answer) for path, answer in answers.items()}
    faults = [
        "{}: {}{} answers {} {}".format(name, launch["url"], path, answer.status, answer.text[:SHOWN])
        for path, answer in answers.items()
        if not isinstance(parsed[path], dict)
    ]
    if faults:
        return faults
    said = parsed["/model_info"].get("weight_version")
    if said != config["release"]:
        faults.append(
            "{}: another release answers at {}: {}, not {}".format(name, launch["url"], said, config["release"])
        )
    return faults + _differences(name, launch, parsed["/server_info"]) + _place(name, config, parsed["/server_info"])


def _differences(name: str, launch: dict[str, Any], info: dict[str, Any]) -> list[str]:
    return [
        f"{name}: /server_info says {key} is {json.dumps(said)}, rendered was {json.dumps(wanted)}"
        "; if the engine itself rewrites it, write what it makes of it"
        for key, said, wanted in differing(info, launch["expect"])
    ]


def differing(info: dict[str, Any], expect: dict[str, Any]) -> list[tuple[str, Any, Any]]:
    """(name, what /server_info says, what was expected); what an engine does not tell is no difference."""
    return [(key, info[key], wanted) for key, wanted in expect.items() if key in info and not _equal(info[key], wanted)]


def _equal(said: Any, wanted: Any) -> bool:
    """Command lines are text; engines answer with numbers, lists and objects."""
    if isinstance(said, list) and isinstance(wanted, list):
        return [str(item) for item in said] == wanted
    if isinstance(wanted, bool) or said is None:
        return bool(said) == bool(wanted)
    if isinstance(said, (dict, list)):
        return bool(said == [wanted] or said == _loaded(wanted))
    try:
        return bool(float(said) == float(wanted))
    except (TypeError, ValueError):
        return bool(str(said) == wanted)


def _place(name: str, config: dict[str, Any], info: dict[str, Any]) -> list[str]:
    """An engine that tells where it was imported from must tell our tree."""
    place = info.get("import_path")
    if not isinstance(place, str) or os.path.realpath(place).startswith(os.path.realpath(config["tree"]) + os.sep):
        return []
    return ["{}: it was imported from {}, not from the release's tree {}".format(name, place, config["tree"])]


def router(config: dict[str, Any]) -> list[str]:
    """The router has exactly the planned workers, all healthy. It asks them itself, so it gets a while."""
    url = next((launch["ask"] for launch in config["launches"] if launch["role"] == "router"), None)
    if url is None:
        return []
    planned = {(item["url"], item["role"]) for item in config["launches"] if item["role"] != "router"}
    deadline = time.monotonic() + SETTLE
    while True:
        answer = get(url + "/workers", config["probe"])
        fault = _listed(answer, planned)
        if fault is None:
            return []
        if time.monotonic() > deadline:
            return [f"router: {url}/workers: {fault}"]
        time.sleep(0.1)


def _listed(answer: Answer, planned: Any) -> str | None:
    said = _json(answer)
    if not isinstance(said, dict) or not isinstance(said.get("workers"), list):
        return f"answers {answer.status} {answer.text[:SHOWN]}"
    kinds = {"regular": "single"}
    there = {(item.get("url"), kinds.get(item.get("worker_type"), item.get("worker_type"))) for item in said["workers"]}
    if there != planned:
        return f"has {sorted(map(str, there))}, planned are {sorted(map(str, planned))}"
    sick = [item["url"] for item in said["workers"] if not item.get("is_healthy")]
    return "not healthy: {}".format(", ".join(sick)) if sick else None


def generations(config: dict[str, Any]) -> list[str]:
    """The first alone, the rest a few at a time."""
    requests = config["requests"]
    faults = _generation(config, requests[0]) if requests else []
    if faults:
        return faults
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return [line for lines in pool.map(lambda item: _generation(config, item), requests[1:]) for line in lines]


def _generation(config: dict[str, Any], request: dict[str, Any]) -> list[str]:
    text = json.dumps(request).replace("{nonce}", os.urandom(5).hex())
    fresh = json.loads(text)
    answer = ask("POST", config["url"] + "/v1/chat/completions", json.dumps(fresh["body"]), config["probe"])
    fault = _judged(fresh, answer, config["release"])
    if fault is None:
        return []
    asked = fresh["body"]["messages"][-1]["content"]
    return [
        "gate request {!r} failed: {}".format(fresh["name"], fault),
        f"  asked: {asked[-300:]}",
        f"  answer: {answer.status} {answer.text[-SHOWN:].strip()}",
    ]


def _judged(request: dict[str, Any], answer: Answer, release: str) -> str | None:
    if answer.status != 200:
        return "no answer" if not answer.status else f"status {answer.status}"
    try:
        calls, text, tokens, finish, version = (_streamed if request["body"].get("stream") else _whole)(answer.text)
    except (ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
        return f"cannot read the answer ({type(error).__name__}: {error})"
    if not tokens:
        return "usage says that no token was generated"
    if version is not None and version != release:
        return f"another release answered: {version}, not {release}"
    if version is None and not request["body"].get("stream"):
        return "metadata.weight_version is missing, so nobody knows which release answered"
    expect = request["expect"]
    if calls != expect["calls"]:
        return "expected {} and got {}".format(_shown(expect["calls"]), _shown(calls))
    if expect.get("text") is not None and text.strip() != expect["text"].strip():
        return "expected the text {!r}".format(expect["text"])
    return None if finish == expect["finish"] else "finish_reason is {!r}, not {!r}".format(finish, expect["finish"])


def _shown(calls: list[list[Any]]) -> str:
    return " and ".join(f"a call of {name} with {json.dumps(said)}" for name, said in calls) or "no call"


Read = tuple[list[list[Any]], str, int, str | None, str | None]  # calls, text, tokens, finish, weight version


def _streamed(text: str) -> Read:
    calls: dict[int, list[str]] = {}
    tokens, finish, ended, said = 0, None, False, ""
    for line in text.splitlines():
        if line.strip() == "data: [DONE]":
            ended = True
        elif line.startswith("data:"):
            event = json.loads(line[5:])
            tokens = (event.get("usage") or {}).get("completion_tokens") or tokens
            for choice in event["choices"]:
                finish = choice.get("finish_reason") or finish
                said += (choice.get("delta") or {}).get("content") or ""
                for piece in (choice.get("delta") or {}).get("tool_calls") or ():
                    _add(calls.setdefault(piece["index"], ["", ""]), piece["function"])
    if not ended:
        raise ValueError("the stream has no [DONE]")
    found = [[name, json.loads(arguments)] for _, (name, arguments) in sorted(calls.items())]
    return found, said, tokens, finish, None


def _add(call: list[str], function: dict[str, Any]) -> None:
    call[0] += function.get("name") or ""
    call[1] += function.get("arguments") or ""


def _whole(text: str) -> Read:
    said = json.loads(text)
    choice = said["choices"][0]
    calls = [item["function"] for item in choice["message"].get("tool_calls") or ()]
    version = (said.get("metadata") or {}).get("weight_version")
    return (
        [[call["name"], json.loads(call["arguments"])] for call in calls],
        choice["message"].get("content") or "",
        said["usage"]["completion_tokens"],
        choice["finish_reason"],
        version,
    )


def _json(answer: Answer) -> Any:
    return _loaded(answer.text) if answer.status == 200 else None


def _loaded(text: Any) -> object:
    try:
        return json.loads(text)
    except (TypeError, ValueError):
        return None
