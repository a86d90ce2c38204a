"""Asks what serves at the addresses of a stack on this host who it is, all at once, and changes nothing.

The same comparison as the gate's: what an engine says of itself in /server_info against what was rendered. Only what
differs leaves the host.

argv[1] is a request in JSON: {root, launches: [{instance, role, ask, expect: {name: value}}], bound: seconds for one
answer, containers: [ids of docker]}; the answer is JSON on stdout: {answers: {instance: {status, why, release, module,
differs: [[name, there, wanted]..], workers: [url..] of a router}}, containers: {id: {name, image, labels}}}
"""

from __future__ import annotations

import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from stackctl.onhost import doctor_run, masks, probe

ABOUT = "{{.Name}}\n{{.Config.Image}}\n{{json .Config.Labels}}"
INSPECT = ("docker", "inspect", "--type", "container", "--format", ABOUT, "--")
LABELS = ("io.stackctl.", "org.opencontainers.image.")
SHOWN = 300  # characters of an answer that is none


def main(request: dict[str, Any]) -> dict[str, Any]:
    launches, bound = request["launches"], float(request["bound"])
    with ThreadPoolExecutor(max(1, len(launches))) as pool:
        found = dict(pool.map(lambda one: (one["instance"], asked(one, bound)), launches))
    containers = {one: about for one in request.get("containers", ()) if (about := container(one))}
    hide = masks.hider(Path(os.path.realpath(os.path.expanduser(request["root"])), "env"))
    return dict(masks.hidden({"answers": found, "containers": containers}, hide))


def container(one: str) -> dict[str, Any] | None:
    """Name, image and our own labels; None when docker does not tell."""
    program = doctor_run.Program(
        "container", ("docker", "inspect", "--type", "container", "--format", ABOUT, "--", one)
    )
    said = doctor_run.run(program)
    if said["code"] != 0:
        return None
    name, image, labels = said["stdout"].strip().split("\n")
    ours = {key: value for key, value in (json.loads(labels) or {}).items() if key.startswith(LABELS)}
    return {"name": name.lstrip("/"), "image": image, "labels": ours}


def asked(launch: dict[str, Any], bound: float) -> dict[str, Any]:
    router = launch["role"] == "router"
    first = probe.get(launch["ask"] + ("/workers" if router else "/server_info"), bound)
    answer = {"status": first.status, "why": "", "release": "", "module": "", "differs": [], "workers": []}
    said = parsed(first)
    if said is None:
        return dict(answer, why=masks.text(first.text[:SHOWN].strip()))
    if router:
        return dict(answer, workers=sorted(str(item.get("url")) for item in said.get("workers", ())))
    return {**answer, **engine(launch, said, bound)}


def engine(launch: dict[str, Any], info: dict[str, Any], bound: float) -> dict[str, Any]:
    about = parsed(probe.get(launch["ask"] + "/model_info", bound)) or {}
    differs = [
        [name, masks.HIDDEN, masks.HIDDEN] if masks.tells_secret(name) else [name, there, wanted]
        for name, there, wanted in probe.differing(info, launch["expect"])
    ]
    return {
        "release": str(about.get("weight_version") or info.get("weight_version") or ""),
        "module": os.path.realpath(place) if isinstance(place := info.get("import_path"), str) else "",
        "differs": differs,
    }


def parsed(answer: probe.Answer) -> dict[str, Any] | None:
    """None when it is no answer, or none of an engine or a router."""
    if answer.status != 200:
        return None
    try:
        said = json.loads(answer.text)
    except ValueError:
        return None
    return said if isinstance(said, dict) else None


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))))
