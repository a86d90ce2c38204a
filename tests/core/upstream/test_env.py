"""Variables of a tree: its registry, those read on the spot, and all ways to say that one is old."""

from __future__ import annotations

import pytest

from stackctl.core.upstream.tables import extract
from stackctl.core.upstream.values import EnvVar
from tests.core.upstream.sources import ENV_KINDS, ENVIRON, SERVER_ARGS, tree

PRINT = "def _print_deprecated_env(old_name, new_name=None): pass\n"
TURNED = "def _print_deprecated_env(new_name, old_name): pass\n"
WARN = "def _warn_deprecated_env_to_cli_flag(env_name, suggestion): pass\n"
TABLE = """
class _DeprecatedEnv:
    def __init__(self, replacement=None, transform=None, note=None):
        self.replacement = replacement
        self.transform = transform
        self.note = note
"""


def variables(environ: str = "", **modules: str) -> dict[str, EnvVar]:
    files = {
        SERVER_ARGS: "",
        ENVIRON: f"{ENV_KINDS}\nclass Envs:\n    SGLANG_ON = EnvBool(False)\n    SGLANG_NEW = EnvInt(3)\n{environ}",
    }
    files |= {f"python/sglang/{name.replace('__', '/')}.py": text for name, text in modules.items()}
    return dict(extract(tree(files), "sglang.launch_server").env)


@pytest.mark.parametrize(
    ("line", "kind", "default"),
    [
        ("EnvBool(True)", "bool", "True"),
        ("EnvInt(16)", "int", "16"),
        ("EnvInt(None)", "int", None),
        ("EnvStr('a')", "str", "a"),
        ("EnvStr(default='a')", "str", "a"),
        ("EnvTuple(tuple())", "tuple", "()"),
        ("EnvBool(_hip)", "bool", None),
        ("EnvStr(lambda: 'x')", "str", None),
        ("EnvInt(1024 * 2)", "int", "2048"),
    ],
)
def test_the_registry(line: str, kind: str, default: str | None) -> None:
    found = variables(f"    SGLANG_X = {line}\ndef _hip(): return False\n")
    assert found["SGLANG_X"] == EnvVar("SGLANG_X", "registry", kind, default, registered=True)  # type: ignore[arg-type]


def test_what_is_no_variable_is_not_in_the_registry() -> None:
    assert set(variables("    LIMIT = 3\n    def helper(self): return 1\n")) == {"SGLANG_ON", "SGLANG_NEW"}


READS = {
    "os.getenv('SGLANG_X')": ("unknown", False),
    "os.getenv('SGLANG_X', '1') == '1'": ("unknown", False),
    "os.environ['SGLANG_X']": ("unknown", False),
    "os.environ.get('SGLANG_X', 'a')": ("unknown", False),
    "os.environ.setdefault('SGLANG_X', 'a')": ("unknown", False),
    "'SGLANG_X' in os.environ": ("unknown", False),
    "'SGLANG_X' not in os.environ": ("unknown", False),
    "os.environ.get(\n    'SGLANG_X',\n    'a',\n)": ("unknown", False),
    "get_bool_env_var('SGLANG_X')": ("bool", False),
    "utils.get_int_env_var('SGLANG_X', 3)": ("int", False),
    "os.environ.get(NAME)": ("unknown", False),
    "_optional_env_int('SGLANG_X')": ("int", True),
    "_get_env('SGLANG_X', str)": ("unknown", True),
}


@pytest.mark.parametrize("expression", READS)
def test_read_on_the_spot(expression: str) -> None:
    kind, indirect = READS[expression]
    found = variables(
        srt__layers__some=f"import os\nNAME = 'SGLANG_X'\nclass C:\n    def f(self):\n        return (\n{expression})\n"
    )
    assert found["SGLANG_X"] == EnvVar("SGLANG_X", "ad hoc", kind, indirect=indirect)  # type: ignore[arg-type]


def test_one_place_that_reads_it_itself_is_enough() -> None:
    found = variables(
        srt__a="import os\nA = os.getenv('SGLANG_X')", srt__b="B = _env_flag('SGLANG_X')\nC = _env_int('SGLANG_Y')"
    )
    assert (found["SGLANG_X"].indirect, found["SGLANG_Y"].indirect) == (False, True)


def test_read_in_a_decorator() -> None:
    assert "SGLANG_X" in variables(srt__some="@app.get(os.environ.get('SGLANG_X', '/'))\ndef f():\n    pass\n")


@pytest.mark.parametrize(
    "text",
    [
        "# os.getenv('SGLANG_X')\n",
        '"""Set it with os.environ["SGLANG_X"]."""\n',
        "os.getenv(f'SGLANG_{name}')\n",
        "os.getenv('_SGLANG_X')\n",
        "settings.get('SGLANG_X')  # the environment\n",
    ],
)
def test_what_is_no_read(text: str) -> None:
    assert not {name for name in variables(srt__some=text) if "SGLANG_X" in name}


@pytest.mark.parametrize("path", ["test__x", "srt__layers__tests__x", "multimodal_gen__x"])
def test_tests_and_the_diffusion_engine_are_left_out(path: str) -> None:
    assert "SGLANG_X" not in variables(**{path: "import os\nos.getenv('SGLANG_X')\n"})


def test_a_file_that_does_not_parse_is_said() -> None:
    files = tree({SERVER_ARGS: "", "python/sglang/srt/broken.py": "os.getenv('A'\n"})
    read = extract(files, "sglang.launch_server")
    assert any("srt/broken.py is no Python that can be read" in one for one in read.unknown)


OLD = {
    "a call": (f"{PRINT}_print_deprecated_env('SGLANG_OLD', 'SGLANG_NEW')", "SGLANG_NEW"),
    "a call the other way round": (f"{TURNED}_print_deprecated_env('SGLANG_NEW', 'SGLANG_OLD')", "SGLANG_NEW"),
    "a call without a new name": (f"{PRINT}_print_deprecated_env('SGLANG_OLD')", None),
    "a flag": (f"{WARN}_warn_deprecated_env_to_cli_flag('SGLANG_OLD', \"use '--new=a' instead.\")", "--new=a"),
    "no flag": (f"{WARN}_warn_deprecated_env_to_cli_flag('SGLANG_OLD', 'Unset it.')", None),
    "a table of names": ("def f():\n    _deprecated_ms_to_s = {'SGLANG_OLD': 'SGLANG_NEW'}\n", "SGLANG_NEW"),
    "an alias": ("    SGLANG_NEW2 = EnvBoolWithAlias(False, deprecated_name='SGLANG_OLD')\n", "SGLANG_NEW2"),
    "a table of objects": (f"{TABLE}_DEPRECATED: D = {{'SGLANG_OLD': _DeprecatedEnv('SGLANG_NEW')}}", "SGLANG_NEW"),
    "an object with a note": (f"{TABLE}_DEPRECATED = {{'SGLANG_OLD': _DeprecatedEnv(note='Pass --new a.')}}", "--new"),
    "an object without a word": (f"{TABLE}_DEPRECATED_ENVS = {{'SGLANG_OLD': _DeprecatedEnv()}}", None),
}  # fmt: skip


@pytest.mark.parametrize("case", OLD)
def test_deprecated(case: str) -> None:
    text, use = OLD[case]
    found = variables(text if text.startswith("    ") else f"\n{text}\n")
    assert (found["SGLANG_OLD"].source, found["SGLANG_OLD"].use) == ("deprecated", use)


def test_an_old_one_has_the_kind_of_its_successor_and_may_still_be_registered() -> None:
    found = variables(
        f"\n{PRINT}_print_deprecated_env('SGLANG_OLD', 'SGLANG_NEW')\n_print_deprecated_env('SGLANG_ON')\n"
    )
    assert (found["SGLANG_OLD"].kind, found["SGLANG_OLD"].registered) == ("int", False)
    assert found["SGLANG_ON"] == EnvVar("SGLANG_ON", "deprecated", "bool", "False", None, registered=True)


def test_a_tree_without_a_registry_says_so() -> None:
    files = tree({SERVER_ARGS: "", ENVIRON: "ENVS = {}\n"})
    assert "no registry of variables can be read" in " ".join(extract(files, "sglang.launch_server").unknown)
