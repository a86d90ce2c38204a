"""Joins programs of `stackctl/onhost/` into one text, so that one call to a host carries all that it needs."""

from __future__ import annotations

from collections.abc import Mapping

PACKAGE = "stackctl.onhost"
# what each program imports of the others, in the order in which they must be there
NEEDS: Mapping[str, tuple[str, ...]] = {
    "environment": (),
    "look": ("procs",),
    "hold": ("procs",),
    "tree": ("procs",),
    "prune": ("procs",),
    "prepare": ("procs", "cards", "imports", "tree"),
    "gate": ("procs", "cards", "probe"),
}


def bundle(program: str, sources: Mapping[str, str]) -> str:
    """`sources`: name -> text, of the program and of all that it needs."""
    parts = [
        "import sys, types\n"
        # the folder that it starts in must not shadow the library
        "sys.path[:] = [path for path in sys.path if path]\n"
        "def _module(name, text):\n"
        "    module = sys.modules[name] = types.ModuleType(name)\n"
        "    exec(compile(text, name, 'exec'), module.__dict__)\n"
        f"    setattr(sys.modules.setdefault({PACKAGE!r}, types.ModuleType({PACKAGE!r})),"
        " name.rpartition('.')[2], module)\n"
    ]
    parts += [f"_module({f'{PACKAGE}.{name}'!r}, {sources[name]!r})\n" for name in NEEDS[program]]
    parts.append(f"exec(compile({sources[program]!r}, {program!r}, 'exec'))\n")
    return "".join(parts)
