"""What the cut-over asks of a host's interpreter: end what runs, wait for cards and health, and pass the gate.

    gate.py stop ROOT DRAIN            end all processes of the stack
    gate.py cards ROOT SECONDS CARD…   wait until the cards are free
    gate.py wait RELEASE-DIR SECONDS INSTANCE…   until each /health is 200; fails at once when one exits
    gate.py model RELEASE-DIR          compare the model's folder with model.json, which is there
    gate.py gate RELEASE-DIR [SECONDS INSTANCE…]   wait for these, then: what a release must pass to count as up

Prose on stdout, exit 0 or 1. It decides nothing beyond that. Each verb imports only what it needs: a cut-over waits
for these programs, and most of their time is their start.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from stackctl.onhost import procs

TAIL = 25  # lines of a log


def main(words: list[str]) -> int:
    verb, place, *rest = words
    if verb == "stop":
        return stop(place, float(rest[0]))
    if verb == "cards":
        return free(place, float(rest[0]), {int(word) for word in rest[1:]})
    config = json.loads(Path(place, "gate.json").read_text())
    if verb == "model":
        return model(Path(place), config)
    if verb == "wait":
        return wait(Path(place), config, float(rest[0]), rest[1:])
    if rest and wait(Path(place), config, float(rest[0]), rest[1:]):
        return 1
    return gate(Path(place), config)


def stop(root: str, drain: float) -> int:
    from stackctl.onhost import segments

    shared = segments.mapped(procs.ours(root))
    killed, left = procs.stop(root, drain)
    segments.remove(shared)
    if killed:
        print("killed after {:g} s without an end: {}".format(drain, ", ".join(map(str, killed))))
    for pid in left:
        print("still there: {pid} ({user}) {command}".format(**procs.describe(pid)))
    return 1 if left else 0


def free(root: str, seconds: float, wanted: set[int]) -> int:
    from stackctl.onhost import cards

    problem = cards.wait_free(root, seconds, wanted)
    print(problem or "free")
    return 1 if problem else 0


def wait(folder: Path, config: dict[str, Any], seconds: float, names: list[str]) -> int:
    """Asks often at first, then once a second. A refused connection or a 503 means: not yet."""
    from stackctl.onhost import probe

    began = time.monotonic()
    waiting = [launch for launch in config["launches"] if launch["instance"] in names]
    pause = 0.05
    while waiting:
        for launch in list(waiting):
            if not _alive(folder, launch["instance"]):
                print(_exited(folder, launch["instance"]))
                return 1
            if probe.get(launch["ask"] + launch["ready"], config["probe"]).status == 200:
                waiting.remove(launch)
        if waiting and time.monotonic() - began > seconds:
            name = waiting[0]["instance"]
            print(f"{name} is not healthy after {seconds:g} s; the end of its log:\n{_tail(folder, name)}")
            return 1
        if waiting:
            time.sleep(pause)
            pause = min(1.0, pause * 1.1)
    return 0


def _alive(folder: Path, instance: str) -> bool:
    """Alive, or so young that it is not written down yet."""
    if (folder / "run" / (instance + ".exit")).exists():
        return False
    root = str(folder.parent.parent)
    return any(item.alive for item in procs.recorded(root) if (item.release, item.instance) == (folder.name, instance))


def _exited(folder: Path, instance: str) -> str:
    try:
        code = (folder / "run" / (instance + ".exit")).read_text().split()[0]
    except (OSError, IndexError):
        code = "unknown"
    return f"{instance} exited with {code} while it started; the end of its log:\n{_tail(folder, instance)}"


def _tail(folder: Path, instance: str) -> str:
    try:
        text = (folder / "run" / (instance + ".log")).read_text(errors="replace")
    except OSError:
        return "(no log)"
    return "\n".join("  | " + line[:300] for line in text.splitlines()[-TAIL:])


def gate(folder: Path, config: dict[str, Any]) -> int:
    """What runs, who answers, the router's list, then real generations. Stops at the first stage with a fault."""
    from stackctl.onhost import probe

    dead = [item["instance"] for item in config["launches"] if not _alive(folder, item["instance"])]
    if dead:
        print("\n".join(_exited(folder, name) for name in dead))
        return 1
    for stage in (lambda config: paths(folder, config), probe.workers, probe.router, probe.generations):
        faults = stage(config)
        if faults:
            print("\n".join(faults))
            return 1
    return 0


def model(folder: Path, config: dict[str, Any]) -> int:
    """Small files and heads of shards: the weights that were loaded are those that the release was made for."""
    from stackctl.onhost import model_files

    found = model_files.differences(config["model"], json.loads((folder / "model.json").read_text()))
    if found:
        print("\n".join(f"{config['model']}: {one}" for one in found))
    return 1 if found else 0


def paths(folder: Path, config: dict[str, Any]) -> list[str]:
    """Every process of an engine looks for its modules in the release's trees before anywhere else."""
    root = str(folder.parent.parent)
    wrappers = {item.pid for item in procs.recorded(root)}
    environs = {pid: procs.environ(pid) for pid in procs.ours(root) if pid not in wrappers}
    trees = [config["tree"], *config.get("sources", [])]
    wanted = [os.path.realpath(os.path.join(tree, "python")) for tree in trees]
    faults = []
    for name in [launch["instance"] for launch in config["launches"] if launch["role"] != "router"]:
        mine = {pid: env for pid, env in environs.items() if env.get("STACKCTL_INSTANCE") == str(folder / name)}
        if not mine:
            faults.append(f"{name}: no process of it shows its environment, so nobody knows which tree it runs")
        for pid, env in sorted(mine.items()):
            path = env.get("PYTHONPATH", "")
            if [os.path.realpath(folder) for folder in path.split(":")[: len(wanted)]] != wanted:
                begin = ":".join(wanted)
                faults.append(f"{name}: the path of process {pid} does not begin with {begin}: PYTHONPATH={path}")
    return faults


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
