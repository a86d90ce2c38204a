"""A tree that wants to hang its reader or fill its memory gets a table in which that part is unknown, and says so.

Without a limit each of these takes hours or all memory, so that ending is the proof.
"""

from __future__ import annotations

import pytest

from stackctl.core.lint.known.wording import flags_unread
from stackctl.core.upstream.static.limits import KEPT, LARGEST, LONGEST_FILE
from stackctl.core.upstream.static.values import Unknown
from stackctl.core.upstream.tables import extract
from tests.core.upstream.sources import SERVER_ARGS, argparse_table, table, tree, value

CALL = 'parser.add_argument("--x", choices=BAD)'
AGAIN = "for i in range(60):\n    "
VALUES = {
    "a long text": 'BAD = "a" * 10**9\nBAD = "a" * 1000000000',
    "a list that doubles": f"BAD = ['a']\n{AGAIN}BAD = BAD + BAD",
    "a list that doubles in place": f"BAD = ['a']\n{AGAIN}BAD += BAD",
    "a list that doubles by a method": f"BAD = ['a']\n{AGAIN}BAD.extend(BAD)",
    "a text that doubles": f"BAD = 'a'\n{AGAIN}BAD = f'{{BAD}}{{BAD}}'",
    "bytes that double": f"BAD = b'a'\n{AGAIN}BAD = BAD + BAD",
    "lists of the same list": f"BAD = ['a']\n{AGAIN}BAD = [BAD, BAD]",
    "mappings of the same mapping": f"BAD = {{}}\n{AGAIN}BAD = {{'a': BAD, 'b': BAD}}",
    "types of the same type": f"from typing import Union\nBAD = int\n{AGAIN}BAD = Union[BAD, (BAD, BAD)]",
    "a list of itself": "BAD = []\nBAD.append(BAD)",
    "a list of itself, compared": "A = []\nA.append(A)\nB = []\nB.append(B)\nBAD = [str(A == B)]",
    "a number that grows": f"N = 10\n{AGAIN}N = N * N\nBAD = [str(N)]",
    "a width of a text": "BAD = ['%999999999d' % 1]",
    "a width that is given": "BAD = ['%*d' % (999999999, 1)]",
    "a width of a format": "BAD = ['{:999999999}'.format(1)]",
    "text joined by text": "BAD = [('a' * 19999).join(['b'] * 19999)]",
    "text replaced by text": "A = 'a' * 19999\nBAD = [A.replace('a', A)]",
    "a long range": "BAD = list(reversed(range(10**12)))\nBAD = [max(range(1000000000000))]",
    "a search in a range": "BAD = [str('a' in range(1000000000000))]",
    "loops in loops": "BAD = []\nR = range(9999)\nfor a in R:\n  for b in R:\n    for c in R:\n      pass\nBAD = ['a']",
    "a comprehension of many": "R = range(9999)\nBAD = [1 for a in R for b in R for c in R for d in R]",
    "a comprehension of none": "R = range(9999)\nBAD = [1 for a in R for b in R for c in R if a < 0]",
    "sets of many": "BAD = []\n" + AGAIN + "BAD = {(j, i) for j in range(19999)} & {(j, 0) for j in range(19999)}",
    "branches of calls": "def f(n):\n    return f(n + 1) + f(n + 1)\nBAD = f(0)",
    "a call without an end": "def f():\n    return f()\nBAD = f()",
    "spread out often": "A = ['a'] * 19999\nBAD = [" + "*A," * 3000 + "]",
    "names of names": "import torch\nBAD = torch\n"
    + "for i in range(9999):\n  for j in range(99):\n    BAD = BAD.more",
}


@pytest.mark.parametrize("case", VALUES)
def test_a_value_without_an_end_is_unknown(case: str) -> None:
    read = argparse_table(f'parser.add_argument("--first")\n{CALL}', VALUES[case])
    flags = read.by_name
    assert flags_unread(read)
    assert "--x" not in flags or "choices" in flags["--x"].unknown


@pytest.mark.parametrize("case", VALUES)
def test_it_does_not_spoil_a_table_that_does_not_ask_for_it(case: str) -> None:
    """Names of a module that nothing asks for are not followed."""
    read = argparse_table('parser.add_argument("--first")', "", {"srt/bad.py": VALUES[case]})
    assert (read.flags[0].name, read.unknown) == ("--first", ())


def test_what_follows_an_endless_loop_is_said_to_be_unknown() -> None:
    calls = "for a in range(9999):\n  for b in range(9999):\n    pass\n"
    read = argparse_table(calls + 'parser.add_argument("--late")')
    assert "--late" not in read.by_name
    assert "there is more than can be followed: what stands behind is not known" in read.unknown


DEEP = {
    "brackets": "BAD = " + "(" * 5000 + ")" * 5000,
    "signs": "BAD = " + "-" * 50_000 + "1",
    "a chain of attributes": "import torch\nBAD = torch" + ".a" * 20_000,
    "a chain of sums": "BAD = 1" + " + 1" * 20_000,
    "a chain of calls": "BAD = f" + "()" * 20_000,
    "branches": "".join(f"{' ' * n}if torch:\n" for n in range(90)) + " " * 90 + "BAD = 1",
    "a decorator": "@a" + ".a" * 900 + "\ndef f():\n    pass",
    "an annotation": "class ServerArgs:\n    a: a" + ".a" * 900 + " = 1",
    "a target": "a" + ".a" * 900 + " = {'A': 'B'}",
    "a branch of a class": "class Envs:\n    if torch.x:\n        A = 1" + " + 1" * 900,
    "a body of a null byte": "BAD = '\0'",
    "what is no text": "BAD = '\udcff'",
}


@pytest.mark.parametrize("case", DEEP)
@pytest.mark.parametrize("path", ["srt/server_args.py", "srt/environ.py", "srt/more.py"])
def test_depth_breaks_nothing(case: str, path: str) -> None:
    source = (DEEP[case] + "\nimport os\nos.getenv('SGLANG_X')\n").encode("utf-8", "surrogateescape")
    read = extract({**tree({SERVER_ARGS: "class ServerArgs: pass"}), f"python/sglang/{path}": source}, "sglang.x")
    assert read.engine == "sglang"


def test_modules_that_import_each_other_come_to_an_end() -> None:
    modules = {f"srt/m{n}.py": f"from sglang.srt.m{(n + 1) % 3000} import *\nN{n} = 1" for n in range(3000)}
    read = table("from sglang.srt.m0 import *\nclass ServerArgs(N1, ServerArgs): pass", modules)
    assert any("add_cli_args is not there" in sentence for sentence in read.unknown)


def test_classes_that_come_from_each_other_come_to_an_end() -> None:
    classes = "class C0: pass\n" + "".join(f"class C{n}(C{n - 1}, C{max(n - 2, 0)}): pass\n" for n in range(1, 200))
    assert isinstance(value("C199.nothing", classes), Unknown)


def test_a_file_that_is_too_long_is_not_parsed() -> None:
    long = "x = 1\n" * (LONGEST_FILE // 6 + 1) + "import os\nos.getenv('SGLANG_X')\n"
    read = argparse_table('parser.add_argument("--first")', "", {"srt/long.py": long})
    assert "SGLANG_X" not in read.env
    (sentence,) = read.unknown
    assert sentence == f"python/sglang/srt/long.py is too long to be read: {len(long)} bytes"


def test_too_many_modules_are_not_kept() -> None:
    body = "x = '" + "a" * (LONGEST_FILE - 100) + "'\n"
    many = KEPT // LONGEST_FILE + 2
    files = {f"python/e/m{n}.py": f"{body}import e.m{n + 1}\n".encode() for n in range(many)}
    read = extract({**files, "python/e/__init__.py": b"", "python/e/serve.py": b"import e.m0\n"}, "e.serve")
    assert any("too much is followed already" in sentence for sentence in read.unknown)


def test_a_value_may_be_as_large_as_a_table_needs() -> None:
    found = value("[f'--x{n}' for n in range(4000)]")
    assert isinstance(found, list) and len(found) == 4000 < LARGEST
