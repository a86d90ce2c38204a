"""The cards that a stack names: are they all there, of the right kind, free, and well?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from stackctl.core.deploy.refuse import FREE_MEMORY
from stackctl.core.doctor.values import Card, Finding, Look
from stackctl.core.doctor.wanted import Wanted

MIB, GIB = 1 << 20, 1 << 30
ENOUGH = 0.95  # a card of "96 GiB" has 97887 MiB: some of it is the driver's


class Uneven(NamedTuple):
    """Something that cards of one stack should have alike."""

    id: str
    words: str
    of: Callable[[Card], object]
    unit: str = ""


UNEVEN = (
    Uneven("POWER-UNEVEN", "power limits", lambda card: card.power_limit, " W"),
    Uneven("ECC-UNEVEN", "ECC settings", lambda card: card.ecc),
)
HOT = ("hw_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown", "sw_thermal_slowdown")


def used(look: Look, wanted: Wanted) -> list[Card]:
    """Cards that instances name; all of them when none names any."""
    return [card for card in look.facts.cards if not card.fault and (not wanted.cards or card.index in wanted.cards)]


def lost(look: Look, wanted: Wanted) -> Iterator[Finding]:
    for card in look.facts.cards:
        if card.fault and wanted.has_cards:
            name = f"card {card.index}" if card.index >= 0 else "the card"
            matters = card.index < 0 or not wanted.cards or card.index in wanted.cards
            yield Finding(
                "CARD-LOST",
                "error" if matters else "warning",
                f"{name} at {card.bus_id} does not answer: {card.fault}",
                (look.evidence("nvidia-smi", f"{card.bus_id}: {card.fault}"),),
                "Reboot; if it comes back, look at power, riser and seat of that card, and at its Xid lines.",
            )


def count(look: Look, wanted: Wanted) -> Iterator[Finding]:
    cards = [card for card in look.facts.cards if not card.fault]
    if not cards:
        return  # the driver's own findings say so
    evidence = look.evidence("nvidia-smi-query", *(f"{card.index}, {card.name}" for card in cards))
    name, there = wanted.spec.name, {card.index for card in cards}
    if gone := sorted(set(wanted.cards) - there):
        which = ", ".join(map(str, gone))
        yield Finding(
            "CARD-INDEX",
            "error",
            f"the stack uses card{'s' * (len(gone) > 1)} {which}, and the host has {len(cards)}",
            (evidence,),
            "Give the roles `gpus` that are there.",
        )
    if wanted.spec.gpu_count and len(cards) != wanted.spec.gpu_count:
        fewer = len(cards) < wanted.spec.gpu_count
        yield Finding(
            "CARD-COUNT",
            "error" if fewer else "info",
            f"hosts.{name}.gpus says {wanted.spec.gpu_count} cards, and the host has {len(cards)}",
            (evidence,),
            "A card may have fallen off the bus: look at CARD-LOST and `lspci -d 10de:`."
            if fewer
            else "Correct `count`.",
        )


def kind(look: Look, wanted: Wanted) -> Iterator[Finding]:
    spec, cards = wanted.spec, used(look, wanted)
    for card in cards:
        said = arch(card.compute)
        if spec.gpu_arch and said and said != spec.gpu_arch.removesuffix("a"):
            yield Finding(
                "CARD-ARCH",
                "error",
                f"hosts.{spec.name}.gpus says {spec.gpu_arch}, and card {card.index} ({card.name}) is {said}",
                (look.evidence("nvidia-smi-query", f"{card.index}, {card.name}, {card.compute}"),),
                f"Correct `arch`: the linter judges flags by it. Or leave card {card.index} out.",
            )
        if spec.gpu_memory and card.memory_total and card.memory_total < ENOUGH * spec.gpu_memory:
            yield Finding(
                "CARD-MEMORY",
                "error",
                f"hosts.{spec.name}.gpus says {spec.gpu_memory / GIB:g} GiB, and card {card.index} ({card.name}) has "
                f"{card.memory_total / GIB:.1f}",
                (look.evidence("nvidia-smi", f"{card.index}: fb_memory_usage total {card.memory_total // MIB} MiB"),),
                "Correct `memory`, and look whether the model fits.",
            )
    if len(names := {card.name for card in cards}) > 1:
        lines = [f"{card.index}, {card.name}" for card in cards]
        yield Finding(
            "CARD-MIXED",
            "warning",
            f"the stack uses cards of {len(names)} kinds: {', '.join(sorted(names))}",
            (look.evidence("nvidia-smi-query", *lines),),
            "Give one engine cards of one kind: the slowest and the smallest decide.",
        )


def busy(look: Look, wanted: Wanted) -> Iterator[Finding]:
    """What `deploy` would refuse for: others on our cards, or memory that nobody shows."""
    for card in used(look, wanted) if wanted.cards else ():
        others = [one for one in card.processes if not one.ours]
        for one in others:
            memory = f", {one.memory // MIB} MiB" if one.memory is not None else ""
            words = one.command or one.name
            yield Finding(
                "CARD-IN-USE",
                "error" if "C" in one.kind else "warning",
                f"card {card.index} is in use by pid {one.pid} ({one.user or '?'}){memory}: {words}",
                (look.evidence("nvidia-smi", f"{card.index}: pid {one.pid} {one.kind} {one.name}{memory}"),),
                "stackctl never touches processes that are not its own: end it, or choose other cards.",
            )
        if not card.processes and (card.memory_used or 0) > FREE_MEMORY * MIB:
            taken = (card.memory_used or 0) // MIB
            yield Finding(
                "CARD-MEMORY-TAKEN",
                "error",
                f"card {card.index} has {taken} MiB in use, by no process that nvidia-smi shows",
                (look.evidence("nvidia-smi", f"{card.index}: fb_memory_usage used {taken} MiB"),),
                "A process of a container, or one that died and is not gone: `sudo fuser -v /dev/nvidia*`.",
            )


def health(look: Look, wanted: Wanted) -> Iterator[Finding]:
    for card in used(look, wanted) if wanted.has_cards else ():
        if card.ecc_uncorrected:
            yield Finding(
                "ECC-ERRORS",
                "error",
                f"card {card.index} has {card.ecc_uncorrected} uncorrected memory errors since the driver was loaded",
                (
                    look.evidence(
                        "nvidia-smi", f"{card.index}: ecc_errors volatile uncorrectable {card.ecc_uncorrected}"
                    ),
                ),
                "Reset the card or reboot; when they come back, have it replaced.",
            )
        if card.mig and card.index in wanted.cards:
            yield Finding(
                "MIG-ON",
                "error",
                f"card {card.index} is divided (MIG): an engine that is given the card sees one part of it, or none",
                (look.evidence("nvidia-smi", f"{card.index}: mig_mode current Enabled"),),
                f"sudo nvidia-smi -i {card.index} -mig 0",
            )
        if hot := [reason for reason in card.slowed if reason in HOT]:
            yield Finding(
                "CARD-SLOWED",
                "warning",
                f"card {card.index} is slowed down: {', '.join(hot)}, at {card.temperature} C",
                (look.evidence("nvidia-smi", f"{card.index}: clocks_event_reasons {', '.join(hot)} Active"),),
                "Look at its cooling and at the power supply.",
            )
        if 0 < _lanes(card.pcie) < _lanes(card.pcie_max):
            yield Finding(
                "PCIE-NARROW",
                "warning",
                f"card {card.index} is linked with {card.pcie}, and could with {card.pcie_max}",
                (look.evidence("nvidia-smi", f"{card.index}: link {card.pcie}, max {card.pcie_max}"),),
                "Look at its seat and riser, and at how the slots share lanes.",
            )


def settings(look: Look, wanted: Wanted) -> Iterator[Finding]:
    cards = used(look, wanted) if wanted.has_cards else []
    capped = [
        card for card in cards if card.power_limit and card.power_default and card.power_limit < card.power_default
    ]
    if capped:
        lines = [f"{card.index}: {card.power_limit:g} of {card.power_default:g} W" for card in capped]
        yield Finding(
            "POWER-CAP",
            "info",
            f"the power of {_cards(capped)} is capped below its default",
            (look.evidence("nvidia-smi", *lines),),
            "Meant so? A cap lowers clocks under load: say it with every measurement.",
        )
    for what in UNEVEN:
        yield from _uneven(look, cards, what)
    if off := [card for card in cards if card.persistence is False]:
        yield Finding(
            "PERSISTENCE-OFF",
            "info",
            f"persistence mode is off for {_cards(off)}: an idle card loses the limits that were set by hand",
            (look.evidence("nvidia-smi", *(f"{card.index}: persistence_mode Disabled" for card in off)),),
            "sudo systemctl enable --now nvidia-persistenced, or sudo nvidia-smi -pm 1",
        )
    if pending := [card for card in cards if card.ecc_pending is not None and card.ecc_pending != card.ecc]:
        yield Finding(
            "ECC-PENDING",
            "warning",
            f"ECC of {_cards(pending)} will change with the next reset, and its memory with it",
            (look.evidence("nvidia-smi", *(f"{card.index}: ecc_mode pending differs" for card in pending)),),
            "Reboot now, at a time of your choice.",
        )


def _uneven(look: Look, cards: list[Card], what: Uneven) -> Iterator[Finding]:
    known = [card for card in cards if what.of(card) is not None]
    if len({what.of(card) for card in known}) > 1:
        lines = [f"{card.index}: {_word(what.of(card))}{what.unit}" for card in known]
        yield Finding(
            what.id,
            "warning",
            f"the cards have different {what.words}",
            (look.evidence("nvidia-smi", *lines),),
            "Set them alike: the slowest card of an engine decides.",
        )


def _word(value: object) -> str:
    return {True: "on", False: "off"}.get(value, str(value)) if isinstance(value, bool) else str(value)


def _cards(cards: list[Card]) -> str:
    return f"card{'s' * (len(cards) > 1)} " + ", ".join(str(card.index) for card in cards)


def _lanes(link: str) -> int:
    """0 when it is not known, so that nothing is said."""
    return int(link.rpartition("x")[2]) if "x" in link else 0


def arch(compute: str | None) -> str | None:
    """`12.0` -> sm_120"""
    major, _, minor = (compute or "").partition(".")
    return f"sm_{major}{minor}" if major.isdigit() and minor.isdigit() else None


CHECKS = (lost, count, kind, busy, health, settings)
