"""A release: a stack loaded, composed and rendered. Every verb that serves or names one goes through here."""

from __future__ import annotations

import posixpath
from importlib.metadata import version

from stackctl.commands.gather import load
from stackctl.commands.selection import Selection
from stackctl.commands.tree import compose
from stackctl.core.deploy.values import Release
from stackctl.core.patches.values import PatchedTree
from stackctl.core.render.launch import launches
from stackctl.core.render.release_id import release_id
from stackctl.core.render.scripts import ENGINE_TEMPLATE, ROUTER_TEMPLATE, Press, serve_scripts
from stackctl.core.stack.resolved import ResolvedStack
from stackctl.errors import StackctlError
from stackctl.ports import Ports

MANIFEST = "model.json"  # beside the scripts: what the model's folder must hold
RECIPE = "make_model.py"  # beside the scripts


def release(ports: Ports, selection: Selection) -> Release:
    """Load, compose, render. Raises what those raise; nothing is written outside of the store."""
    return release_of(ports, *compose(ports, load(ports, selection)))


def release_of(ports: Ports, stack: ResolvedStack, tree: PatchedTree) -> Release:
    """A composed stack, named and rendered; the scripts carry the name."""
    started = launches(stack)
    paths = path_files(ports, stack)
    name = release_id(stack, tree.trees, started, paths)
    templates = {file: ports.templates.text(file, stack.workspace) for file in (ENGINE_TEMPLATE, ROUTER_TEMPLATE)}
    sources = {source: each.tree for source, each in tree.sources.items()}
    press = Press(templates, version("stackctl"), paths, sources)
    scripts = serve_scripts(stack, tree.tree, name, started, press)
    if stack.model.recipe is not None:
        scripts[RECIPE] = stack.model.recipe
    if stack.model.pins is not None:
        scripts[MANIFEST] = stack.model.pins.decode("utf-8")
    return Release(name, stack, tree, started, scripts)


def path_files(ports: Ports, stack: ResolvedStack) -> dict[str, str]:
    """Python files of `python.paths`, as they go beside the scripts: `path-0/sitecustomize.py` -> text."""
    found = {}
    for index, folder in enumerate(stack.python.paths if stack.python else ()):
        names = [name for name in ports.files.walk(folder) if name.endswith(".py")]
        if not names:
            raise StackctlError(
                f"{stack.file}: python.paths: {folder} holds no Python file", "Name a folder of modules."
            )
        for name in names:
            found[f"path-{index}/{name}"] = _text(ports, posixpath.join(folder, name))
    return found


def _text(ports: Ports, path: str) -> str:
    try:
        return ports.files.read(path).decode("utf-8")
    except UnicodeDecodeError as error:
        raise StackctlError(f"{path}: not UTF-8 text ({error})", "Save it as UTF-8.") from error
