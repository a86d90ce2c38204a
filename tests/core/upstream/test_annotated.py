"""Fields with annotations, in both generations that have them: every rule of derivation, once."""

from __future__ import annotations

import pytest

from stackctl.core.upstream.values import Flag
from tests.core.upstream.sources import annotated_table, only, table

FIELDS: dict[str, tuple[str, Flag]] = {
    "a bare help": ('host: A[str, "x"] = "127.0.0.1"', Flag(("--host",), "host", default="127.0.0.1")),
    "hyphens": ('log_level: A[str, "x"] = "info"', Flag(("--log-level",), "log_level", default="info")),
    "a number": ('port: A[int, "x"] = 30000', Flag(("--port",), "port", default="30000", type="int")),
    "no default": (
        'model_path: A[str, Arg(help="x", aliases=["--model"])]',
        Flag(("--model-path", "--model"), "model_path", required=True),
    ),
    "no default, not required": ("x: A[str, Arg(required=False)]", Flag(("--x",), "x")),
    "required all the same": ('x: A[str, Arg(required=True)] = "a"', Flag(("--x",), "x", default="a", required=True)),
    "another name": ('tp: A[int, Arg(cli_name="--tensor")] = 1', Flag(("--tensor",), "tp", default="1", type="int")),
    "a switch": (
        'on: A[bool, "x"] = False',
        Flag(("--on",), "on", 0, default="False", type="bool", action="store_true"),
    ),
    "a switch that is unset": (
        'on: A[Optional[bool], "x"] = None',
        Flag(("--on",), "on", 0, type="bool", action="store_true"),
    ),
    "a literal": (
        'mode: A[Literal["a", "b"], "x"] = "a"',
        Flag(("--mode",), "mode", choices=("a", "b"), default="a"),
    ),
    "a literal of numbers": (
        'mode: A[Literal[1, 2], "x"] = 1',
        Flag(("--mode",), "mode", choices=("1", "2"), default="1", type="int"),
    ),
    "a literal with none": (
        'x: A[Literal[None, "a"], "x"] = None',
        Flag(("--x",), "x", choices=("None", "a")),
    ),
    "perhaps a literal": ('x: A[Optional[Literal["a"]], "x"] = None', Flag(("--x",), "x", choices=("a",))),
    "a literal, with other choices": (
        'x: A[Literal["a"], Arg(choices=["b"])] = "b"',
        Flag(("--x",), "x", choices=("b",), default="b"),
    ),
    "a list": (
        'x: A[List[int], "x"] = dataclasses.field(default_factory=list)',
        Flag(("--x",), "x", "+", default="[]", type="int"),
    ),
    "perhaps a list": ("x: A[Optional[List[str]], Arg(nargs='*')] = None", Flag(("--x",), "x", "*")),
    "a list in new words": ("x: A[list[float] | None, Arg()] = None", Flag(("--x",), "x", "+", type="float")),
    "a list with choices": (
        "x: A[Optional[List[str]], Arg(choices=['a', 'b'])] = None",
        Flag(("--x",), "x", "+", ("a", "b")),
    ),
    "a list that is parsed": (
        "x: A[Optional[List[str]], Arg(type_parser=json.loads)] = None",
        Flag(("--x",), "x", type=None),
    ),
    "a union is a text": ('x: A[Optional[Union[str, Dict[str, int]]], "x"] = None', Flag(("--x",), "x")),
    "perhaps a value": ('x: A[Optional[str], Arg(nargs="?", const="")] = None', Flag(("--x",), "x", "?")),
    "a converter": ("x: A[Optional[int], Arg(type_parser=json.loads)] = None", Flag(("--x",), "x", type=None)),
    "both ways": (
        "x: A[bool, Arg(action=argparse.BooleanOptionalAction)] = True",
        Flag(("--x", "--no-x"), "x", 0, default="True", type="bool", action="BooleanOptionalAction"),
    ),
    "its own action, only": (
        "x: A[List[int], Arg(action=LoRAPathAction, action_kwargs={'type': str, 'nargs': '*'}, choices=['a'])] = None",
        Flag(("--x",), "x", "*", action="LoRAPathAction"),
    ),
    "an old name by its help": (
        'x: A[bool, "[Deprecated] Use --y instead."] = False',
        Flag(("--x",), "x", 0, None, "False", False, True, "--y", "bool", "store_true"),
    ),
    "arithmetic": ('x: A[int, "x"] = 10 * 1000', Flag(("--x",), "x", default="10000", type="int")),
    "below zero": ('x: A[int, "x"] = -1', Flag(("--x",), "x", default="-1", type="int")),
    "an annotation in quotes": ("x: 'A[int, Arg(help=\"x\")]' = 3", Flag(("--x",), "x", default="3", type="int")),
}  # fmt: skip


@pytest.mark.parametrize("case", FIELDS)
def test_a_field(case: str) -> None:
    text, wanted = FIELDS[case]
    read = annotated_table(text)
    assert only(read) == wanted
    assert (read.generation, read.unknown) == ("annotated", ())


@pytest.mark.parametrize("text", ["x: A[str, Arg(no_cli=True)] = ''", "x: int = 3", "x: Optional[str] = None"])
def test_a_field_that_is_no_flag(text: str) -> None:
    read = annotated_table(f"{text}\ny: A[int, 'y'] = 1")
    assert [flag.name for flag in read.flags] == ["--y"]


def test_the_last_annotation_wins_in_the_first_ones_place() -> None:
    read = annotated_table('dcp: A[int, "x"] = 1\nport: A[int, "x"] = 2\ndcp: A[int, Arg(aliases=["--context"])] = 3')
    assert [(flag.names, flag.default) for flag in read.flags] == [(("--dcp", "--context"), "3"), (("--port",), "2")]


def test_what_is_added_by_hand_stands_behind_and_finds_the_defaults_of_the_class() -> None:
    manual = 'names = list(Map)\nparser.add_argument("--parser", choices=["auto"] + names, default=ServerArgs.parser)'
    read = annotated_table('port: A[int, "x"] = 1\nparser: Optional[str] = "b"', "Map = {'a': 1, 'b': 2}", manual)
    assert [flag.name for flag in read.flags] == ["--port", "--parser"]
    assert (read.flags[1].choices, read.flags[1].default) == (("auto", "a", "b"), "b")


def test_choices_that_plugins_could_add_to_are_those_of_the_tree() -> None:
    before = 'CHOICES = ["a"]\ndef add_choices(more):\n    CHOICES.extend(more)\nMORE = CHOICES'
    assert only(annotated_table("x: A[str, Arg(choices=MORE + ['b'])] = 'a'", before)).choices == ("a", "b")


def test_fields_of_a_class_that_it_comes_from() -> None:
    read = table(
        'class Base:\n    a: A[int, "x"] = 1\n    b: A[int, "x"] = 2\n'
        'class ServerArgs(Base):\n    c: A[int, "x"] = 3\n    a: A[int, "x"] = 4\n'
        "    @staticmethod\n    def add_cli_args(parser):\n        add_cli_args_from_dataclass(parser, ServerArgs)\n"
    )
    assert [(flag.name, flag.default) for flag in read.flags] == [("--a", "4"), ("--b", "2"), ("--c", "3")]


def test_some_fields_only() -> None:
    read = table(
        'class ServerArgs:\n    a: A[int, "x"] = 1\n    b: A[int, "x"] = 2\n'
        '    def add_cli_args(parser):\n        add_cli_args_from_dataclass(parser, ServerArgs, fields=["b"])\n'
    )
    assert [flag.name for flag in read.flags] == ["--b"]


NAMESPACES = """
import msgspec
from sglang.srt.arg_groups.choices import CHOICES
from sglang.srt.arg_groups.fields import collect_input_fields
from sglang.srt.arg_groups.fields.model import Model
from sglang.srt.arg_groups.fields.serving import Serving

class ServerArgs:
    @staticmethod
    def add_cli_args(parser):
        add_cli_args_from_dataclass(parser, ServerArgs)
        parser.add_argument("--parser", choices=CHOICES, default=_declared_default("parser"))

_INPUT_NAMESPACES = [Serving, Model]
_annotations, _defaults, _namespaces = collect_input_fields(_INPUT_NAMESPACES)
ServerArgs.__annotations__ = {**_annotations, **ServerArgs.__annotations__}
ServerArgs = msgspec.defstruct("ServerArgs", list(ServerArgs.__annotations__), dict=True)

def _declared_default(name: str):
    return next(field.default for field in msgspec.structs.fields(ServerArgs) if field.name == name)
"""
MODULES = {
    "srt/arg_groups/choices.py": 'CHOICES = ["a", "b"]\nadd_choices = CHOICES.extend\n',
    "srt/arg_groups/field_order.py": 'POSITIONAL_FIELD_ORDER = ("model_path", "port", "gone")\n',
    "srt/arg_groups/fields/__init__.py": "def collect_input_fields(sources):\n    return {}, {}, {}\n",
    "srt/arg_groups/fields/model.py": (
        "import msgspec\nfrom sglang.srt.arg_groups.arg_utils import A, Arg\n"
        "class Model(msgspec.Struct):\n    _NS_PATH = 'model'\n    loaded = Derived(fn='x')\n"
        "    model_path: A[str, 'x']\n"
        "    parser: A[str | None, Arg(no_cli=True)] = 'b'\n"
    ),
    "srt/arg_groups/fields/serving.py": (
        "import msgspec\nfrom sglang.srt.arg_groups.arg_utils import A\n"
        "class Serving(msgspec.Struct):\n    host: A[str, 'x'] = 'here'\n    port: A[int, 'x'] = 1\n"
        "    urls: A[list[str], 'x'] = msgspec.field(default_factory=list)\n"
    ),
}


def test_namespaces_make_up_the_class_in_the_order_that_its_constructor_keeps() -> None:
    read = table(NAMESPACES, MODULES)
    assert [flag.name for flag in read.flags] == ["--model-path", "--port", "--host", "--urls", "--parser"]
    assert read.generation == "namespaces"
    by_name = read.by_name
    assert by_name["--model-path"].required
    assert (by_name["--urls"].nargs, by_name["--urls"].default) == ("+", "[]")
    assert (by_name["--parser"].choices, by_name["--parser"].default) == (("a", "b"), "b")


def test_namespaces_without_a_kept_order_are_in_their_own() -> None:
    less = {path: text for path, text in MODULES.items() if "field_order" not in path}
    names = [flag.name for flag in table(NAMESPACES, less).flags]
    assert names == ["--host", "--port", "--urls", "--model-path", "--parser"]


def test_an_annotation_that_cannot_be_read_is_not_taken_for_a_flag() -> None:
    read = annotated_table('x: torch.Kind[int, "x"] = 1\ny: A[int, "y"] = 2', "import torch")
    assert [flag.name for flag in read.flags] == ["--y"]


def test_metadata_that_cannot_be_read_makes_a_flag_with_nothing_checked() -> None:
    read = annotated_table("x: A[int, torch.meta()] = 1", "import torch")
    assert only(read).name == "--x"
    assert "deprecated" in only(read).unknown
