"""Asks a host what a model's folder holds, and judges it. Nothing is written there by any function of this module."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from stackctl.commands.site import Site, site_on
from stackctl.core.doctor.values import SEVERITIES, Evidence, Finding
from stackctl.core.modeldir.expected import expected_of
from stackctl.core.modeldir.findings import findings
from stackctl.core.modeldir.fit import Fit, fits
from stackctl.core.modeldir.fit import findings as fit_findings
from stackctl.core.modeldir.manifest import Manifest, as_json, parse
from stackctl.core.modeldir.read import model_dir
from stackctl.core.modeldir.sound import finding
from stackctl.core.modeldir.values import ModelDir
from stackctl.core.render.launch import model_folder
from stackctl.core.stack.resolved import HostSpec, Model, PathBase, ResolvedStack, Serve
from stackctl.errors import StackctlError
from stackctl.ports import Ports

ENGINE = "sglang."  # what is known of models is known of this one
LOOK = 300.0  # seconds; heads of shards on a slow network disk


@dataclass(frozen=True)
class Judged:
    """`differences`: from the stack's manifest; None when it has none. `findings`: worst first, with their host."""

    model: ModelDir
    findings: tuple[Finding, ...] = ()
    fits: tuple[Fit, ...] = ()
    differences: tuple[str, ...] | None = None


def folder_of(stack: ResolvedStack) -> str:
    """Where the stack's model lies on a host: as it says, or below its folder there when a recipe makes it."""
    made = model_folder(stack)
    return stack.model.path if made is None else f"~/.stackctl/{stack.name}/models/{made}"


def hub_of(stack: ResolvedStack) -> str | None:
    """Where its engines find what the hub's client fetched, when their environment says so."""
    for one in stack.engines:
        env = {**stack.hosts[one.host].env, **one.env}
        if cache := env.get("HF_HUB_CACHE") or (env["HF_HOME"] + "/hub" if env.get("HF_HOME") else None):
            return cache
    return None


def inspect(site: Site, path: str | None = None) -> ModelDir:
    """The folder on that host; `path` None: the stack's. Raises StackctlError when the host cannot be asked."""
    said = site.ask("model", {"path": path or folder_of(site.stack), "hub": hub_of(site.stack)}, timeout=LOOK)
    try:
        return model_dir(said)
    except (KeyError, TypeError, ValueError) as error:
        raise StackctlError(f"{site.name}: cannot read what was said of the model ({error})") from error


@contextmanager
def folder_here(ports: Ports, folder: str) -> Iterator[tuple[Site, ModelDir]]:
    """A folder of this machine, of no stack; and where it was looked at, to ask more."""
    path = folder if folder.startswith(("/", "~")) else f"{ports.files.cwd()}/{folder}"
    stack = ResolvedStack("model", "", "", PathBase(""), (), Model(path, ""), Serve(), (), None, None, {})
    with site_on(ports, stack, HostSpec("here", "local"), ports.who.python()) as site:
        yield site, inspect(site)


def differences(site: Site, path: str, manifest: Manifest) -> tuple[str, ...]:
    """What is not as the manifest says, one sentence a file. Small files and heads of shards are read, no weights."""
    text = json.dumps(as_json(manifest)).encode()
    return tuple(site.ask("model", {"path": path, "manifest": "-"}, text, LOOK)["differences"])


def judge(site: Site, memory: int | None = None) -> Judged:
    """The stack's model on that host: by itself, against the stack, its manifest, and the cards there.

    `memory`: bytes of one card, where somebody has looked; else what the stack says of the host. Raises as `inspect`.
    """
    stack, spec = site.stack, site.host.spec
    model = inspect(site)
    differ = None
    if stack.model.pins is not None and not model.problem:
        differ = differences(site, stack.model.path, parse(stack.model.pins))
    fit: tuple[Fit, ...] = ()
    found = [*_unlocked(stack, model, differ or ())]
    if stack.serve.module.startswith(ENGINE):
        engines = [one for one in stack.engines if one.host == spec.name]
        fit = fits(model, engines, {spec.name: memory or spec.gpu_memory})
        found += [*findings(model, expected_of(stack)), *fit_findings(fit)]
    else:
        found.append(_unread(stack))
    found.sort(key=lambda one: SEVERITIES.index(one.severity))
    return Judged(model, tuple(replace(one, host=site.name) for one in found), fit, differ)


def _unread(stack: ResolvedStack) -> Finding:
    message = f"{stack.serve.module} is not sglang: whether it reads this folder is not known, so nothing is compared"
    seen = Evidence(f"stackctl config {stack.name}", f"serve.module: {stack.serve.module}")
    return finding("MODEL-UNUSED", "info", message, [seen])


def _unlocked(stack: ResolvedStack, model: ModelDir, differ: tuple[str, ...]) -> Iterator[Finding]:
    for difference in differ:
        name = difference.partition(":")[0]
        seen = Evidence(f"sha256sum {model.path}/{name}", difference)
        hint = f"Put the right files there; or, if this model is meant: stackctl lock --model {stack.name}"
        yield finding("MODEL-MANIFEST", "error", f"not as the manifest says: {difference}", [seen], hint)
