"""Reads what nvidia-smi prints: `-q -x` (XML), `--query-gpu` (CSV), `topo -m` and `topo -p2p r`. Pure.

Its output is no stable interface, and comes from a host that may be hostile: a field that is not there, or is no
number, is None; XML with a DOCTYPE of its own declarations or with entities is refused, never expanded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from stackctl.core.doctor.values import Card, CardProcess

MIB = 1 << 20
LARGEST = 8 << 20  # characters: eight cards are some 100 KB without their lists of clocks
DOCTYPE = re.compile(r"""<!DOCTYPE\s+[\w.-]+(?:\s+SYSTEM\s+(?:"[^"<>\[]*"|'[^'<>\[]*'))?\s*>""")
# what is printed where a value is missing for no fault of the card
ABSENT = ("n/a", "not supported", "none", "requested functionality has been deprecated")
FAULT = re.compile(r"gpu is lost|unknown error|err!|gpu requires reset|insufficient permissions", re.I)
HANDLE = re.compile(r"device handle for GPU\s*(?:\d+:\s*)?([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.\d): (.+)")


class BadOutput(ValueError):
    """Output that is not read; its text says why."""


@dataclass(frozen=True)
class Smi:
    """`attached`: how many cards it says there are."""

    driver: str | None
    cuda: str | None
    attached: int | None
    cards: tuple[Card, ...]


def read_xml(text: str) -> Smi:
    """Of `nvidia-smi -q -x`. Cards are numbered in the order in which they stand there, which is that of their index.

    Raises BadOutput.
    """
    root = _parsed(text)
    if root.tag != "nvidia_smi_log":
        raise BadOutput(f"it begins with <{root.tag[:40]}>, not with <nvidia_smi_log>")
    cards = tuple(_card(index, gpu) for index, gpu in enumerate(root.findall("gpu")))
    return Smi(_text(root, "driver_version"), _text(root, "cuda_version"), _whole(root, "attached_gpus"), cards)


def _parsed(text: str) -> Element:
    if len(text) > LARGEST:
        raise BadOutput(f"it has {len(text)} characters")
    if "<!ENTITY" in text or "<!DOCTYPE" in DOCTYPE.sub("", text, count=1):
        raise BadOutput("it declares entities, which nvidia-smi never does")
    try:
        return ElementTree.fromstring(text.strip())
    except ElementTree.ParseError as error:
        raise BadOutput(f"it is no XML: {error}") from error
    except ValueError as error:  # half of a character
        raise BadOutput(f"it is no XML: {error}") from error


def _card(index: int, gpu: Element) -> Card:
    bus = (gpu.get("id") or "").strip() or _text(gpu, "pci/pci_bus_id") or ""
    return Card(
        index,
        name=_text(gpu, "product_name") or "",
        uuid=_text(gpu, "uuid") or "",
        bus_id=bus,
        memory_total=_bytes(gpu, "fb_memory_usage/total"),
        memory_used=_bytes(gpu, "fb_memory_usage/used"),
        power_limit=_first(gpu, _power("current_power_limit"), "power_readings/power_limit"),
        power_default=_first(gpu, *(f"{part}/default_power_limit" for part in POWER)),
        power_max=_first(gpu, *(f"{part}/max_power_limit" for part in POWER)),
        clock_sm=_whole(gpu, "clocks/sm_clock"),
        clock_sm_max=_whole(gpu, "max_clocks/sm_clock"),
        clock_memory=_whole(gpu, "clocks/mem_clock"),
        clock_memory_max=_whole(gpu, "max_clocks/mem_clock"),
        clock_app_sm=_whole(gpu, "applications_clocks/graphics_clock"),
        temperature=_whole(gpu, "temperature/gpu_temp"),
        slowed=tuple(_slowed(gpu)),
        ecc=_switch(gpu, "ecc_mode/current_ecc"),
        ecc_pending=_switch(gpu, "ecc_mode/pending_ecc"),
        ecc_uncorrected=_uncorrected(gpu),
        persistence=_switch(gpu, "persistence_mode"),
        mig=_switch(gpu, "mig_mode/current_mig"),
        pcie=_pcie(gpu, "current_link_gen", "current_link_width"),
        pcie_max=_pcie(gpu, "max_link_gen", "max_link_width"),
        processes=tuple(_processes(gpu)),
        fault=_fault(gpu),
    )


POWER = ("gpu_power_readings", "power_readings")


def _power(name: str) -> str:
    return f"{POWER[0]}/{name}"


def _text(node: Element, path: str) -> str | None:
    """None for what is missing, not supported, or an error."""
    said = (node.findtext(path) or "").strip()
    return None if not said or said.lower() in ABSENT or FAULT.search(said) else said


def _number(node: Element, path: str) -> float | None:
    return number(_text(node, path))


def number(said: str | None) -> float | None:
    """`600.00 W`, `97887 MiB`, `16x`, `97887`: the number in front; None when there is none."""
    found = re.match(r"-?\d{1,15}(?:\.\d+)?", said or "")
    return float(found[0]) if found else None


def _whole(node: Element, path: str) -> int | None:
    found = _number(node, path)
    return None if found is None else int(found)


def _first(node: Element, *paths: str) -> float | None:
    return next((found for path in paths if (found := _number(node, path)) is not None), None)


def _bytes(node: Element, path: str) -> int | None:
    found = _number(node, path)
    return None if found is None else int(found) * MIB


def _switch(node: Element, path: str) -> bool | None:
    return {"enabled": True, "disabled": False}.get((_text(node, path) or "").lower())


def _pcie(gpu: Element, generation: str, width: str) -> str:
    info = "pci/pci_gpu_link_info"
    gen, lanes = _whole(gpu, f"{info}/pcie_gen/{generation}"), _whole(gpu, f"{info}/link_widths/{width}")
    return f"gen {gen} x{lanes}" if gen is not None and lanes is not None else ""


def _slowed(gpu: Element) -> Iterator[str]:
    """Reasons that are active; `gpu_idle` is none. Older drivers call them throttle reasons."""
    for group in ("clocks_event_reasons", "clocks_throttle_reasons"):
        for reason in gpu.findall(f"{group}/*"):
            name = re.sub(r"^clocks_(?:event|throttle)_reason_", "", reason.tag)
            if (reason.text or "").strip() == "Active" and name != "gpu_idle":
                yield name


def _uncorrected(gpu: Element) -> int | None:
    """Since the driver was loaded: all counters of that kind, of new and old drivers."""
    counters = [one for one in gpu.findall("ecc_errors/volatile/*") if "uncorrectable" in one.tag]
    known = [int(one.text.strip()) for one in counters if one.text and one.text.strip().isdigit()]
    return sum(known) if known else _whole(gpu, "ecc_errors/volatile/double_bit/total")


def _processes(gpu: Element) -> Iterator[CardProcess]:
    for item in gpu.findall("processes/process_info"):
        pid = _whole(item, "pid")
        if pid is not None:
            name = _text(item, "process_name") or ""
            yield CardProcess(pid, _text(item, "type") or "C", name, _bytes(item, "used_memory"))


def _fault(gpu: Element) -> str:
    """The first value of the card that is an error; one that any user may not ask for is none."""
    for node in gpu.iter():
        said = (node.text or "").strip()
        if FAULT.search(said) and "insufficient" not in said.lower():
            return said
    return ""


def read_csv(text: str) -> list[dict[str, str]]:
    """Of `--query-gpu=… --format=csv,nounits`: a row a card, by the names of the first line; `[N/A]` is left out."""
    lines = [line for line in text.splitlines() if "," in line]
    if not lines:
        return []
    names = [re.sub(r"\s*\[.*\]$", "", name.strip()) for name in lines[0].split(",")]
    rows = [[field.strip() for field in line.split(",")] for line in lines[1:]]
    return [
        {name: field for name, field in zip(names, row, strict=True) if field.lower().strip("[]") not in ABSENT}
        for row in rows
        if len(row) == len(names)
    ]


def handle_faults(text: str) -> dict[str, str]:
    """Address on the bus -> what is wrong, of cards for which nvidia-smi found no handle."""
    return {match[1].strip(): match[2].strip() for match in HANDLE.finditer(text)}


def matrix(text: str) -> Mapping[str, str]:
    """Of `topo -m` or `topo -p2p r`: "0-1" -> what stands there; the lower index comes first.

    Where both directions differ, the worse word is not known to us, so the one that is not OK is taken.
    """
    text = re.sub(r"\x1b\[[0-9;]*m", "", text)  # the heading is underlined
    lines = text.splitlines()
    head = next((number for number, line in enumerate(lines) if re.match(r"\s*GPU\d+\b", line)), None)
    if head is None:
        return {}
    columns = re.findall(r"\bGPU(\d+)\b", lines[head])
    found: dict[str, str] = {}
    for line in lines[head + 1 :]:
        words = line.split()
        if not words or not re.fullmatch(r"GPU\d+", words[0]):
            continue
        row = int(words[0][3:])
        for column, word in zip(map(int, columns), words[1:], strict=False):
            key = f"{min(row, column)}-{max(row, column)}"
            if row != column and found.get(key, "OK") == "OK":
                found[key] = word
    return found
