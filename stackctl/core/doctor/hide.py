"""Takes out of a report what must not be shown: values of secrets and what a terminal would act upon always, names of
machines and people when asked."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from stackctl.core.doctor.values import HostReport, Report

T = TypeVar("T")
SHORTEST = 4  # characters of a secret that is hidden: a shorter one would blacken every number
HIDDEN = "***"
# controls, words that change the direction of a text, and halves of characters, which nothing can write
ACTS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
SYSTEM = {"root", "nobody", "daemon", "www-data", "systemd", "messagebus", "user", "local", "localhost", "?", ""}
HOME = re.compile(r"(/home/|/Users/)([^/\s\"':,]+)")
ADDRESS = re.compile(r"\b(?!127\.|0\.0\.0\.0\b)(?:\d{1,3}\.){3}\d{1,3}\b(?!\.\d)")
# IPv6 and addresses of network cards; `0000:c1:00.0` of a PCI bus and `12:30:00` have fewer colons
ADDRESS_6 = re.compile(
    r"(?<![\w:.])(?:[0-9a-f]{1,4}(?::[0-9a-f]{1,4}){4,7}|(?:[0-9a-f]{1,4}:){1,7}(?::[0-9a-f]{1,4}){1,6}|"
    r"(?:[0-9a-f]{1,4}:){1,7}:)(?![\w:])",
    re.I,
)
CARD = re.compile(r"\b(GPU|MIG)-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", re.I)
SERIAL = re.compile(r"(<(serial|pdi|board_id|board_part_number|gpu_fabric_guid|chassis_serial_number)>)[^<]*")


def without_secrets(report: Report, values: Collection[str]) -> Report:
    """With the values blackened, wherever they stand."""
    long = sorted({value for value in values if len(value) >= SHORTEST}, key=len, reverse=True)
    if not long:
        return report
    pattern = re.compile("|".join(map(re.escape, long)))
    return _mapped(report, lambda text: pattern.sub(HIDDEN, text))


def harmless(report: T) -> T:
    """Any value of dataclasses with what a terminal would act upon made visible: a host may be hostile, and so may a
    name of a process."""
    return _mapped(report, lambda text: ACTS.sub(lambda found: f"\\x{ord(found[0]):02x}", text.replace("\r\n", "\n")))


def anonymous(report: Report) -> Report:
    """Without names of hosts, users and homes, addresses, and numbers of cards. Host names become host1, host2 …"""
    renamed = dict(_renamed(report))
    words = sorted(renamed, key=len, reverse=True)
    pattern = re.compile(r"(?<![\w.-])(?:" + "|".join(map(re.escape, words)) + r")(?![\w-])") if words else None

    def hide(text: str) -> str:
        text = pattern.sub(lambda found: renamed[found[0]], text) if pattern else text
        text = HOME.sub(r"\1user", ADDRESS_6.sub("ADDRESS", ADDRESS.sub("ADDRESS", text)))
        return SERIAL.sub(rf"\1{HIDDEN}", CARD.sub(rf"\1-{HIDDEN}", text))

    return _mapped(report, hide)


def _renamed(report: Report) -> Iterator[tuple[str, str]]:
    """Word -> what is written for it."""
    for number, host in enumerate(report.hosts, 1):
        user, _, place = host.address.rpartition("@")
        machine = place.partition(":")[0]
        names = [host.name, machine, *([host.facts.hostname] if host.facts else [])]
        for name in names:
            if name not in SYSTEM:
                yield name, f"host{number}"
                yield from [(name.partition(".")[0], f"host{number}")] if "." in name and not name[0].isdigit() else []
        for one in {user, *_users(host)} - SYSTEM:
            yield one, "user"


def _users(host: HostReport) -> Iterator[str]:
    if host.facts is None:
        return
    yield host.facts.user
    yield from (one.user for one in host.facts.ports)
    yield from (one.user for one in host.facts.engines)
    yield from (one.user for card in host.facts.cards for one in card.processes)


def _mapped(value: T, change: Callable[[str], str]) -> T:
    """The same value with every text in it changed."""
    return _each(value, change)  # type: ignore[no-any-return]


def _each(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{one.name: _each(getattr(value, one.name), change) for one in fields(value)})
    if isinstance(value, Mapping):
        return {_each(key, change): _each(item, change) for key, item in value.items()}
    if isinstance(value, tuple):
        return tuple(_each(item, change) for item in value)
    return value
