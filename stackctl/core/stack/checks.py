"""Rules that need more than one key: all mistakes at once, each at the place of the key that has to change.

Who runs where is in layout.py, what flags and variables may be called in wording.py. What a flag means to sglang is
no business of this module.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from stackctl.core.lint.known.prompt import missing_template
from stackctl.core.modeldir.manifest import parse
from stackctl.core.names import SGLANG
from stackctl.core.patches.names import patch_name_fault
from stackctl.core.stack import layout, wording
from stackctl.core.stack.merge import did_you_mean, dotted
from stackctl.core.stack.model import BaseKeys, ModelKeys
from stackctl.core.stack.resolve import MISSING, Found, Wanted
from stackctl.core.stack.source import Path, in_order
from stackctl.core.stack.view import View
from stackctl.errors import Problem

BISECT_VERBS = ("status", "log", "undo", "report")  # `stackctl bisect status` must stay a verb
KNOWN_BAD = "known-bad/"  # patches that are wrong on purpose


def problems(view: View, wanted: Iterable[Wanted], found: Found, pruned: Iterable[Path]) -> list[Problem]:
    """Every mistake, in the order of the file, without those that only follow from a key already refused."""
    rules = (_identity, _base, _patches, _references, _marked, _production)
    layout_rules = (layout.roles, layout.hosts, layout.machines, layout.cards, layout.ports)
    told = [problem for rule in rules + layout_rules for problem in rule(view)]
    for instance in view.stack.instances:
        told += wording.instance(view.merged, view.stack, instance, view.place(instance))
    told += wording.secrets(view.merged)
    spoken = {problem.key for problem in told}
    missing = [one for one in wanted if one.path in found.faults and dotted(one.key) not in spoken]
    told += [_fault(view, one, found) for one in missing]
    gone = [dotted(path) for path in pruned]
    return in_order({p: None for p in told if not any(_follows(p.key or "", path) for path in gone)})


def _follows(key: str, pruned: str) -> bool:
    """Whether a problem of `key` may be there only because `pruned` was taken out."""
    return key == pruned or pruned.startswith(key + ".") or key.startswith(pruned + ".") or not pruned


def _fault(view: View, one: Wanted, found: Found) -> Problem:
    hint = None
    fault = found.faults[one.path]
    if one.what == "patch" and fault == MISSING:
        name = view.keys.patches[int(one.key[-1])]
        hint = did_you_mean(name, found.patches) or "`patches` holds names: patches/NAME.patch of the workspace"
    elif one.what == "chat template" and fault == MISSING:
        hint = missing_template(view.keys.serve.chat_template, view.keys.serve.tool_call_parser)
    return view.problem(one.key, f"{one.what} {_near(view, one.path)}: {fault}", hint)


def _near(view: View, path: str) -> str:
    """From the workspace, when it lies there."""
    return path.removeprefix(view.site.workspace.rstrip("/") + "/")


def _identity(view: View) -> Iterator[Problem]:
    name = view.stack.name
    if name != view.site.stem:
        message = f"the stack is called `{name}`, its file `{view.site.stem}`"
        yield view.problem(("stack",), message, "one name for both, or leave `stack` out")
    if name in BISECT_VERBS:
        yield view.problem(("stack",), f"`{name}` is a verb of `stackctl bisect`", "call the stack something else")


def _base(view: View) -> Iterator[Problem]:
    if view.keys.base is None:
        yield view.problem(("base",), "is missing", "one of pypi, git, path, with its pin")
    else:
        yield from _one_base(view, ("base",), view.keys.base)
    for name, spec in view.keys.sources.items():
        if name == SGLANG:
            yield view.problem(("sources", name), f"`{SGLANG}` is the source that `base` pins", "take it out")
        yield from _one_base(view, ("sources", name), spec)
    if view.keys.model is None:
        yield view.problem(("model",), "is missing", "model: {path: …, name: …}")
    elif ":" in view.keys.model.name:
        yield view.problem(("model", "name"), "a colon in the served name stops sglang at its start")
    elif (view.keys.model.path is None) == (view.keys.model.make is None):
        yield view.problem(
            ("model",), "takes exactly one of: path, make", "path: a folder on the hosts; make: a recipe"
        )
    elif (view.keys.model.path or "").startswith("~"):
        yield view.problem(("model", "path"), "`~` means another folder on every host", "write the whole path")
    if view.keys.model:
        yield from _pinned_model(view, view.keys.model)


def _pinned_model(view: View, model: ModelKeys) -> Iterator[Problem]:
    for key in ("repo", "revision", "manifest"):
        if model.make is not None and getattr(model, key) is not None:
            yield view.problem(("model", key), "a model that a recipe makes is named by its recipe", "take it out")
    if model.manifest is not None and not view.stack.model.path.startswith("/") and model.make is None:
        hint = "a manifest is of a folder: write its whole path"
        yield view.problem(("model", "manifest"), f"`{model.path}` is no folder of the hosts", hint)
    if model.revision is not None and model.repo is None:
        yield view.problem(("model", "revision"), "of which repository?", "say model.repo: OWNER/NAME too")
    if view.stack.model.pins is not None:
        try:
            parse(view.stack.model.pins)
        except ValueError as error:
            hint = "`stackctl lock --model` writes it anew"
            yield view.problem(("model", "manifest"), f"{_near(view, view.stack.model.manifest or '')}: {error}", hint)


def _one_base(view: View, path: Path, spec: BaseKeys) -> Iterator[Problem]:
    kinds = [kind for kind in ("pypi", "git", "path") if getattr(spec, kind)]
    if len(kinds) != 1:
        given = f", got {' and '.join(kinds)}" if kinds else ""
        hint = "`extends` merges maps: write `pypi: null` to take an inherited one away" if kinds else None
        yield view.problem(path, f"expected exactly one of pypi, git, path{given}", hint)
        return
    needs = {"pypi": {"sha256"}, "git": {"commit"}, "path": set[str]()}[kinds[0]]
    allowed = {"pypi": {"sha256"}, "git": {"commit", "ref"}, "path": {"commit"}}[kinds[0]]
    for key in sorted(needs):
        if getattr(spec, key) is None:
            yield view.problem((*path, key), f"is missing: `{kinds[0]}` is pinned by it")
    for key in ("sha256", "commit", "ref"):
        if getattr(spec, key) is not None and key not in allowed:
            hint = f"`{key}: null` drops an inherited one"
            yield view.problem((*path, key), f"means nothing beside `{kinds[0]}`", hint)
    if spec.pypi and "==" not in spec.pypi:
        yield view.problem((*path, "pypi"), "expected one version, like sglang==0.5.15")
    for key in ("git", "ref"):
        if (getattr(spec, key) or "").startswith("-"):
            yield view.problem((*path, key), "may not begin with `-`")


def _patches(view: View) -> Iterator[Problem]:
    first: dict[str, int] = {}
    for index, name in enumerate(view.keys.patches):
        path: Path = ("patches", index)
        if name.endswith(".patch"):
            right = name.removesuffix(".patch").removeprefix("patches/")
            yield view.problem(path, f"`{name}` is a file", f"write its name: `{right}`")
        elif fault := patch_name_fault(name):
            yield view.problem(path, f"`{name}` is no name of a patch: it {fault}", "write topic/name, as of a file")
        if name.casefold() in first:
            there = first[name.casefold()]
            line, other = view.merged.where(("patches", there)).line, view.keys.patches[there]
            if name == other:
                yield view.problem(path, f"patch `{name}` is given twice, first in line {line}")
            else:
                message = f"`{name}` and `{other}` of line {line} are one file where case does not count"
                yield view.problem(path, message, "rename one of the two")
        first.setdefault(name.casefold(), index)


def _references(view: View) -> Iterator[Problem]:
    """Names of tests, hosts, flags that one part uses and another must have."""
    keys = view.keys
    for user, name in (("gate", keys.gate.test), ("bisect", keys.bisect.test)):
        if name is not None and name not in keys.tests:
            yield view.problem((user, "test"), f"no test is called `{name}`", did_you_mean(name, keys.tests))
    for name, test in keys.tests.items():
        if (test.kind == "command") != (test.run is not None):
            message = "is missing: a test of kind `command` runs it"
            yield view.problem(("tests", name, "run"), "is for kind `command` only" if test.run else message)
        if test.bursts.min > test.bursts.max:
            yield view.problem(("tests", name, "bursts"), f"min {test.bursts.min} is above max {test.bursts.max}")
    for old, new in keys.bisect.on.items():
        for host in (old, new):
            if host not in keys.hosts:
                yield view.problem(("bisect", "on", old), f"no host is called `{host}`", did_you_mean(host, keys.hosts))
    if keys.bisect.on and keys.bisect.take_over:
        yield view.problem(("bisect", "take_over"), "either `on` (another machine) or `take_over` (this one)")


def _marked(view: View) -> Iterator[Problem]:
    """What bisect.elements marks must be there to be left out."""
    stack, marked = view.stack, view.stack.bisect
    flags = {name for i in stack.instances for name in (*i.flags, *(f"{i.role}/{flag}" for flag in i.flags))}
    env = {name for i in stack.instances for name in (*i.env, *(f"{i.role}/{variable}" for variable in i.env))}
    flip = {name for name in marked.flip if name in flags}
    for kind, names, known in (
        ("patches", marked.patches, set(stack.patches)),
        ("flags", marked.flags, flags),
        ("env", marked.env, env),
    ):
        for name in names if isinstance(names, tuple) else ():
            if name not in known:
                path: Path = ("bisect", "elements", kind)
                yield view.problem(path, f"the stack has no `{name}` to leave out", did_you_mean(name, known))
    for name in sorted(flip):
        yield view.problem(("bisect", "flip", name), "the stack sets this flag already: it is an element as it is")


def _production(view: View) -> Iterator[Problem]:
    serving = {i.host for i in view.stack.instances}
    names = [n for n in sorted(serving) if n in view.stack.hosts and view.stack.hosts[n].purpose == "production"]
    if not names:
        return
    where = f"{names[0]} is a production host"
    for index, name in enumerate(view.keys.patches):
        if name.startswith(KNOWN_BAD):
            yield view.problem(("patches", index), f"{where}: a known-bad patch does not go there")
    if view.keys.python and view.keys.python.paths:
        yield view.problem(("python", "paths"), f"{where}: shims do not go there")
    if view.keys.model and view.keys.model.make:
        yield view.problem(("model", "make"), f"{where}: a made-up model does not go there")
