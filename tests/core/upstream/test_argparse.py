"""What argparse makes of calls of add_argument, read without running them; proved against the real argparse."""

from __future__ import annotations

import argparse

import pytest

from stackctl.core.upstream.values import Flag
from tests.core.upstream.sources import argparse_table, only, table

CALLS = {
    "a plain one": 'parser.add_argument("--a-b", help="x")',
    "two names": 'parser.add_argument("--model-path", "--model", type=str, required=True)',
    "a short and a long one": 'parser.add_argument("-q", "--quiet", action="store_true")',
    "a destination": 'parser.add_argument("--tp", dest="tp_size", type=int, default=1)',
    "a switch": 'parser.add_argument("--on", action="store_true", default=None)',
    "a switch that turns off": 'parser.add_argument("--off", action="store_false")',
    "a constant": 'parser.add_argument("--mode", action="store_const", const="x", default="y")',
    "one that counts": 'parser.add_argument("-v", action="count", default=0)',
    "one that collects": 'parser.add_argument("--each", action="append", type=int)',
    "both ways": 'parser.add_argument("--graph", action=argparse.BooleanOptionalAction, default=True)',
    "many values": 'parser.add_argument("--bs", type=int, nargs="+")',
    "perhaps a value": 'parser.add_argument("--maybe", nargs="?", const="")',
    "three values": 'parser.add_argument("--three", nargs=3, type=float)',
    "choices": 'parser.add_argument("--level", type=int, choices=[0, 1, 2], default=1)',
    "choices of a range": 'parser.add_argument("--level", type=int, choices=range(3))',
    "no default": 'parser.add_argument("--x", default=argparse.SUPPRESS)',
    "a list for a default": 'parser.add_argument("--x", nargs="*", default=["a"])',
    "from keywords": 'options = dict(type=int, default=3)\nparser.add_argument("--x", **{"type": int, "default": 3})',
    "in a group": 'group = parser.add_argument_group("g")\ngroup.add_argument("--x", default=1.5, type=float)',
    "one of a few": 'group = parser.add_mutually_exclusive_group()\ngroup.add_argument("--x", action="store_true")',
    "in a loop": 'for name in ("a-b", "c"):\n    parser.add_argument(f"--{name}", type=int, default=len(name))',
}


def real(calls: str) -> list[tuple[object, ...]]:
    parser = argparse.ArgumentParser(add_help=False)
    exec(calls, {"parser": parser, "argparse": argparse})
    return [
        (
            tuple(one.option_strings),
            one.dest,
            one.nargs,
            None if one.choices is None else tuple(map(str, one.choices)),
            "SUPPRESS" if one.default is argparse.SUPPRESS else str(one.default),
            one.required,
        )
        for one in parser._actions
    ]


def said(flag: Flag) -> tuple[object, ...]:
    return (flag.names, flag.dest, flag.nargs, flag.choices, flag.default, flag.required)


@pytest.mark.parametrize("case", CALLS)
def test_as_argparse_has_it(case: str) -> None:
    read = argparse_table(CALLS[case])
    assert [said(flag) for flag in read.flags] == real(CALLS[case])
    assert read.generation == "argparse"
    assert read.unknown == ()


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ("type=int", "int"),
        ("type=float", "float"),
        ("type=str", "str"),
        ("type=bool", "bool"),
        ("default=3", "str"),
        ("action='store_true'", "bool"),
        ("type=json.loads", None),
        ("type=own", None),
        ("type=lambda x: x", None),
    ],
)
def test_the_type(given: str, kind: str | None) -> None:
    read = argparse_table(f'parser.add_argument("--x", {given})', "def own(text):\n    return int(text)")
    assert (only(read).type, only(read).unknown) == (kind, ())


DEPRECATED = {
    "no effect": ("action=DeprecatedAction", 0, "None", None),
    "still a switch": ("action=DeprecatedStoreTrueAction, new_flag='--y'", 0, "False", "--y"),
    "a constant": ("action=DeprecatedStoreConstAction, const_value='z', new_flag='--y=z'", 0, "None", "--y=z"),
    "an alias": ("action=DeprecatedAliasStoreAction, new_flag='--y', type=int, nargs='+'", "+", "None", "--y"),
    "a value that became a switch": (
        "action=DeprecatedStoreConstAction, nargs=None, default=False",
        None,
        "False",
        None,
    ),
    "by its help": ("action='store_true', help='(Deprecated: use --y=auto) Enable it.'", 0, "False", "--y=auto"),
    "by its help, in brackets": ("type=int, help='[Deprecated] Use --y instead.'", None, "None", "--y"),
    "by a help that is cut": ("type=int, help=f'Deprecated. Use --y, not {torch.x}'", None, "None", "--y"),
    "without a word for it": ("action=DeprecatedAction, help='Now always on when --y is set.'", 0, "None", None),
}


@pytest.mark.parametrize("case", DEPRECATED)
def test_deprecated(case: str) -> None:
    given, nargs, default, use = DEPRECATED[case]
    flag = only(argparse_table(f'parser.add_argument("--x", {given})', "import torch"))
    assert (flag.deprecated, flag.nargs, flag.default, flag.use) == (True, nargs, default, use)


def test_a_help_that_speaks_of_another_deprecated_flag_is_none() -> None:
    flag = only(argparse_table('parser.add_argument("--x", help="Replaces the deprecated --y.")'))
    assert (flag.deprecated, flag.use) == (False, None)


UNKNOWN = {
    "choices": ("choices=torch.backends()", "choices"),
    "one of the choices": ("choices=['a', torch.backend()]", "choices"),
    "choices changed under a condition": ("choices=CHOICES", "choices"),
    "default": ("default=torch.count()", "default"),
    "type": ("type=torch.kind()", "type"),
    "names of a mapping": ("**torch.options()", "choices"),
    "action": ("action=torch.action()", "action"),
}


@pytest.mark.parametrize("case", UNKNOWN)
def test_what_cannot_be_read_is_unknown_and_said(case: str) -> None:
    given, field = UNKNOWN[case]
    before = "import torch\nCHOICES = ['a']\nif torch.cuda.is_available():\n    CHOICES.append('b')"
    read = argparse_table(f'parser.add_argument("--x", {given})', before)
    assert field in only(read).unknown
    assert only(read).choices is None
    assert any("--x: " in one and field in one and "server_args.py:" in one for one in read.unknown)


def test_a_name_that_cannot_be_read_is_said() -> None:
    read = argparse_table('parser.add_argument(torch.name())\nparser.add_argument("--y")', "import torch")
    assert [flag.name for flag in read.flags] == ["--y"]
    assert "the name of an argument is not known" in read.unknown[0]


def test_an_argument_behind_an_unknown_condition_may_be_there() -> None:
    read = argparse_table('if torch.ok():\n    parser.add_argument("--x", type=int)', "import torch")
    assert only(read).unknown == ("presence",)


def test_an_argument_behind_a_variable_is_not_part_of_the_table() -> None:
    assert argparse_table('if envs.OPT.get():\n    parser.add_argument("--x")').flags == ()


def test_a_choice_behind_a_variable_is_not_part_of_the_table() -> None:
    before = "CHOICES = {'a', 'b'}\nif envs.OPT.get():\n    CHOICES.add('opt-in')"
    read = argparse_table('parser.add_argument("--x", choices=CHOICES)', before)
    assert only(read).choices == ("a", "b")


def test_what_somebody_else_adds_to_the_parser_is_said() -> None:
    read = argparse_table("torch.add_arguments(parser)", "import torch")
    assert "what is added there to the parser is not known" in read.unknown[0]


def test_a_function_of_the_tree_that_adds_is_followed() -> None:
    more = {"srt/more.py": 'def add(parser, kind):\n    parser.add_argument("--x", type=kind)'}
    read = argparse_table("add(parser, int)", "from sglang.srt.more import add", more)
    assert only(read).type == "int"


def test_choices_through_modules_and_registries() -> None:
    modules = {
        "srt/parsers.py": "class Parsers:\n    Map = {'a': One, 'b': Two}\n",
        "srt/names.py": "from sglang.srt.parsers import Parsers\nNAMES = list(Parsers.Map.keys())\nNAMES.append('c')",
    }
    call = 'parser.add_argument("--tool-call-parser", choices=["auto"] + NAMES)'
    read = argparse_table(call, "from sglang.srt.names import NAMES", modules)
    assert only(read).choices == ("auto", "a", "b", "c")
    assert read.registries == {"tool-call-parser": ("auto", "a", "b", "c")}


def test_a_tree_without_the_class_has_no_table_and_says_so() -> None:
    empty = table("class Other: pass")
    assert (empty.flags, empty.generation) == ((), "none")
    assert "ServerArgs.add_cli_args is not there" in empty.unknown[0]


def test_a_tree_that_does_not_parse_has_no_table_and_says_so() -> None:
    broken = table("class ServerArgs(:")
    assert broken.flags == ()
    assert "server_args.py is no Python that can be read" in broken.unknown[0]


def test_a_deprecated_flag_is_not_replaced_by_itself() -> None:
    flag = only(argparse_table('parser.add_argument("--x", "--y", help="Deprecated. Use --y at your own risk.")'))
    assert (flag.deprecated, flag.use) == (True, None)
