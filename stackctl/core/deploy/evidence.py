"""What a host took down of a sick deployment, as files that a person reads: the summary first.

Pure: given the answer of onhost/evidence.py, a folder's content. It judges nothing; the host said what is not well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

SUMMARY = "summary.txt"
NO_SPY = "py-spy is missing there (beside the interpreter that serves, and on PATH): no stacks of its processes"


@dataclass(frozen=True)
class Heading:
    """What was about to be done when the evidence was saved."""

    verb: str
    stack: str
    release: str
    host: str
    time: str


def files(said: Mapping[str, Any], heading: Heading) -> dict[str, str]:
    """Path in the folder -> text."""
    metrics = [answer for answer in said["answers"] if answer["url"].endswith("/metrics")]
    others = [answer for answer in said["answers"] if answer not in metrics]
    found = {
        SUMMARY: summary(said, heading),
        "processes.txt": _table(_process_rows(said["processes"], whole=True)),
        "answers.txt": "".join(f"{_asked(answer)}\n{answer['text']}\n\n" for answer in others),
    }
    found |= {f"metrics/{answer['name']}.txt": f"# {_asked(answer)}\n{answer['text']}" for answer in metrics}
    found |= {f"logs/{name}.log": text for name, text in said["logs"].items()}
    names = {item["pid"]: _name(item) for item in said["processes"]}
    found |= {f"stacks/{dump['turn']}/{_file(dump['pid'], names)}": dump["text"] for dump in said["dumps"]}
    return found


def _name(process: Mapping[str, Any]) -> str:
    """What it calls itself: the kernel's own name for it ends after 15 letters."""
    words = process["command"].split()
    return str(words[0].rpartition("/")[2] if words else process["name"])


def _file(pid: int, names: Mapping[int, str]) -> str:
    safe = "".join(c if c.isalnum() or c in "-_." else "-" for c in names.get(pid, ""))
    return f"{pid}-{safe}.txt"


def summary(said: Mapping[str, Any], heading: Heading) -> str:
    """Why it is sick, what every address said, which processes there are, and where the rest lies."""
    lines = [
        f"{heading.stack}, release {heading.release} on {heading.host}: not well before `stackctl {heading.verb}`",
        f"{heading.time}, taken down in {said['seconds']:.1f} s",
        "",
        "Not well, because",
        *(f"  {reason}" for reason in said["sick"]),
        "",
        "Instances",
        *(f"  {_state(item)}" for item in said["instances"]),
        "",
        "What each address said, all asked at once (bodies: answers.txt, metrics/)",
        *(f"  {_asked(answer)}" for answer in said["answers"]),
        "",
        "Processes (whole command lines: processes.txt)",
        *(f"  {line}" for line in _table(_process_rows(said["processes"])).splitlines()),
        "",
        *_stacks(said),
        "Ends of the logs: logs/",
        "Values of secrets are shown as ***.",
    ]
    return "\n".join(lines) + "\n"


def _state(item: Mapping[str, Any]) -> str:
    if item["state"] == "running":
        return f"{item['instance']}: runs, pid {item['pid']}"
    code = f" {item['exit']}" if item["exit"] is not None else ""
    return f"{item['instance']}: {item['state']}{code}"


def _asked(answer: Mapping[str, Any]) -> str:
    """`single-0  http://127.0.0.1:31100/health  200 in 0.01 s`"""
    said = answer["status"] or f"no answer within {answer['bound']:g} s: {answer.get('text') or 'none came'}"
    took = f" in {answer['seconds']:.2f} s" if answer["status"] else ""
    return f"{answer['name']}  {answer['url']}  {said}{took}"


def _stacks(said: Mapping[str, Any]) -> Iterator[str]:
    if said["spy"] is None:
        yield NO_SPY
        return
    turns = sorted({dump["turn"] for dump in said["dumps"]})
    whole = sum(not dump["text"].startswith("(no dump") for dump in said["dumps"])
    folders = " and ".join(f"stacks/{turn}/" for turn in turns) or "none was made in time"
    yield f"Stacks by {said['spy']}: {folders}, a second apart; {whole} of {len(said['dumps'])} dumps succeeded"


def _process_rows(processes: Sequence[Mapping[str, Any]], *, whole: bool = False) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [("pid", "ppid", "state", "rss MiB", "cpu s", "threads", "wchan", "command")]
    for item in processes:
        command = item["command"] or f"[{item['name']}]"
        numbers = (f"{item['rss'] / 1024:.0f}", f"{item['cpu']:.1f}", str(item["threads"]))
        shown = command if whole else command[:60]
        rows.append((str(item["pid"]), str(item["ppid"]), item["state"], *numbers, item["wchan"] or "-", shown))
    return rows


def _table(rows: Sequence[tuple[str, ...]]) -> str:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]) - 1)]
    cells = (
        [word.ljust(width) for word, width in zip(row, widths, strict=False)] + [row[-1].replace("\n", " ")]
        for row in rows
    )
    return "".join("  ".join(row).rstrip() + "\n" for row in cells)
