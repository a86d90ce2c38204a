"""The whole table of a tree: flags, environment variables, names of parsers and backends.

What decides is the tree, never its version: a fork may lie between two releases. sglang's rules apply when the tree has
`srt/server_args.py`; any other engine is read from the argparse parser of the module that is served.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from stackctl.core.upstream.env import environment, is_scanned
from stackctl.core.upstream.flags_annotated import ADDER, add_fields, is_annotated
from stackctl.core.upstream.flags_argparse import flags_of
from stackctl.core.upstream.parsers import parser_of
from stackctl.core.upstream.static.calls import invoke
from stackctl.core.upstream.static.machine import Machine
from stackctl.core.upstream.static.values import Class, Recorder, Unknown
from stackctl.core.upstream.values import Flag, Generation, Upstream

ROOT = "python/"
SERVER_ARGS = "python/sglang/srt/server_args.py"
COLLECTOR = "collect_input_fields"
NAMESPACES = "python/sglang/srt/arg_groups/fields/"
VERSION = "python/sglang/_version.py"
REGISTRIES = (
    "tool-call-parser",
    "reasoning-parser",
    "attention-backend",
    "moe-runner-backend",
    "moe-a2a-backend",
    "quantization",
    "disaggregation-transfer-backend",
)
SAYS_VERSION = re.compile(rb"^__version__\s*=\s*(?:version\s*=\s*)?['\"]([^'\"]+)['\"]", re.MULTILINE)


def needed(paths: Iterable[str], engine_module: str) -> tuple[str, ...]:
    """Which files of a tree must be read for its table."""
    listed = tuple(paths)
    if SERVER_ARGS in listed:
        return tuple(path for path in listed if is_scanned(path))
    package = f"{ROOT}{engine_module.partition('.')[0]}/"
    return tuple(path for path in listed if path.startswith(package) and path.endswith(".py"))


def extract(files: Mapping[str, bytes], engine_module: str) -> Upstream:
    """The table of a tree, of the files that `needed` names. It never raises: what cannot be read is in `unknown`."""
    return _sglang(files) if SERVER_ARGS in files else _other(files, engine_module)


def _sglang(files: Mapping[str, bytes]) -> Upstream:
    machine = Machine(files, ROOT, {ADDER: add_fields, COLLECTOR: _collected_elsewhere})
    module = machine.module("sglang.srt.server_args")
    record = module.names.get("ServerArgs") if module else None
    recorder = Recorder()
    adder = machine.member(record, "add_cli_args") if isinstance(record, Class) else None
    if adder is None:
        recorder.lost.append(f"{SERVER_ARGS}: ServerArgs.add_cli_args is not there")
    else:
        invoke(machine, adder, (recorder,), {}, SERVER_ARGS)
    flags, sentences = flags_of(machine, recorder.added)
    variables, unread = environment(machine, files)
    return Upstream(
        "sglang",
        version_of(files),
        _generation(machine, files, record),
        flags,
        variables,
        _registries(flags),
        tuple(dict.fromkeys([*machine.faults, *recorder.lost, *sentences, *unread])),
    )


def _collected_elsewhere(*_: object) -> Unknown:
    """The namespaces are put together by `fields_of`."""
    return Unknown("fields that are read from their own classes")


def _generation(machine: Machine, files: Mapping[str, bytes], record: object) -> Generation:
    if not isinstance(record, Class):
        return "none"
    if any(path.startswith(NAMESPACES) for path in files):
        return "namespaces"
    return "annotated" if is_annotated(machine, record) else "argparse"


def _registries(flags: Iterable[Flag]) -> dict[str, tuple[str, ...]]:
    """Those of the table; one that cannot be read is left out."""
    named = {flag.name: flag for flag in flags}
    found = {name: named[f"--{name}"] for name in REGISTRIES if f"--{name}" in named}
    return {name: flag.choices for name, flag in found.items() if flag.choices is not None}


def _other(files: Mapping[str, bytes], engine_module: str) -> Upstream:
    machine = Machine(files, ROOT)
    recorder = parser_of(machine, engine_module)
    flags, sentences = flags_of(machine, recorder.added)
    unknown = tuple(dict.fromkeys([*machine.faults, *recorder.lost, *sentences]))
    abbreviations = recorder.options.get("allow_abbrev") is not False
    engine = engine_module.partition(".")[0]
    generation: Generation = "argparse" if flags else "none"
    return Upstream(engine, None, generation, flags, unknown=unknown, abbreviations=abbreviations)


def version_of(files: Mapping[str, bytes]) -> str | None:
    """What the tree says of itself; None when it says nothing."""
    found = SAYS_VERSION.search(files.get(VERSION, b""))
    return found.group(1).decode("ascii", "replace") if found else None
