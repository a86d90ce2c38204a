"""`stackctl lint-command`: the linter on a launch command or a serve script from anywhere; and the stack that says it.

Nothing of the script is run. What cannot be known without running it is told, and nothing is said about it.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from stackctl.commands.gather import load
from stackctl.commands.hosts.folder import folder_here
from stackctl.commands.linting.ground import Read, ground
from stackctl.commands.queue.foreseen import foreseen
from stackctl.commands.selection import Selection
from stackctl.commands.workspace import shown
from stackctl.core.command import sources
from stackctl.core.command.findings import findings
from stackctl.core.command.launches import DIFFUSION, UNDERSTOOD, Launch, launches
from stackctl.core.command.script import commands
from stackctl.core.command.setup import Ground, Reading, readings
from stackctl.core.command.to_stack import Wish, to_stack
from stackctl.core.command.words import Simple, Text, Word
from stackctl.core.lint.catalogue import RULES
from stackctl.core.lint.model_name import card_of_hardware, model_of_name, model_of_words
from stackctl.core.lint.setup import Card, ModelView
from stackctl.core.lint.values import Finding
from stackctl.core.modeldir.view import view_of
from stackctl.core.names import TreeId
from stackctl.core.stack.model import NAME
from stackctl.core.stack.resolved import PathBase
from stackctl.core.stack.wording import SECRET_NAME, SECRET_VALUE
from stackctl.errors import InvalidFile, Problem, UsageError, Where
from stackctl.ports import Ports

COMMAND, STDIN = "command", "stdin"  # how messages name what is no file
ASSIGNMENT = re.compile(r"([A-Za-z_]\w*=)(.*)", re.DOTALL)


@dataclass(frozen=True)
class LintCommandRequest:
    """One of `words` (a command), `file`, and `text` (of stdin). `hosts`: NAME=address. `to_stack`: a file, or `-`."""

    words: tuple[str, ...] = ()
    file: str | None = None
    text: bytes | None = None
    base: str | None = None
    card: str | None = None
    model: str | None = None
    hosts: tuple[str, ...] = ()
    to_stack: str | None = None
    strict: bool = False


@dataclass(frozen=True)
class LaunchLine:
    """`role`: prefill, decode, single or router, with its number."""

    id: str
    module: str
    where: Where
    words: int


@dataclass(frozen=True)
class LintCommandResult:
    """`line`: the command as it was read, to point into; empty for a file. `unknown`: what nothing is said about.

    `stack`: the text of the stack file; `written`: where it is; `refused`: why there is none.
    """

    source: str
    base: str
    why: str
    tree: TreeId
    version: str | None
    card: Card | None
    models: tuple[ModelView, ...]
    launches: tuple[LaunchLine, ...]
    findings: tuple[Finding, ...]
    unknown: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    line: str = ""
    stack: str = ""
    written: str | None = None
    refused: tuple[Problem, ...] = ()
    strict: bool = False

    @property
    def engines(self) -> int:
        return sum(not one.id.startswith("router") for one in self.launches)

    @property
    def exit(self) -> int:
        """2 for errors (and warnings, when strict), 1 when the stack was refused, as check and init do."""
        bad = ("error", "warning") if self.strict else ("error",)
        if any(one.severity in bad for one in self.findings):
            return 2
        return 1 if self.refused else 0


def lint_command(ports: Ports, request: LintCommandRequest) -> LintCommandResult:
    """Raises InvalidFile for what cannot be read or holds no launch, UsageError for options that mean nothing."""
    card = _card(request.card)
    _refuse_target(ports, request.to_stack)
    source, line, simples = _source(ports, request)
    base = ground(ports, request.base)
    found = launches(simples, base.module)
    told = tuple(one for one in found if one.module != DIFFUSION)
    if not told:
        raise _nothing(source, found, [one.words[1].text for one in simples if _is_sourced(one)])
    read = readings(told, Ground(base.upstream, base.history, card, model_meant(ports, request.model)))
    result = LintCommandResult(
        source=source,
        base=base.told,
        why=base.why,
        tree=base.tree,
        version=base.upstream.version,
        card=card,
        models=tuple(one.whole.model for one in read),
        launches=tuple(_launch_lines(read)),
        findings=tuple(one for reading in read for one in findings(reading, RULES)),
        unknown=tuple(_unknown(read, found)),
        unread=base.upstream.unknown,
        line=hidden(line),
        strict=request.strict,
    )
    return result if request.to_stack is None else _with_stack(ports, request, result, read, base)


def _source(ports: Ports, request: LintCommandRequest) -> tuple[str, str, tuple[Simple, ...]]:
    """What messages call it, the command's line, and the simple commands in it."""
    given = [one for one in (request.words or None, request.file, request.text) if one is not None]
    if len(given) != 1:
        hint = "`-- COMMAND…`, a FILE, or - for stdin"
        raise UsageError("nothing to read" if not given else "a command and a file", hint)
    if request.words:
        line = request.words[0] if len(request.words) == 1 else as_line(request.words)
        return COMMAND, line, commands(Text(COMMAND, line))
    if request.text is not None:
        return STDIN, "", sources.read(STDIN, request.text)
    path = posixpath.normpath(posixpath.join(ports.files.cwd(), request.file or ""))
    name = shown(ports, path)
    if not ports.files.exists(path):
        raise UsageError(f"there is no file {name}", "a command is given behind `--`")
    if ports.files.is_dir(path):
        raise UsageError(f"{name} is a folder", "give one file of it")
    return name, "", sources.read(name, ports.files.read(path))


def as_line(words: Sequence[str]) -> str:
    """The command as a shell would take it; assignments before the program stay assignments."""
    line, before = list[str](), True
    for one in words:
        match = ASSIGNMENT.fullmatch(one) if before else None
        before = match is not None
        line.append(match[1] + shlex.quote(match[2]) if match and match[2] else one if match else shlex.quote(one))
    return " ".join(line)


def hidden(line: str) -> str:
    """The command with stars, as many, for what looks like a secret, or stands behind a name of one."""

    def value(match: re.Match[str]) -> str:
        return match[1] + match[2] + "*" * len(match[3]) if SECRET_NAME.search(match[1]) else match[0]

    line = re.sub(r"([A-Za-z_][\w-]*|--[\w-]+)([ =]+)((?!-)\S+)", value, line)
    return SECRET_VALUE.sub(lambda match: "*" * len(match[0]), line)


def _card(text: str | None) -> Card | None:
    card = card_of_hardware(text)
    if text is not None and card is None:
        raise UsageError(f"--card {text}: this names no one card", 'like "RTX PRO 6000", H200, or sm_120')
    return card


def model_meant(ports: Ports, text: str | None) -> ModelView | None:
    """A folder of this machine is looked into; anything else is a name, or words."""
    if text is None:
        return None
    if ports.files.is_dir(posixpath.join(ports.files.cwd(), text)):
        with folder_here(ports, text) as (_, found):
            return view_of(found)
    view = model_of_name(text)
    return view if view.family or " " not in text else model_of_words(text)


def _is_sourced(one: Simple) -> bool:
    return len(one.words) > 1 and one.words[0].text in ("source", ".")


def _nothing(source: str, found: Sequence[Launch], sourced: Sequence[str]) -> InvalidFile:
    """`sourced`: files that it reads itself, and this command does not."""
    kinds = "a shell script, docker run, compose or Kubernetes YAML, a systemd unit, a Dockerfile, a README"
    hint = f"understood: {', '.join(UNDERSTOOD)}; in {kinds}"
    if sourced:
        hint = f"it sources {', '.join(sourced)}, which was not read: give the file that holds the launch"
    if found:
        message = "starts a diffusion server, which has other flags than the ones that are known here"
        return InvalidFile([Problem(message, found[0].where)])
    return InvalidFile([Problem("no launch of sglang in it", Where(source), hint=hint)])


def _launch_lines(read: Sequence[Reading]) -> list[LaunchLine]:
    lines = [
        LaunchLine(name, launch.module, launch.where, len(launch.args))
        for reading in read
        for name, launch in reading.launches.items()
    ]
    return sorted(lines, key=lambda one: (one.where.line or 0, one.where.column or 0, one.id))


def _unknown(read: Sequence[Reading], found: Sequence[Launch]) -> list[str]:
    """One sentence for each thing that nothing is said about."""
    told: dict[str, None] = {}
    for reading in read:
        for one in reading.unknown:
            told[f"{one.where}: {' '.join(one.unknown)} is not known without running it"] = None
        for name in sorted(reading.open_env):
            told[f"{name}: a file that was not read may set more variables"] = None
        for launch in reading.launches.values():
            maybe = [one for one in launch.args if one.maybe]
            if maybe:
                told[f"{maybe[0].where}: only under a condition: {_some(maybe)}"] = None
    for launch in found:
        if launch.module == DIFFUSION:
            told[f"{launch.where}: a diffusion server: it has other flags, nothing is said about it"] = None
    return list(told)


def _some(words: Sequence[Word]) -> str:
    texts = [one.text for one in words]
    return " ".join(texts[:6]) + (" …" if len(texts) > 6 else "")


def _refuse_target(ports: Ports, target: str | None) -> None:
    """Nothing that is there is overwritten: it may be the very script that was given."""
    if target in (None, "-"):
        return
    path = posixpath.normpath(posixpath.join(ports.files.cwd(), target or ""))
    if ports.files.exists(path):
        hint = f"choose another name; to read {target}, put it before --to-stack"
        raise UsageError(f"--to-stack {target}: there is such a file already", hint)
    if not path.endswith((".yaml", ".yml")):
        raise UsageError(f"--to-stack {target}: a stack file ends in .yaml", "like stacks/main.yaml, or - to print it")
    _named(posixpath.basename(path))


def _named(file: str) -> str:
    name = posixpath.splitext(file)[0]
    if re.fullmatch(NAME, name) is None:
        raise UsageError(f"a stack cannot be called {name!r}", "small letters, digits, `.`, `_` and `-`")
    return name


def _with_stack(
    ports: Ports, request: LintCommandRequest, result: LintCommandResult, read: Sequence[Reading], base: Read
) -> LintCommandResult:
    target = request.to_stack or "-"
    name = "main" if target == "-" else _named(posixpath.basename(target))
    hosts = _hosts(request.hosts)
    if isinstance(base.base, PathBase) and not ports.files.is_dir(f"{base.base.path}/python/sglang"):
        hint = "name the folder above python/, or a release"
        raise UsageError(f"--base {request.base}: a stack's base has its package at python/sglang", hint)
    wish = Wish(name, result.source, base.base, base.patches, hosts, _templates(ports, read))
    made = to_stack(read, wish)
    path = posixpath.normpath(posixpath.join(ports.files.cwd(), "stacks/main.yaml" if target == "-" else target))
    problems = made.problems or _unsound(ports, path, made.text)
    if problems:
        return replace(result, refused=tuple(problems))
    if target != "-":
        ports.files.write(path, made.text.encode())
        return replace(result, stack=made.text, written=shown(ports, path))
    return replace(result, stack=made.text)


def _unsound(ports: Ports, path: str, text: str) -> tuple[Problem, ...]:
    """What `check` would refuse in the file, before it is written: two engines of one port, a card that two take."""
    try:
        load(foreseen(ports, {path: text.encode()})[0], Selection(path))
    except InvalidFile as error:
        return tuple(replace(problem, where=None) for problem in error.problems)
    return ()


def _hosts(given: Sequence[str]) -> Mapping[str, str]:
    hosts: dict[str, str] = {}
    for one in given:
        name, equals, address = one.partition("=")
        if not equals or re.fullmatch(NAME, name) is None or not address:
            raise UsageError(f"--host {one}: expected NAME=address", "like gpu1=ops@gpu1.example")
        hosts[name] = address
    return hosts


def _templates(ports: Ports, read: Sequence[Reading]) -> dict[str, str]:
    """Chat templates that are files here."""
    words = {
        value
        for reading in read
        for process in reading.sure.processes
        if (option := process.given("chat-template")) is not None
        for value in option.values
    }
    paths = {word: posixpath.normpath(posixpath.join(ports.files.cwd(), word)) for word in words}
    return {word: path for word, path in paths.items() if ports.files.exists(path) and not ports.files.is_dir(path)}
