"""The stack file that says what launch commands say: what stackctl makes itself becomes keys, the rest flags and env.

It refuses, all reasons at once, what a stack cannot say: values that are not known, words under conditions that are no
default, engines without their other half. What it has to add (a router's port, a name) it marks with a comment.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from stackctl.core.command.launches import Launch
from stackctl.core.command.said import Said, Value, said
from stackctl.core.command.setup import Reading
from stackctl.core.stack.edit import scalar
from stackctl.core.stack.editor import MODELINE
from stackctl.core.stack.resolved import Base, GitBase, PathBase, PypiBase
from stackctl.errors import Problem, Where

SHARED = {"tool-call-parser": "tool_call_parser", "reasoning-parser": "reasoning_parser"}
BOOTSTRAP = 8998
INTEGER = re.compile(r"0|-?[1-9][0-9]{0,17}")


@dataclass(frozen=True)
class Wish:
    """`name`: of the stack. `source`: as the comment names it. `hosts`: NAME -> address, in order; empty: this machine.

    `templates`: files that chat templates may be, by the words of the command.
    """

    name: str
    source: str
    base: Base
    patches: tuple[str, ...] = ()
    hosts: Mapping[str, str] = field(default_factory=dict)
    templates: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Made:
    """The text of the file, or why there is none."""

    text: str
    problems: tuple[Problem, ...] = ()


def to_stack(found: Sequence[Reading], wish: Wish) -> Made:
    """One deployment of a file as a stack file."""
    problems = list(_several(found))
    if problems:
        return Made("", tuple(problems))
    writer = _Writer(found[0], wish)
    text = writer.text()
    return Made("" if writer.problems else text, tuple(writer.problems))


def _several(found: Sequence[Reading]) -> Iterator[Problem]:
    if len(found) > 1:
        for reading in found[1:]:
            launch = next(iter(reading.launches.values()))
            message = f"a second deployment: a stack holds one, and the file begins {len(found)}"
            yield Problem(message, launch.where, hint="give a file, or the command, of one of them")
        return
    roles = [process.role for process in found[0].whole.processes]
    where = next(iter(found[0].launches.values())).where
    if "prefill" in roles and "decode" not in roles:
        yield Problem("prefill without decode: a stack has both", where, hint="give the file that starts both")
    if "decode" in roles and "prefill" not in roles:
        yield Problem("decode without prefill: a stack has both", where, hint="give the file that starts both")
    if set(roles) == {"router"}:
        yield Problem("a router without engines: a stack has both", where, hint="give the file that starts the engines")
    if roles.count("router") > 1:
        yield Problem("a second router: a stack has one", where)


def _undecoded(launch: Launch) -> Iterator[Problem]:
    """Values with a byte that is no UTF-8: what was read is not what the script passes on."""
    for one in (*launch.args, *launch.env.values()):
        if "\N{REPLACEMENT CHARACTER}" in one.text:
            yield Problem(f"{one.text} holds a byte that is no UTF-8", one.where, hint="write the file as UTF-8")


class _Writer:
    def __init__(self, reading: Reading, wish: Wish) -> None:
        self.problems: list[Problem] = []
        self._reading, self._wish = reading, wish
        self._secrets: set[str] = set()
        self._hosts = dict(wish.hosts)
        self._roles = [said(one, reading.launches[one.id], reading.words[one.id]) for one in reading.sure.processes]
        for one in self._roles:
            self.problems += one.problems
            self.problems += _undecoded(one.launch)
            self._secrets |= one.secrets
            one.host = self._host(one.launch)
        self._engines = [one for one in self._roles if one.process.role != "router"]
        self._router = next((one for one in self._roles if one.process.role == "router"), None)

    def _problem(self, message: str, where: Where | None, hint: str | None = None) -> None:
        self.problems.append(Problem(message, where, hint=hint))

    def _host(self, launch: Launch) -> str:
        """Its machine's name; without one the first that the user gave, else this machine."""
        if launch.machine:
            name = re.sub(r"[^a-z0-9._-]", "-", launch.machine.lower())
            self._hosts.setdefault(name, launch.machine)
            return name
        if launch.played:
            if launch.played not in self._hosts:
                hint = f"give --host {launch.played}=ADDRESS for each role"
                self._problem(f"the script becomes {launch.played} on a machine of its own", launch.where, hint)
            return launch.played
        if not self._hosts:
            self._hosts["local"] = "local"
        return next(iter(self._hosts))

    def text(self) -> str:
        wish = self._wish
        lines = [
            MODELINE,
            f"# What {wish.source} says, as a stack. `stackctl check {wish.name}` validates and lints it.",
            *self._remarks(),
            "",
            f"stack: {wish.name}",
            f"base: {{{', '.join(f'{key}: {_text(value)}' for key, value in _pin(wish.base))}}}",
            f"patches: [{', '.join(map(_text, wish.patches))}]                          # patches/NAME.patch, in order",
            "",
            *self._model(),
            "",
            *self._serve(),
            "",
            *self._roles_text(),
            "",
            *self._hosts_text(),
        ]
        if self._secrets:
            lines += ["", f"secrets: [{', '.join(sorted(self._secrets))}]     # values from the environment, or a file"]
        return "\n".join(lines) + "\n"

    def _remarks(self) -> Iterator[str]:
        binds = sorted({one.keys["host"] for one in self._roles if "host" in one.keys})
        if binds:
            yield f"# The command binds to {', '.join(binds)}; a stack binds as its hosts' addresses ask for."
        for one in self._roles:
            if one.left_out:
                yield f"# Left out of {one.process.id}: {_one_line(' '.join(one.left_out))}"
            if one.launch.container is not None:
                yield f"# {one.process.id} ran in a container; here it is a process of the machine."

    def _model(self) -> Iterator[str]:
        paths = list(dict.fromkeys(one.keys.get("model-path") or one.keys.get("model", "") for one in self._engines))
        names = list(dict.fromkeys(one.keys.get("served-model-name") or paths[0] for one in self._engines))
        where = self._engines[0].launch.where
        if len(paths) > 1 or len(names) > 1:
            for what, several in (("models", paths), ("served names", names)):
                if len(several) > 1:
                    self._problem(f"two {what}: {' and '.join(several)}; a stack serves one", where)
        if not paths[0]:
            self._problem("no --model-path: a stack needs the model", where)
        yield "model:"
        yield f"  path: {_text(paths[0])}"
        named = any("served-model-name" in one.keys for one in self._engines)
        remark = "" if named else "    # sglang's default: the path; clients ask for it"
        yield f"  name: {_text(names[0])}{remark}"

    def _serve(self) -> Iterator[str]:
        yield "serve:"
        for flag, key in SHARED.items():
            if (value := self._agreed(flag)) is not None:
                yield f"  {key}: {_text(value)}"
        template = self._agreed("chat-template")
        if template is not None and template in self._wish.templates:
            yield f"  chat_template: {_text(self._wish.templates[template])}"
        elif template is not None:
            hint = "run it where the file is: a stack brings its template along"
            self._problem(
                f"--chat-template {template}: there is no such file here", self._engines[0].launch.where, hint
            )
        flags, env = self._common()
        yield from _block("flags", flags, "  ", "what all engines share")
        yield from _block("env", env, "  ", "")
        if not (flags or env or template or any(one.keys.keys() & SHARED for one in self._engines)):
            yield "  flags: {}"

    def _agreed(self, flag: str) -> str | None:
        """The value of a flag that a stack has once for all engines."""
        values = list(dict.fromkeys(one.keys.get(flag) for one in self._engines))
        if len(values) > 1:
            told = " and ".join(str(one) if one else "none" for one in values)
            self._problem(f"engines differ in --{flag}: {told}; a stack has one", self._engines[0].launch.where)
        return values[0]

    def _common(self) -> tuple[dict[str, Value], dict[str, str]]:
        """What every engine has, taken out of each; of a single engine all of it."""
        first = self._engines[0]
        flags = {k: v for k, v in first.flags.items() if all(one.flags.get(k) == v for one in self._engines)}
        env = {k: v for k, v in first.env.items() if all(one.env.get(k) == v for one in self._engines)}
        for one in self._engines:
            one.flags = {k: v for k, v in one.flags.items() if k not in flags}
            one.env = {k: v for k, v in one.env.items() if k not in env}
        return flags, env

    def _roles_text(self) -> Iterator[str]:
        yield "roles:"
        for role in ("prefill", "decode", "single"):
            group = [one for one in self._engines if one.process.role == role]
            if not group:
                continue
            yield f"  {role}:"
            for one in group:
                lines = list(self._engine(one))
                many = len(group) > 1
                yield from (
                    ("    - " if many and n == 0 else "      " if many else "    ") + line
                    for n, line in enumerate(lines)
                )
        if self._router is not None or len(self._engines) > 1:
            yield "  router:"
            yield from ("    " + line for line in self._router_text())

    def _engine(self, one: Said) -> Iterator[str]:
        yield f"host: {one.host}"
        yield f"port: {one.port}" + ("" if "port" in one.keys else "                      # sglang's default")
        if one.gpus:
            yield f"gpus: [{', '.join(map(str, one.gpus))}]"
        if one.process.role == "prefill":
            yield f"bootstrap_port: {one.number('disaggregation-bootstrap-port', BOOTSTRAP)}"
        yield from _block("flags", one.flags, "", "")
        yield from _block("env", one.env, "", "")

    def _router_text(self) -> Iterator[str]:
        router = self._router
        if router is None:
            port = max(one.port for one in self._engines) + 1000
            yield f"host: {self._engines[0].host}"
            yield f"port: {port}                      # of no command: two engines need a router in front"
            return
        told = [int(port) for port in re.findall(r":(\d{1,5})\b", " ".join(router.keys.values()))]
        strangers = sorted(set(told) - {one.port for one in self._engines})
        if strangers:
            ports = ", ".join(map(str, strangers))
            self._problem(f"the router is told of port {ports}, and no engine here has it", router.launch.where)
        yield f"host: {router.host}"
        yield f"port: {router.port}"
        yield from _block("flags", router.flags, "", "")
        yield from _block("env", router.env, "", "")

    def _hosts_text(self) -> Iterator[str]:
        yield "hosts:"
        used = {one.host for one in self._roles}
        for name, address in self._hosts.items():
            if name in used:
                python = next((p for one in self._roles if one.host == name and (p := _interpreter(one.launch))), None)
                yield f"  {name}:"
                yield f"    address: {_text(address)}"
                yield "    purpose: test                    # or production: then a deploy asks"
                if python or address != "local":
                    remark = "" if python else "     # a guess: an interpreter there that has sglang"
                    yield f"    python: {_text(python or '/usr/bin/python3')}{remark}"
                yield from self._gpus(name)

    def _gpus(self, host: str) -> Iterator[str]:
        cards = [one.process.card for one in self._engines if one.host == host and one.process.card is not None]
        highest = max((card for one in self._engines if one.host == host for card in one.process.gpus), default=-1)
        if not cards or not cards[0].arch:
            return
        count = max(cards[0].count or 0, highest + 1)
        if count:
            memory = f", memory: {cards[0].memory >> 30}GiB" if cards[0].memory else ""
            yield f"    gpus: {{count: {count}, arch: {cards[0].arch}{memory}}}    # as many as the commands take"


def _pin(base: Base) -> Iterator[tuple[str, str]]:
    match base:
        case PypiBase(requirement, digest):
            yield from (("pypi", requirement), ("sha256", digest))
        case GitBase(url, ref, commit):
            yield from (("git", url), ("ref", ref), ("commit", commit))
        case PathBase(path, commit):
            yield "path", path
            if commit:
                yield "commit", commit


def _interpreter(launch: Launch) -> str | None:
    """The absolute path of the Python that the command starts, outside of containers."""
    text = launch.program.text
    known = launch.container is None and not launch.program.unknown and text.startswith("/")
    return text if known and posixpath.basename(text).startswith("python") else None


def _block(key: str, values: Mapping[str, Value] | Mapping[str, str], indent: str, remark: str) -> Iterator[str]:
    if not values:
        return
    yield f"{indent}{key}:" + (f"                             # {remark}" if remark else "")
    for name, value in sorted(values.items()):
        yield f"{indent}  {name}: {_value(value)}"


def _value(value: Value) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_text, value))}]"
    return "true" if value is True else _text(str(value))


def _text(value: str) -> str:
    """As YAML gives it back: a whole number as it is, text in quotes where it would be anything else."""
    if INTEGER.fullmatch(value):
        return value
    return json.dumps(value, ensure_ascii=False) if re.search(r"[\n\t]", value) else scalar(value)


def _one_line(text: str) -> str:
    return re.sub(r"[\x00-\x1f\x7f]+", " ", text)
