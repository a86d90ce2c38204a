"""Lets the real sglang import on a machine without CUDA packages. For tests on a CPU; never for production.

On PYTHONPATH, so that the processes which sglang spawns have it too. It stands in for two things that PyPI has for
CUDA only, and that serving text on a CPU imports but never calls:

- torchvision: its compiled operators do not load beside a CPU build of torch; their schemas are declared instead;
- sgl_kernel: every function of it exists and raises, with its name, when it is called. A real one wins.

It replaces no computation, so it can neither hide nor prove anything about kernels.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
import types
from typing import Any

OPERATORS = ("nms", "qnms", "roi_align", "ps_roi_align", "roi_pool", "ps_roi_pool", "deform_conv2d")
OPERATORS += tuple(f"_{name}_backward" for name in OPERATORS[2:])
HAS_A_FALLBACK = "sgl_kernel.scalar_type"  # sglang has its own way when this one cannot be imported


class DeclareTorchvision(importlib.abc.MetaPathFinder):
    """Just before torchvision is looked for: the schemas of its operators, once."""

    libraries: list[Any] = []  # noqa: RUF012  a library forgets its schemas when it is collected

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name == "torchvision":
            sys.meta_path.remove(self)
            import torch

            library = torch.library.Library("torchvision", "DEF")
            for operator in OPERATORS:
                library.define(f"{operator}(Tensor x) -> Tensor")
            self.libraries.append(library)


class Absent(types.ModuleType):
    """A module of which everything can be imported and nothing can be called."""

    __path__: list[str] = []  # noqa: RUF012
    __version__ = "99.0.0"  # sglang compares it with the least that it needs

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)

        def missing(*args: object, **kwargs: object) -> None:
            raise NotImplementedError(f"{self.__name__}.{name} is not there: this is the CPU shim")

        missing.__name__ = name
        return missing


class StandInForKernels(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name: str, path: object = None, target: object = None) -> importlib.machinery.ModuleSpec | None:
        if name != HAS_A_FALLBACK and name.partition(".")[0] == "sgl_kernel":
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        return Absent(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        """Nothing to run."""


sys.meta_path.insert(0, DeclareTorchvision())
sys.meta_path.append(StandInForKernels())  # last: an installed sgl_kernel is found first
