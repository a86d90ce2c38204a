"""What the rules say of launches, as findings at words of a file. Nothing is decided here but what must not be said."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from stackctl.core.command.launches import Launch
from stackctl.core.command.setup import Reading, mentioned
from stackctl.core.command.words import Word
from stackctl.core.lint.places import Spot, finding_of
from stackctl.core.lint.run import SAME, Fired, run
from stackctl.core.lint.setup import Option, Process, Setup
from stackctl.core.lint.values import Finding, Place, Rule
from stackctl.errors import Where

OF_NAMES = frozenset(
    ("FLAG-UNKNOWN", "FLAG-REMOVED", "FLAG-AMBIGUOUS", "FLAG-ABBREV", "FLAG-DEPRECATED", "FOREIGN-FLAG")
)
OF_VARIABLES = frozenset(("ENV-UNKNOWN", "ENV-DEPRECATED", "ENV-DROPPED"))  # of their names, whatever they are set to
OF_OPTIONS = OF_NAMES | {"CHOICE", "VALUE-DEPRECATED"}
KEYS = {**SAME, "port": "port", "gpus": "base-gpu-id", "bootstrap_port": "disaggregation-bootstrap-port"}


def findings(reading: Reading, rules: Sequence[Rule]) -> list[Finding]:
    """In the order of the file; what several processes have at one word is told once."""
    sure = [one for one in run(reading.sure, rules) if _may_be_said(one, reading)]
    whole = run(reading.whole, rules) if reading.whole != reading.sure else ()
    perhaps = [one for one in whole if _is_of_a_maybe(one, reading)]
    groups: dict[tuple[object, ...], tuple[Fired, Spot, list[str]]] = {}
    for setup, one in [*((reading.sure, one) for one in sure), *((reading.whole, one) for one in perhaps)]:
        spot = _spot(one.hit.place, setup, reading)
        same = (one.rule.id, one.severity, one.hit.message, one.hit.hint, spot.where if spot.key else None)
        _, _, instances = groups.setdefault(same, (one, spot, []))
        if one.hit.place.instance and one.hit.place.instance not in instances:
            instances.append(one.hit.place.instance)
    found = [finding_of(one, spot, who) for one, spot, who in groups.values()]
    return sorted(found, key=lambda one: ((one.where or Where("")).line or 0, (one.where or Where("")).column or 0))


def _may_be_said(fired: Fired, reading: Reading) -> bool:
    """Whether all that the rule looked at is known."""
    hit = fired.hit
    name = _name(hit.place)
    spoken = {name, *mentioned(f"{hit.message} {hit.hint}")}
    if any(one.text in hit.message for one in reading.unknown if one.is_hole):
        return False
    if fired.rule.id in OF_VARIABLES:  # of what is written: no file that was not read changes its name
        spoken = {name}
    if spoken & reading.silenced:
        return fired.rule.id in OF_NAMES and any(_options(process, name) for process in reading.sure.processes)
    for process in _concerned(hit.place, reading.sure):
        if process.id in reading.open_args and hit.place.kind != "env" and not _options(process, name):
            return False
        if process.id in reading.open_env and any(one.isupper() and one not in process.env for one in spoken):
            return False
    return True


def _is_of_a_maybe(fired: Fired, reading: Reading) -> bool:
    """Whether it is about the writing of an option that is there under a condition, or of a variable's name."""
    if fired.rule.id in OF_VARIABLES:
        return any(fired.hit.place.name not in one.env for one in _concerned(fired.hit.place, reading.sure))
    if fired.rule.id not in OF_OPTIONS or fired.hit.place.kind != "flag":
        return False
    for process in _concerned(fired.hit.place, reading.whole):
        words = reading.launches[process.id].args
        for option in _options(process, fired.hit.place.name):
            values = words[option.position : option.position + 1 + len(option.values)]
            if values[0].maybe and not any(one.unknown for one in values[1 if fired.rule.id in OF_NAMES else 0 :]):
                return True
    return False


def _concerned(place: Place, setup: Setup) -> Iterator[Process]:
    return (one for one in setup.processes if place.instance in (None, one.id))


def _name(place: Place) -> str:
    return KEYS.get(place.name, place.name) if place.kind == "key" else place.name


def _options(process: Process, name: str) -> list[Option]:
    return [one for one in process.options if one.name == name] or list(process.all(name))


def _spot(place: Place, setup: Setup, reading: Reading) -> Spot:
    """The word that a place is: the option as typed, the variable, else the program."""
    name = _name(place)
    first: Launch | None = None
    for process in _concerned(place, setup):
        launch = reading.launches[process.id]
        first = first or launch
        words = launch.args if setup is reading.whole else reading.words[process.id]
        if found := _word(name, process, launch, words):
            return Spot(found.where, found.text.partition("=")[0])
    return Spot(first.where if first else None, "")


def _word(name: str, process: Process, launch: Launch, words: Sequence[Word]) -> Word | None:
    options = _options(process, name)
    if options:
        return words[options[-1].position]
    if name in launch.env:
        return Word(name, launch.env[name].where)
    if launch.container is not None and name in launch.container.given:
        return launch.container.given[name]
    return next((one for one in words if one.text == name), None)
