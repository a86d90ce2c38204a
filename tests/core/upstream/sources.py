"""Small trees in sglang's shapes, to read tables from."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import dedent, indent

from stackctl.core.upstream.static.machine import Machine
from stackctl.core.upstream.static.values import Scope
from stackctl.core.upstream.tables import extract
from stackctl.core.upstream.values import Flag, Upstream

SERVER_ARGS = "python/sglang/srt/server_args.py"
ENVIRON = "python/sglang/srt/environ.py"
NONE: Mapping[str, str] = {}
ENV_KINDS = """
import os
class EnvField:
    def __init__(self, default):
        self.default = default
    def get(self):
        value = os.getenv("X")
        if value is None:
            return self.default
        return self.parse(value)
class EnvBool(EnvField): pass
class EnvInt(EnvField): pass
class EnvStr(EnvField): pass
class EnvTuple(EnvField): pass
class _Old:
    def __init__(self, default, deprecated_name):
        super().__init__(default)
        self.deprecated_name = deprecated_name
class EnvBoolWithAlias(_Old, EnvBool): pass
"""
ACTIONS = """
import argparse
class DeprecatedAction(argparse.Action):
    def __init__(self, option_strings, dest, nargs=0, **kwargs): pass
class DeprecatedStoreTrueAction(argparse.Action):
    def __init__(self, option_strings, dest, new_flag=None, nargs=0, const=True, default=False, **kwargs): pass
class DeprecatedStoreConstAction(argparse.Action):
    def __init__(self, option_strings, dest, new_flag=None, const_value=None, nargs=0, default=None, **kwargs): pass
class DeprecatedAliasStoreAction(argparse.Action):
    def __init__(self, option_strings, dest, new_flag=None, **kwargs): pass
class LoRAPathAction(argparse.Action):
    def __call__(self, parser, namespace, values, option_string=None): pass
"""
ARG_UTILS = """
import dataclasses
from typing import Annotated, Any, Callable, List, Optional
A = Annotated
@dataclasses.dataclass(frozen=True)
class Arg:
    help: str = ""
    choices: Optional[list] = None
    aliases: Optional[List[str]] = None
    cli_name: Optional[str] = None
    type_parser: Optional[Callable] = None
    nargs: Optional[str] = None
    required: Optional[bool] = None
    action: Optional[Any] = None
    action_kwargs: Optional[dict] = None
    const: Optional[Any] = None
    no_cli: bool = False
def add_cli_args_from_dataclass(parser, cls, *, fields=None):
    for hint in get_type_hints(cls): parser.add_argument(hint)
"""
HEAD = """
from __future__ import annotations
import argparse, dataclasses, json
from typing import Any, Dict, List, Literal, Optional, Union
from sglang.srt.arg_groups.arg_utils import A, Arg, add_cli_args_from_dataclass
from sglang.srt.arg_groups.argparse_actions import *
from sglang.srt.environ import envs
"""


def tree(files: Mapping[str, str]) -> dict[str, bytes]:
    base = {
        ENVIRON: ENV_KINDS + "\nclass Envs:\n    OPT = EnvBool(False)\nenvs = Envs()\n",
        "python/sglang/srt/arg_groups/arg_utils.py": ARG_UTILS,
        "python/sglang/srt/arg_groups/argparse_actions.py": ACTIONS,
    }
    return {path: text.encode() for path, text in {**base, **files}.items()}


def table(server_args: str, modules: Mapping[str, str] = NONE) -> Upstream:
    """The table of a tree with this server_args.py; `modules`: further files, by paths below python/sglang/."""
    more = {f"python/sglang/{path}": text for path, text in modules.items()}
    return extract(tree({SERVER_ARGS: HEAD + server_args, **more}), "sglang.launch_server")


def argparse_table(calls: str, before: str = "", modules: Mapping[str, str] = NONE) -> Upstream:
    """Generation A: the body of add_cli_args, and what stands above the class."""
    text = f"{before}\nclass ServerArgs:\n    port: int = 30000\n    @staticmethod\n    def add_cli_args(parser):\n"
    return table(text + indent(dedent(calls).strip(), " " * 8), modules)


def annotated_table(fields: str, before: str = "", manual: str = "", modules: Mapping[str, str] = NONE) -> Upstream:
    """Generation B: fields of ServerArgs, and what is added by hand."""
    text = f"""{before}
@dataclasses.dataclass
class ServerArgs:
{indent(dedent(fields).strip(), " " * 4)}
    @staticmethod
    def add_cli_args(parser):
        add_cli_args_from_dataclass(parser, ServerArgs)
{indent(dedent(manual).strip(), " " * 8)}
"""
    return table(text, modules)


def only(table: Upstream) -> Flag:
    (flag,) = table.flags
    return flag


def value(expression: str, before: str = "", modules: Mapping[str, str] = NONE) -> object:
    """What a name means at the end of a module; `modules` are further files, by their paths below python/."""
    files = {f"python/{path}": text.encode() for path, text in modules.items()}
    files["python/here.py"] = f"{before}\nRESULT = {expression}\n".encode()
    machine = Machine(files)
    module = machine.module("here")
    assert module is not None
    return machine.lookup("RESULT", Scope(module, module.names))
