"""Looks whether a release is well, and, when it is not, takes down what a restart would wipe out.

An engine that hangs may still answer /health, so one token is asked for through the front door and of each engine.
Everything is asked at once and has an end: the whole takes at most `seconds`. Nothing is changed or signalled. Values
of the secrets file appear in nothing that leaves the host.

argv[1] is a request in JSON, the answer is JSON on stdout:
{root, release, model, bound: seconds for one answer, seconds} -> {sick: [why..], answers, instances, seconds}, and of
a sick one also {processes, spy, dumps, logs}
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from stackctl.onhost import masks, probe, procs

TAIL = 256 << 10  # bytes of a log
BODY = 512 << 10  # characters of an answer
DUMP = 4.0  # seconds for one py-spy
APART = 1.0  # seconds between two dumps: what has moved is no hang
CHAT = "/v1/chat/completions"
ROUTER = ("/health", "/readiness", "/workers", "/v1/models")
ENGINE = ("/health", "/health_generate", "/v1/models", "/metrics")


def main(request: dict[str, Any]) -> dict[str, Any]:
    began = time.monotonic()
    ends = began + float(request["seconds"])
    root = os.path.realpath(os.path.expanduser(request["root"]))
    folder = Path(root, "releases", request["release"])
    record = procs.read_json(folder / "record.json") or {"launches": [], "python": sys.executable}
    hide = masks.hider(Path(root, "env"))
    instances = states(root, folder.name, record)
    answers = asked(record, request["model"], float(request["bound"]))
    found: dict[str, Any] = {"instances": instances, "answers": answers, "sick": sickness(instances, answers)}
    if found["sick"]:
        found["processes"] = processes(root)
        found["spy"] = spy = spy_path(record["python"])
        found["dumps"] = dumps(spy, found["processes"], ends) if spy else []
        found["logs"] = {item["instance"]: tail(folder / "run" / (item["instance"] + ".log")) for item in instances}
    found["seconds"] = round(time.monotonic() - began, 2)
    return dict(masks.hidden(found, hide))


def together(calls: dict[Any, Callable[[], Any]], seconds: float) -> dict[Any, Any]:
    """All at once; what is not there after so long is missing from the answer."""
    found: dict[Any, Any] = {}

    def run(name: Any, call: Callable[[], Any]) -> None:
        found[name] = call()

    threads = [threading.Thread(target=run, args=item, daemon=True) for item in calls.items()]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + seconds
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    return dict(found)


def states(root: str, release: str, record: dict[str, Any]) -> list[dict[str, Any]]:
    known = {item.instance: item for item in procs.recorded(root) if item.release == release}
    found = []
    for launch in record["launches"]:
        item = known.get(launch["instance"])
        state = "absent" if item is None else "running" if item.alive else "exited"
        about = {"instance": launch["instance"], "role": launch["role"], "state": state}
        found.append(dict(about, pid=item.pid if item else 0, exit=item.exit if item else None))
    return found


def asked(record: dict[str, Any], model: str, bound: float) -> list[dict[str, Any]]:
    """What every address says, all asked in the same moment."""
    questions = [question for launch in record["launches"] for question in _questions(launch)]
    if record["launches"]:
        body = {"model": model, "messages": [{"role": "user", "content": "ping"}], "max_tokens": 1}
        door = _inside(record["launches"][-1])
        questions.append(("front door", "POST", door + CHAT, json.dumps(body)))
    calls = {index: _timed(question, bound) for index, question in enumerate(questions)}
    came = together(calls, bound + 1.0)
    none = {"status": 0, "text": "", "seconds": bound}
    return [
        dict(came.get(index, none), name=name, url=url, bound=bound)
        for index, (name, _, url, _) in enumerate(questions)
    ]


def _questions(launch: dict[str, Any]) -> list[tuple[str, str, str, Any]]:
    name, inside = launch["instance"], _inside(launch)
    if launch["role"] != "router":
        return [(name, "GET", inside + path, None) for path in ENGINE]
    found = [(name, "GET", inside + path, None) for path in ROUTER]
    if len(launch["ports"]) > 1:
        found.append((name, "GET", "http://127.0.0.1:{}/metrics".format(launch["ports"][1]), None))
    return found


def _inside(launch: dict[str, Any]) -> str:
    return "http://127.0.0.1:{}".format(launch["ports"][0])


def _timed(question: tuple[str, str, str, Any], bound: float) -> Callable[[], dict[str, Any]]:
    def call() -> dict[str, Any]:
        began = time.monotonic()
        answer = probe.ask(*question[1:], bound)
        return {"status": answer.status, "text": answer.text[:BODY], "seconds": round(time.monotonic() - began, 2)}

    return call


def sickness(instances: list[dict[str, Any]], answers: list[dict[str, Any]]) -> list[str]:
    """Why this deployment is not well, as sentences; empty when it is."""
    found = []
    for item in instances:
        if item["state"] == "exited":
            code = "" if item["exit"] is None else " with {}".format(item["exit"])
            found.append("{} exited{}".format(item["instance"], code))
        elif item["state"] == "absent":
            found.append("{} is not there".format(item["instance"]))
    gone = {item["instance"] for item in instances if item["state"] != "running"}
    for answer in answers:
        if answer["name"] not in gone and _is_bad(answer):
            what = "status {status}".format(**answer) if answer["status"] else "no answer"
            path = "/" + answer["url"].split("/", 3)[3]
            found.append("{} {}: {} in {:.1f} s".format(answer["name"], path, what, answer["seconds"]))
    return found


def _is_bad(answer: dict[str, Any]) -> bool:
    """/health must be 200. A generation may be refused by a server that is well (no such address, no key), not fail."""
    if answer["url"].endswith("/health"):
        return bool(answer["status"] != 200)
    if answer["url"].endswith(("/health_generate", CHAT)):
        return not 0 < int(answer["status"]) < 500
    return False


def processes(root: str) -> list[dict[str, Any]]:
    """All of the stack, and those of their children that ended and were not waited for."""
    mine = set(procs.ours(root))
    found = []
    for pid in sorted(int(name) for name in os.listdir("/proc") if name.isdigit()):
        about = _about(pid)
        if about and (pid in mine or (about["state"] == "Z" and about["ppid"] in mine)):
            found.append(about)
    return found


def _about(pid: int) -> dict[str, Any]:
    """Of /proc/PID; rss in KiB, cpu in seconds of user and system time. Empty when it is gone."""
    folder = Path("/proc", str(pid))
    try:
        lines = folder.joinpath("status").read_text(errors="replace").splitlines()
        stat = folder.joinpath("stat").read_text(errors="replace").rpartition(")")[2].split()
        command = folder.joinpath("cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace").strip()
    except OSError:
        return {}
    fields = {key: value.strip() for key, _, value in (line.partition(":") for line in lines)}
    return {
        "pid": pid,
        "ppid": int(fields["PPid"]),
        "state": fields["State"][:1],
        "name": fields["Name"],
        "command": command,
        "rss": int(fields.get("VmRSS", "0").split()[0]),
        "cpu": round((int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK"), 2),
        "threads": int(fields.get("Threads", "0")),
        "wchan": _read(folder / "wchan"),
        "python": os.path.basename(_link(folder / "exe")).startswith("python"),
    }


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return "?"


def _link(path: Path) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""


def spy_path(python: str) -> str | None:
    """py-spy beside the interpreter that serves, else that of the path."""
    beside = os.path.join(os.path.dirname(os.path.expanduser(python)), "py-spy")
    return beside if os.access(beside, os.X_OK) else shutil.which("py-spy")


def dumps(spy: str, table: list[dict[str, Any]], ends: float) -> list[dict[str, Any]]:
    """The stacks of every Python process, twice; without stopping them, for one may be stopped already."""
    pids = [item["pid"] for item in table if item["python"] and item["state"] != "Z"]
    found = []
    for turn in (1, 2):
        left = min(DUMP, ends - time.monotonic() - (2 - turn) * (DUMP / 2 + APART))
        if left <= 0:
            break
        said = together({pid: _dump(spy, pid, left) for pid in pids}, left + 0.5)
        found += [{"turn": turn, "pid": pid, "text": said.get(pid, "(no dump in time)")} for pid in pids]
        if turn == 1:
            time.sleep(APART)
    return found


def _dump(spy: str, pid: int, seconds: float) -> Callable[[], str]:
    def call() -> str:
        argv = [spy, "dump", "--nonblocking", "--pid", str(pid)]
        try:
            done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=seconds)
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"(no dump: {error})"
        said = (done.stderr if done.returncode else done.stdout).decode("utf-8", "replace")
        return f"(no dump: {said.strip()})" if done.returncode else said

    return call


def tail(path: Path) -> str:
    """The end of a log, from a line's begin: half a line could hold half a secret."""
    try:
        with open(path, "rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - TAIL))
            data = file.read()
    except OSError as error:
        return f"({error})\n"
    if size > TAIL:
        data = data.partition(b"\n")[2]
    return data.decode("utf-8", "replace")


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))))
