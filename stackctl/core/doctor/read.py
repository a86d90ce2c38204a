"""Turns what the program on the host said (onhost/doctor.py) into facts. Pure; it judges nothing.

Outputs of programs are read as far as they can be: what cannot be read is left unknown, with the reason beside it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from stackctl.core.doctor import nvidia
from stackctl.core.doctor.jsonform import read
from stackctl.core.doctor.values import (
    Bridge,
    Card,
    Clock,
    Command,
    Disk,
    Docker,
    Driver,
    Facts,
    Interpreter,
    Limit,
    Links,
    Look,
)


@dataclass(frozen=True)
class Times:
    """When this machine asked and when it had the answer, by its own clock; seconds since the epoch."""

    asked: float
    answered: float


def look_of(host: str, said: Mapping[str, Any], times: Times) -> Look:
    """Raises ValueError, TypeError or KeyError when it is no such answer."""
    commands = tuple(read(Command, item) for item in said["commands"])
    outputs = {command.name: command for command in commands}
    system, shm = said["system"], read(Disk, said["shm"])
    driver, cards = _cards(said, outputs)
    facts = read(Facts, {**system, "engines": said["engines"], "ports": said["listeners"]})
    facts = replace(
        facts,
        host=host,
        user=str(said["user"]),
        home=str(said.get("home", "")),
        when=times.asked,
        shm_total=shm.total,
        shm_free=shm.free,
        driver=driver,
        cards=cards,
        links=_links(said, outputs),
        docker=_docker(outputs),
        disks=tuple(read(Disk, item) for item in said["disks"]),
        limits={name: Limit(pair[0], pair[1]) for name, pair in said["limits"].items()},
        clock=_clock(said, outputs, times),
        variables=dict(said["variables"]),
        nccl_conf=dict(said["nccl_conf"]),
        python=read(Interpreter, said["python"]) if said["python"] else Interpreter(),
        kernel_log=_kernel_log(outputs.get("dmesg")),
        missing=tuple(dict.fromkeys(command.argv[0] for command in commands if command.missing)),
    )
    return Look(facts, commands)


def _cards(said: Mapping[str, Any], outputs: Mapping[str, Command]) -> tuple[Driver, tuple[Card, ...]]:
    command = outputs.get("nvidia-smi")
    driver = Driver(module=said["module"] or None, installed=bool(said["smi"]))
    if command is None:
        fault = "the kernel has not loaded the driver" if driver.installed else ""
        return replace(driver, fault=fault), ()
    try:
        smi = nvidia.read_xml(command.stdout)
    except nvidia.BadOutput as error:
        return replace(driver, fault=_why(command) or str(error)), ()
    rows = nvidia.read_csv(outputs["nvidia-smi-query"].stdout) if "nvidia-smi-query" in outputs else []
    cards = tuple(_joined(card, rows, said) for card in smi.cards)
    lost = nvidia.handle_faults("\n".join((command.stdout, command.stderr)))
    known = {_bus(card.bus_id) for card in cards}
    cards += tuple(Card(-1, bus_id=bus, fault=fault) for bus, fault in lost.items() if _bus(bus) not in known)
    return replace(driver, version=smi.driver, cuda=smi.cuda), cards


def _why(command: Command) -> str:
    """Why nvidia-smi gave no XML, in its own words."""
    if command.cut is not None:
        return f"nvidia-smi did not answer within {command.cut:g} s"
    lines = [line.strip() for line in (command.stdout + "\n" + command.stderr).splitlines() if line.strip()]
    return "" if command.ok or not lines else lines[0]


def _joined(card: Card, rows: Sequence[Mapping[str, str]], said: Mapping[str, Any]) -> Card:
    """What the XML lacks: the index by its UUID, compute capability, NUMA node; who the processes are."""
    row: Mapping[str, str] = next((row for row in rows if card.uuid and row.get("uuid") == card.uuid), {})
    index = row.get("index", "")
    return replace(
        card,
        index=int(index) if index.isdigit() else card.index,
        compute=row.get("compute_cap") if nvidia.number(row.get("compute_cap")) is not None else None,
        numa=next((place["node"] for bus, place in said["places"].items() if _bus(bus) == _bus(card.bus_id)), None),
        processes=tuple(
            replace(process, **{key: about[key] for key in ("user", "command", "ours")}) if about else process
            for process in card.processes
            for about in (said["on_cards"].get(str(process.pid), {}),)
        ),
    )


def _bus(address: str) -> str:
    """`00000000:C1:00.0`, `0000:c1:00.0` and `c1:00.0` are one place."""
    parts = address.lower().split(":")
    return ":".join(["0000", *parts] if len(parts) == 2 else [parts[0][-4:], *parts[1:]])


def _links(said: Mapping[str, Any], outputs: Mapping[str, Command]) -> Links:
    links, lspci = said["links"], outputs.get("lspci")
    above = {_bus(bus) for place in said["places"].values() for bus in place["above"]}
    return Links(
        ways=nvidia.matrix(_said(outputs, "nvidia-smi-topo")),
        p2p=nvidia.matrix(_said(outputs, "nvidia-smi-p2p")),
        bridges=bridges(lspci.stdout, above) if lspci is not None and lspci.ok else None,
        iommu_cmdline=tuple(links["iommu_cmdline"]),
        iommu_units=links["iommu_units"],
        iommu_type=links["iommu_type"],
        kernel_parameters=dict(links["kernel_parameters"]),
    )


def bridges(text: str, above: Collection[str]) -> tuple[Bridge, ...]:
    """Of `lspci -vvv`: bridges that have ACS, with the controls that are on (`SrcValid+`); `above`: those of cards."""
    found, head = [], ""
    for line in text.splitlines():
        if line and not line[0].isspace():
            head = line
        elif (acs := re.search(r"ACSCtl:(.*)", line)) and "bridge" in head.lower():
            place, _, name = head.partition(" ")
            controls = tuple(re.findall(r"(\w+)\+", acs[1]))
            found.append(Bridge(place, name, controls, above=_bus(place) in above))
    return tuple(found)


def _said(outputs: Mapping[str, Command], name: str) -> str:
    command = outputs.get(name)
    return command.stdout if command is not None and command.ok else ""


def _docker(outputs: Mapping[str, Command]) -> Docker:
    version, info, toolkit = (outputs.get(name) for name in ("docker-version", "docker-info", "nvidia-ctk"))
    if version is None or version.missing:
        return Docker()
    server, about = _object(version).get("Server") or {}, _object(info)
    asked = {
        name.partition(" ")[2]: command
        for name, command in outputs.items()
        if name.startswith("docker-image ") and command.ok
    }
    fault = "" if server else _last(version) or "its daemon does not answer"
    return Docker(
        installed=True,
        version=_string(server, "Version"),
        fault=fault,
        root=_string(about, "DockerRootDir") or "",
        driver=_string(about, "Driver") or "",
        runtimes=tuple(sorted(about["Runtimes"])) if isinstance(about.get("Runtimes"), dict) else (),
        default_runtime=_string(about, "DefaultRuntime") or "",
        cgroup=" ".join(filter(None, (_string(about, "CgroupDriver"), _string(about, "CgroupVersion")))),
        toolkit=_toolkit(toolkit),
        images={
            name: {key: str(value) for key, value in _object(command).items()}
            for name, command in asked.items()
            if not name.startswith("label=")
        },
        ours=tuple(
            line.strip()
            for name, command in asked.items()
            if name.startswith("label=")
            for line in command.stdout.splitlines()
            if line.strip()
        ),
    )


def _toolkit(command: Command | None) -> str | None:
    found = re.search(r"version\s+(\S+)", command.stdout) if command is not None and command.ok else None
    return found[1] if found else None


def _object(command: Command | None) -> dict[str, Any]:
    """The JSON object that it printed; empty when it printed none (an image without labels prints `null`)."""
    try:
        found = json.loads(command.stdout) if command is not None else None
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _string(value: Mapping[str, Any], key: str) -> str | None:
    found = value.get(key)
    return found if isinstance(found, str) and found else None


def _last(command: Command) -> str:
    if command.cut is not None:
        return f"{command.argv[0]} did not answer within {command.cut:g} s"
    return ([line.strip() for line in command.stderr.splitlines() if line.strip()] or [""])[-1]


def _clock(said: Mapping[str, Any], outputs: Mapping[str, Command], times: Times) -> Clock:
    """The host's time lies between asking and answering; half of what the way there and back took is not known."""
    begin, end = float(said["begin"]), float(said["end"])
    offset = ((begin - times.asked) + (end - times.answered)) / 2
    error = max(0.0, (times.answered - times.asked) - (end - begin)) / 2
    source = re.search(r"^Reference ID\s*:\s*(.+)$", _said(outputs, "chronyc"), re.M)
    name = f"chrony, {source[1].strip()}" if source else ""
    return Clock(round(offset, 3), round(error, 3), said["clock"].get("synchronized"), name)


def _kernel_log(command: Command | None) -> tuple[str, ...] | None:
    return tuple(command.stdout.splitlines()) if command is not None and command.ok else None
