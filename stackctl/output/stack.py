"""How check, config, lock and render look on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from stackctl.core.names import SGLANG
from stackctl.output.console import Console
from stackctl.output.lint import counted, show_findings, show_ignored

if TYPE_CHECKING:  # who shows one verb's result needs no other verb
    from stackctl.commands.check import CheckResult
    from stackctl.commands.config import ConfigResult
    from stackctl.commands.lock import LockResult
    from stackctl.commands.render import RenderResult

SHOWN_OFFSETS = 10


def show_check(console: Console, result: CheckResult) -> None:
    """What would be deployed, then what to look at, and in the last line whether it may be."""
    console.print(f"{result.file}: stack {result.stack}" + (", as locked" if result.locked else ""))
    if result.variant:
        console.print(f"  variant    {result.variant}", style="yellow")
    console.print(f"  base       {result.base}")
    console.print(f"  base tree  {result.base_tree}")
    console.print(f"  tree       {result.tree}")
    for name, source in result.sources.items():
        console.print(f"  source     {name}: {source.base}")
        console.print(f"             tree {source.base_tree}, patched {source.tree}")
    console.print(f"  release    {result.release}")
    for number, line in enumerate(result.instances):
        console.print(f"  {'instances' if number == 0 else '':9}  {line}")
    _patches(console, result)
    _offsets(console, result)
    for key, verbs in result.unsupported.items():
        console.print(f"  {key}: accepted, but not done yet by {verbs}")
    show_findings(console, result.findings, sum(not line.startswith("router-") for line in result.instances))
    if console.verbose:
        show_ignored(console, result.ignored)
        for sentence in result.unread:
            console.print(f"not checked: {sentence}")
    _judged(console, result)


def _judged(console: Console, result: CheckResult) -> None:
    told = counted(result.findings, result.ignored)
    if result.exit == 0:
        console.print(f"{result.file}: sound" + (f" ({told})" if told else ""))
        return
    errors = any(one.severity == "error" for one in result.findings)
    why = "a deploy would refuse it" if errors else "refused by --strict"
    if result.variant:
        why = "a variant is deployed all the same" if errors else why  # what it leaves out is the point of it
    console.print(Text(f"{result.file}: {told}: {why}", style="bold red"))


def _patches(console: Console, result: CheckResult) -> None:
    console.print(f"  patches    {len(result.patches) or 'none'}")
    for patch in result.patches:
        console.print(
            f"    {patch.name}  +{patch.added} -{patch.removed} in {patch.files} file{'s'[: patch.files != 1]}"
            + (f" of {patch.source}" if patch.source != SGLANG else "")
        )
        if patch.needs:
            console.print(f"      needs {', '.join(patch.needs)}")
        if patch.carries:
            console.print(f"      without it these fall too: {', '.join(patch.carries)}")


def _offsets(console: Console, result: CheckResult) -> None:
    for offset in result.offsets[:SHOWN_OFFSETS]:
        lines = f"{offset.offset:+d} line{'s'[: abs(offset.offset) != 1]}"
        console.print(f"    offset: {offset.patch}, {offset.file}, hunk {offset.hunk}: {lines}, at {offset.at}")
    if len(result.offsets) > SHOWN_OFFSETS:
        console.print(f"    … and {len(result.offsets) - SHOWN_OFFSETS} more hunks with an offset")


def show_config(console: Console, result: ConfigResult) -> None:
    """A stack file on stdout, with where it came from in a comment."""
    variant = f", {result.variant}" if result.variant else ""
    console.raw(f"# stack {result.stack} of {result.file}, merged and resolved{variant}\n{result.text}")


def show_lock(console: Console, result: LockResult) -> None:
    if model := result.model:
        said = f"{model.files} files, {model.shards} shards, of {', '.join(model.hosts)}"
        console.print(f"{model.file}: {'written' if model.changed else 'unchanged'}, {said}")
        for line in model.differences:
            console.print(f"  {line}")
    console.print(f"{result.file}: {'written' if result.changed else 'unchanged'}, tree {result.tree}")
    for line in result.differences:
        console.print(f"  {line}")


def show_render(console: Console, result: RenderResult) -> None:
    variant = f" ({result.variant})" if result.variant else ""
    console.print(f"release {result.release} of stack {result.stack}{variant}, tree {result.tree}")
    for name in result.written:
        console.print(f"  {result.out.rstrip('/')}/{name}")
    for name in result.removed:
        console.print(f"  {result.out.rstrip('/')}/{name}  removed: this release has no such instance")
