"""Tables of whole trees: which files are needed, other engines than sglang, and the form in which they are kept."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackctl.core.upstream.stored import (
    history_from_json,
    history_to_json,
    table_from_json,
    table_to_json,
)
from stackctl.core.upstream.tables import extract, needed, version_of
from stackctl.core.upstream.values import EnvVar, Flag, History, Replacement, Span, Upstream
from tests.core.upstream.sources import annotated_table

STANDIN = Path(__file__).parents[3] / "stacks" / "standin"
SGLANG = "python/sglang/srt/server_args.py"


def standin() -> Upstream:
    files = {path.relative_to(STANDIN).as_posix(): path.read_bytes() for path in STANDIN.rglob("*.py")}
    return extract({path: files[path] for path in needed(files, "standin.launch_server")}, "standin.launch_server")


def test_the_stand_in_is_read_from_its_own_parser() -> None:
    import argparse
    import sys

    sys.path.insert(0, str(STANDIN / "python"))
    try:
        from standin.arguments import parser  # type: ignore[import-not-found]
    finally:
        sys.path.pop(0)
    real: argparse.ArgumentParser = parser()
    wanted = [
        (tuple(one.option_strings), one.dest, one.nargs, one.choices and tuple(one.choices), str(one.default))
        for one in real._actions
        if one.dest != "help"
    ]
    read = standin()
    assert [(flag.names, flag.dest, flag.nargs, flag.choices, flag.default) for flag in read.flags] == wanted
    assert (read.engine, read.generation, read.abbreviations, read.unknown) == ("standin", "argparse", False, ())
    assert not read.is_sglang


ENGINES = {
    "in the served module": {
        "engine/serve.py": "import argparse\np = argparse.ArgumentParser()\np.add_argument('--x')\n"
    },
    "in its main": {
        "engine/serve.py": "from argparse import ArgumentParser\ndef main():\n    p = ArgumentParser()\n"
        "    p.add_argument('--x')\n    args = p.parse_args()\n"
    },
    "in what it imports": {
        "engine/serve.py": "from .deep import parse\n",
        "engine/deep/__init__.py": "from engine.deep.more import build\n",
        "engine/deep/more.py": "import argparse\ndef build():\n    p = argparse.ArgumentParser()\n"
        "    p.add_argument('--x')\n    return p\n",
    },
    "in a class of its own": {
        "engine/serve.py": "import argparse\nclass Own(argparse.ArgumentParser):\n    pass\n"
        "def make(kind=argparse.ArgumentParser):\n    p = Own()\n    p.add_argument('--x')\n    return p\n",
    },
    "of a package that is served": {
        "engine/serve/__main__.py": "import argparse\np = argparse.ArgumentParser()\np.add_argument('--x')\n",
        "engine/serve/__init__.py": "",
    },
}


@pytest.mark.parametrize("case", ENGINES)
def test_another_engine(case: str) -> None:
    files = {f"python/{path}": text.encode() for path, text in ENGINES[case].items()}
    read = extract({path: files[path] for path in needed(files, "engine.serve")}, "engine.serve")
    assert ([flag.name for flag in read.flags], read.engine, read.unknown) == (["--x"], "engine", ())


def test_an_engine_without_a_parser_says_so() -> None:
    read = extract({"python/engine/serve.py": b"import click\n"}, "engine.serve")
    assert (read.flags, read.generation) == ((), "none")
    assert "no argparse parser is found" in read.unknown[0]


def test_two_parsers_are_told() -> None:
    text = "import argparse\na = argparse.ArgumentParser()\na.add_argument('--x')\nb = argparse.ArgumentParser()\n"
    read = extract({"python/engine/serve.py": (text + "b.add_argument('--y')\n").encode()}, "engine.serve")
    assert [flag.name for flag in read.flags] == ["--x"]
    assert "2 parsers are found" in read.unknown[0]


def test_needed_files() -> None:
    paths = [
        SGLANG,
        "python/sglang/test/a.py",
        "python/sglang/srt/a.json",
        "python/other/a.py",
        "python/sglang/cli/b.py",
    ]
    assert needed(paths, "sglang.launch_server") == (SGLANG, "python/sglang/cli/b.py")
    assert needed(paths, "other.serve") == (SGLANG, "python/sglang/cli/b.py")  # sglang's own rules apply to its tree
    assert needed(["python/other/a.py", "python/else/b.py"], "other.serve") == ("python/other/a.py",)


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("__version__ = version = '0.5.15'\n", "0.5.15"),
        ('__version__ = "0.5.13.post1"\n', "0.5.13.post1"),
        ("__version__: str\n", None),
        ("", None),
    ],
)
def test_what_a_tree_says_of_its_version(text: str, version: str | None) -> None:
    assert version_of({"python/sglang/_version.py": text.encode()}) == version


TABLE = Upstream(
    "sglang",
    "0.5.15",
    "annotated",
    (
        Flag(("--a", "--b"), "a", "+", ("x", "y"), "[]", True, True, "--c", None, "Own", ("default",)),
        Flag(("--d",), "d", 0),
    ),
    {"SGLANG_X": EnvVar("SGLANG_X", "deprecated", "bool", "True", "SGLANG_Y", True, True)},
    {"quantization": ("fp8", "x")},
    ("a sentence",),
    False,
)


@pytest.mark.parametrize("table", [TABLE, standin(), annotated_table('x: A[int, "é"] = 1')])
def test_a_table_is_kept_whole(table: Upstream) -> None:
    assert table_from_json(table_to_json(table)) == table


SPANS = st.lists(st.integers(0, 5), unique=True, min_size=1, max_size=6).map(sorted)
VERSIONS = tuple(f"0.5.{number}" for number in range(9, 15))


def spans(at: list[int]) -> tuple[Span, ...]:
    pairs = [at[number : number + 2] for number in range(0, len(at), 2)]
    return tuple(Span(VERSIONS[one[0]], VERSIONS[one[1]] if len(one) > 1 else None) for one in pairs)


@given(st.dictionaries(st.text(), SPANS), st.dictionaries(st.text(), SPANS), st.text())
def test_a_history_is_kept_whole(flags: dict[str, list[int]], env: dict[str, list[int]], text: str) -> None:
    made = {name: spans(at) for name, at in flags.items()}
    variables = {name: spans(at) for name, at in env.items()}
    history = History(VERSIONS, made, variables, {text: made}, {text: Replacement("0.5.9", text, "--b")})
    assert history_from_json(history_to_json(history)) == history


BROKEN = [
    b"",
    b"{",
    b"[]",
    b"null",
    b'{"format": 0}',
    b'{"format": 2}',
    b'{"format": 2, "flags": 3, "versions": []}',
    b"\xff",
]


CUT = table_to_json(TABLE)[:-20]
OF_ANOTHER_SHAPE = json.dumps({**json.loads(table_to_json(TABLE)), "more": 1}).encode()


@pytest.mark.parametrize("data", [*BROKEN, CUT, OF_ANOTHER_SHAPE])
def test_what_is_not_whole_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError):
        table_from_json(data)
    with pytest.raises(ValueError):
        history_from_json(data)


def test_the_history_that_comes_with_stackctl() -> None:
    file = Path(__file__).parents[3] / "stackctl" / "data" / "history.json"
    history = history_from_json(file.read_bytes())
    assert (history.versions[0], history.versions[-1], len(history.versions)) == ("0.5.9", "0.5.23", 15)
    assert history.flags["--tp-size"] == (Span("0.5.9"),)
    assert history.flags["--hierarchical-sparse-attention-extra-config"] == (
        Span("0.5.9", "0.5.10"),
        Span("0.5.12"),
    )
    assert history.choices["--attention-backend"]["cutlass_mla"] == (Span("0.5.9", "0.5.20"),)
    assert history.choices["--reasoning-parser"]["nano_v3"] == (Span("0.5.9", "0.5.10"),)
    assert history.choices["--tool-call-parser"]["deepseekv4"] == (Span("0.5.12"),)
    assert history.env["SGLANG_REASONING_EFFORT"] == (Span("0.5.12", "0.5.21"),)
    assert history.replacements["--cuda-graph-bs"] == Replacement("0.5.20", "--cuda-graph-bs-decode")
    assert history.replacements["--multi-item-scoring-delimiter"] == Replacement("0.5.11", "", "--enable-mis")
    assert history.replacements["--torchao-config"] == Replacement("0.5.18")
    assert history.replacements["SGLANG_GC_LOG"] == Replacement("0.5.21", "SGLANG_LOG_GC")
    last = history.versions[-1]
    gone = {name for name, each in history.flags.items() if each[-1].gone and not name.startswith("--no-")}
    assert all(Span(last) not in history.flags[name] for name in gone)
    assert not {name for name in gone if name not in history.replacements}
