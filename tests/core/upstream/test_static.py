"""Names of somebody else's source: through imports, operators, loops and small functions, or Unknown with a reason."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stackctl.core.upstream.static.machine import Machine
from stackctl.core.upstream.static.values import External, Unknown, unknown_in
from tests.core.upstream.sources import value

KNOWN = {
    "a sum of lists": ("A + ['c']", "A = ['a', 'b']", ["a", "b", "c"]),
    "spread out": ("[*A, 'c']", "A = ('a', 'b')", ["a", "b", "c"]),
    "a union of sets": ("list({'a'} | {'b', 'a'})", "", ["a", "b"]),
    "a difference of sets": ("sorted({'a', 'b'} - {'a'})", "", ["b"]),
    "keys": ("list(M.keys())", "M = {'x': 1, 'y': 2}", ["x", "y"]),
    "keys of merged mappings": ("list({**M, 'z': 3})", "M = {'x': 1}", ["x", "z"]),
    "an update": ("list(M)", "M = {'x': 1}\nM.update({'y': 2})", ["x", "y"]),
    "an assigned key": ("list(M)", "M = {}\nM['x'] = 1", ["x"]),
    "append and extend": ("A", "A = ['a']\nA.append('b')\nA.extend(['c'])", ["a", "b", "c"]),
    "+= in place": ("B", "A = ['a']\nB = A\nA += ['b']", ["a", "b"]),
    "an alias sees the change": ("B", "A = ['a']\nB = A\nA.append('b')", ["a", "b"]),
    "a loop": ("A", "A = []\nfor x in ('p', 'q'):\n    A.append(f'--{x}')", ["--p", "--q"]),
    "a comprehension": ("[x.lower() for x in A if x != 'B']", "A = ['A', 'B']", ["a"]),
    "members of an enum": ("[m.name.lower() for m in E]", "import enum\nclass E(enum.IntEnum):\n    ON = 1", ["on"]),
    "values of an enum": ("[m.value for m in E]", "from enum import Enum\nclass E(str, Enum):\n    A = 'a'", ["a"]),
    "constants of a class": ("C.ALL", "class C:\n    A = 'a'\n    ALL = (A, 'b')", ("a", "b")),
    "a small function": ("f('x')", "def f(a, b='y'):\n    if a:\n        return [a, b]\n    return []", ["x", "y"]),
    "a bound method": ("A", "A = ['a']\nadd = A.extend\nadd(['b'])", ["a", "b"]),
    "a first element": ("A[0]", "A = ['a', 'b']", "a"),
    "a slice": ("A[1:]", "A = ['a', 'b']", ["b"]),
    "arithmetic": ("10 * 1000 * 1000", "", 10_000_000),
    "a condition that is known": ("A", "A = ['a']\nif 1 < 2:\n    A.append('b')\nelse:\n    A.append('c')", ["a", "b"]),
    "no variable is set": ("A", "import os\nA = ['a']\nif os.environ.get('X'):\n    A.append('b')", ["a"]),
    "a switch that is off": ("A", "A = ['a']\nif get_bool_env_var('X'):\n    A.append('b')", ["a"]),
    "a variable with a default": ("os.getenv('X', 'd')", "import os", "d"),
    "nothing else is imported": ("['m'] if sys.modules.get('m') is not None else ['n']", "import sys", ["n"]),
    "a default factory": ("field(default_factory=lambda: list((1, 2)))", "from dataclasses import field", [1, 2]),
    "a fallback of an import": ("A", "try:\n    A = ['a']\nexcept ImportError:\n    A = None", ["a"]),
    "an object of its own class": ("C(b=2).b", "class C:\n    a: int = 1\n    b: int = 0", 2),
    "a constructor": ("C('x').name", "class C:\n    def __init__(self, n):\n        self.name = n + '!'", "x!"),
    "a property": ("C().p", "class C:\n    @property\n    def p(self):\n        return ['a']", ["a"]),
    "a classmethod": ("C.f()", "class C:\n    X = 'a'\n    @classmethod\n    def f(cls):\n        return cls.X", "a"),
    "an inherited name": ("D.X", "class C:\n    X = 'c'\nclass D(C):\n    pass", "c"),
    "pairs": ("[a + b for a, b in [('x', 'y')]]", "", ["xy"]),
}  # fmt: skip


@pytest.mark.parametrize("case", KNOWN)
def test_it_knows(case: str) -> None:
    expression, before, wanted = KNOWN[case]
    assert value(expression, before) == wanted


UNKNOWN = {
    "a list changed under a condition": ("A", "A = ['a']\nif torch.ok():\n    A.append('b')"),
    "a list changed by +=": ("A", "A = ['a']\nif torch.ok():\n    A += ['b']"),
    "a name bound under a condition": ("A", "if torch.ok():\n    A = ['a']\nelse:\n    A = ['b']"),
    "what a function may return": ("f()", "def f():\n    if torch.ok():\n        return ['a']\n    return ['b']"),
    "something outside": ("torch.backends() + ['a']", "import torch"),
    "a loop over something outside": ("A", "import torch\nA = []\nfor x in torch.all():\n    A.append(x)"),
    "a while loop": ("A", "A = []\nwhile len(A) < 3:\n    A.append('x')"),
    "a decorated function": ("f()", "@torch.compile\ndef f():\n    return ['a']"),
    "a name that is nowhere": ("NOWHERE", ""),
    "an element that is not there": ("A[3]", "A = ['a']"),
    "a text with an unknown part": ("f'--{torch.name()}'", "import torch"),
    "a mapping that is spread out": ("list({**torch.all()})", "import torch"),
    "a deleted key": ("list(M)", "M = {'x': 1}\ndel M['x']"),
    "an unpacked unknown": ("A", "import torch\nA, B = torch.both()"),
    "a huge product": ("'x' * 10**9", ""),
    "a huge repetition": ("['x'] * 1000000000", ""),
    "recursion without an end": ("f()", "def f():\n    return f()"),
    "a class that needs itself": ("A", "A = f()\ndef f():\n    return A"),
}


@pytest.mark.parametrize("case", UNKNOWN)
def test_it_does_not_guess(case: str) -> None:
    expression, before = UNKNOWN[case]
    assert unknown_in(value(expression, before)) is not None


def test_names_are_followed_through_modules() -> None:
    modules = {
        "pkg/__init__.py": "from pkg.inner import NAMES as ALL",
        "pkg/inner.py": "from .deep import EXTRA\nNAMES = ['a'] + EXTRA",
        "pkg/deep.py": "EXTRA = ['b']",
    }
    assert value("ALL", "from pkg import ALL", modules) == ["a", "b"]
    assert value("pkg.inner.NAMES", "import pkg.inner", modules) == ["a", "b"]
    assert value("inner.NAMES", "from pkg import inner", modules) == ["a", "b"]
    assert value("EXTRA", "from pkg.deep import *", modules) == ["b"]


def test_imports_in_a_circle_end() -> None:
    assert isinstance(
        value("A", "from one import A", {"one.py": "from two import A", "two.py": "from one import A"}), Unknown
    )


def test_what_is_outside_is_a_name() -> None:
    assert value("argparse.SUPPRESS", "import argparse") == External("argparse.SUPPRESS")
    assert value("List", "from typing import List") == External("typing.List")


def test_a_file_that_does_not_parse_is_said_and_its_names_are_unknown() -> None:
    machine = Machine({"python/broken.py": b"def f(:\n"})
    assert machine.module("broken") is None
    assert "python/broken.py is no Python that can be read" in machine.faults[0]


def test_a_class_that_is_made_anew_of_itself_keeps_what_its_body_says() -> None:
    assert value("C.A", "import msgspec\nclass C:\n    A = 'a'\nC = msgspec.defstruct('C', [])") == "a"


def test_a_branch_that_raises_is_the_end_of_a_function() -> None:
    assert isinstance(value("f()", "def f():\n    raise ValueError\n    return ['a']"), Unknown)


PIECES = sorted({before for _, before, *_ in [*KNOWN.values(), *UNKNOWN.values()] if before})
MORE = [
    "class A(B):\n    pass",
    "class B(A):\n    x: int = 1",
    "def g(*a, **k):\n    return g(*a, **k) + g()",
    "A = A + [A]",
    "A.append(A)",
    "for A in A:\n    A.append(A)",
    "M[M] = M",
    "with open(A) as A:\n    A = A",
    "from here import *",
    "import here.here",
    "del A, M[0]",
    "A = [*A, *M, *g()]",
    "A = {**M, **A}",
    "A = (lambda x: x(x))(lambda x: x(x))",
    "A, (B, *C) = M",
    "match A:\n    case 1:\n        A = 2",
    "async def h():\n    await A",
    "A = " + "-" * 300 + "1",
    "A = " + " + ".join(["'x'"] * 2000),
]


@given(
    st.lists(st.sampled_from([*PIECES, *MORE]), max_size=8),
    st.sampled_from(["A", "M", "C", "f()", "g()", "B.x", "[A, M]"]),
)
@settings(max_examples=150, deadline=None)
def test_nothing_that_is_written_stops_it(pieces: list[str], expression: str) -> None:
    value(expression, "\n".join(pieces))
