"""Turns a release into shell scripts by templates, byte for byte the same every time.

Templates are strict: a variable that nobody gives is an error with its line. Every value passes the `sh` filter,
which refuses what a line of shell cannot hold.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import jinja2

from stackctl.core.deploy.values import Launch
from stackctl.core.names import ReleaseId, TreeId
from stackctl.core.render.launch import chat_template_file
from stackctl.core.stack.resolved import ResolvedStack
from stackctl.errors import StackctlError, Where

ENGINE_TEMPLATE = "serve-engine.sh.j2"
ROUTER_TEMPLATE = "serve-router.sh.j2"
MARK = "Rendered by stackctl"  # how a file is known again as one of ours


@dataclass(frozen=True)
class Press:
    """What scripts are made with, besides the stack: templates by name, and stackctl's own version for the header."""

    templates: Mapping[str, str]
    version: str
    paths: Mapping[str, str] = field(default_factory=dict)  # files that go beside the scripts, on PYTHONPATH
    sources: Mapping[str, TreeId] = field(default_factory=dict)  # patched trees of other sources


def serve_scripts(
    stack: ResolvedStack, tree: TreeId, release: ReleaseId, launches: Sequence[Launch], press: Press
) -> dict[str, str]:
    """File name -> text, in start order: one script an instance, and the chat template if the stack brings one."""
    scripts = {}
    for launch in launches:
        name = ROUTER_TEMPLATE if launch.role == "router" else ENGINE_TEMPLATE
        values = {
            "version": press.version,
            "stack": stack.name,
            "variant": str(stack.variant) or "as the stack file says",
            "instance": launch.instance,
            "host": launch.host,
            "tree": tree,
            "sources": dict(press.sources),
            "release": release,
            "python": stack.hosts[launch.host].python or "python3",
            "module": launch.argv[1],
            "arguments": list(_grouped((*launch.argv[2:], *_identity(launch, release)))),
            "env": dict(launch.env),
            "paths": sorted({file.partition("/")[0] for file in press.paths}),
        }
        scripts[f"serve-{launch.instance}.sh"] = render(name, press.templates[name], values)
    file, text = chat_template_file(stack), stack.serve.chat_template_text
    if file is not None and text is not None:
        scripts[file] = text
    return {**scripts, **press.paths}


def _identity(launch: Launch, release: ReleaseId) -> tuple[str, ...]:
    """Engines say in every answer which release they are; the router has no such flag."""
    return () if launch.role == "router" else ("--weight-version", release)


def render(name: str, source: str, values: Mapping[str, object]) -> str:
    """One template. Raises StackctlError with its file and line for a mistake in it."""
    file = f"templates/{name}"
    try:
        return _compiled(name, source, file).render(dict(values))
    except jinja2.TemplateSyntaxError as error:
        raise StackctlError(error.message or "wrong syntax", where=Where(file, error.lineno)) from error
    except jinja2.TemplateError as error:
        hint = f"known here: {', '.join(sorted(values))}" if isinstance(error, jinja2.UndefinedError) else None
        raise StackctlError(str(error.message), hint, Where(file, _line(error, file))) from error
    except (TypeError, ValueError, KeyError, ArithmeticError) as error:
        raise StackctlError(f"{type(error).__name__}: {error}", where=Where(file, _line(error, file))) from error


@lru_cache(maxsize=8)
def _compiled(name: str, source: str, file: str) -> jinja2.Template:
    """Of every engine the same one, and compiling costs more than all renderings."""
    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    environment.filters.update({"sh": sh, "comment": comment})
    code = environment.compile(source, name, file)
    return jinja2.Template.from_code(environment, code, environment.make_globals(None))


def sh(value: object) -> str:
    """One word of shell, quoted when it must be."""
    return shlex.quote(_one_line(value))


def comment(value: object) -> str:
    """Text of a comment, which ends with its line."""
    return _one_line(value)


def _one_line(value: object) -> str:
    if isinstance(value, jinja2.Undefined):
        str(value)  # raises, with the name
    text = str(value)
    if re.search(r"[\x00-\x08\x0a-\x1f\x7f]", text):
        raise ValueError(f"a value with a line end or control character: {text!r}")
    return text


def _grouped(words: Sequence[str]) -> Iterator[list[str]]:
    """Each flag with its values, so that a script has one flag a line."""
    group: list[str] = []
    for word in words:
        if word.startswith("--") and group:
            yield group
            group = []
        group.append(word)
    if group:
        yield group


def _line(error: BaseException, file: str) -> int | None:
    """The template's line, from the innermost frame that is the template."""
    line, trace = None, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == file:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line
