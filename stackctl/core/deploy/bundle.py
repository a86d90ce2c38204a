"""Joins programs of `stackctl/onhost/` into one text, so that one call to a host carries all that it needs."""

from __future__ import annotations

from collections.abc import Mapping

PACKAGE = "stackctl.onhost"
# what each program imports of the others, directly or not
NEEDS: Mapping[str, tuple[str, ...]] = {
    "environment": (),
    "look": ("procs",),
    "hold": ("procs",),
    "tree": ("procs",),
    "prune": ("procs", "disk"),
    "tidy": ("procs", "disk", "environment"),
    "prepare": ("procs", "cards", "imports", "sockets", "tree", "bytecode"),
    "gate": ("procs", "cards", "probe", "segments", "model_files", "safetensors"),
    "evidence": ("procs", "probe", "masks"),
    "installation": (),
    "facts": (),
    "serving": ("probe", "masks", "doctor_run"),
    "doctor": ("procs", "sockets", "masks", "doctor_files", "doctor_procs", "doctor_run"),
    "model": ("safetensors", "model_files", "model_hashes"),
}
PREFACE = """\
import sys
from importlib.machinery import ModuleSpec
# the folder that this starts in must not shadow the library
sys.path[:] = [path for path in sys.path if path]
CARRIED = {carried!r}
class Carried:
    def find_spec(self, name, path=None, target=None):
        return ModuleSpec(name, self, is_package=not CARRIED[name]) if name in CARRIED else None
    def create_module(self, spec):
        return None
    def exec_module(self, module):
        exec(compile(CARRIED[module.__name__], module.__name__, 'exec'), module.__dict__)
# before all others: what is installed there under our name is another version
sys.meta_path.insert(0, Carried())
"""


def bundle(program: str, sources: Mapping[str, str]) -> str:
    """`sources`: name -> text, of the program and of all that it needs."""
    carried = {"stackctl": "", PACKAGE: ""} | {f"{PACKAGE}.{name}": sources[name] for name in NEEDS[program]}
    return PREFACE.format(carried=carried) + f"exec(compile({sources[program]!r}, {program!r}, 'exec'))\n"
