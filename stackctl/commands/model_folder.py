"""Asks a host what a model's folder holds. Nothing is written there, unless whole files are hashed with a cache."""

from __future__ import annotations

import json

from stackctl.commands.site import Site
from stackctl.core.modeldir.manifest import Manifest, as_json
from stackctl.core.modeldir.read import model_dir
from stackctl.core.modeldir.values import ModelDir
from stackctl.core.render.launch import model_folder
from stackctl.core.stack.resolved import ResolvedStack
from stackctl.errors import StackctlError

LOOK = 300.0  # seconds; heads of shards on a slow network disk


def folder_of(stack: ResolvedStack) -> str:
    """Where the stack's model lies on a host: absolute, or below the stack's folder there when a recipe makes it."""
    made = model_folder(stack)
    return stack.model.path if made is None else f"models/{made}"


def inspect(site: Site, path: str | None = None) -> ModelDir:
    """The folder on that host; `path` None: the stack's. Raises StackctlError when the host cannot be asked."""
    said = site.ask("model", {"path": path or folder_of(site.stack)}, timeout=LOOK)
    try:
        return model_dir(said)
    except (KeyError, TypeError, ValueError) as error:
        raise StackctlError(f"{site.name}: cannot read what was said of the model ({error})") from error


def differences(site: Site, path: str, manifest: Manifest) -> tuple[str, ...]:
    """What is not as the manifest says, one sentence a file. Small files and heads of shards are read, no weights."""
    text = json.dumps(as_json(manifest)).encode()
    return tuple(site.ask("model", {"path": path, "manifest": "-"}, text, LOOK)["differences"])
