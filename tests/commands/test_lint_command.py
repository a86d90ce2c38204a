"""`stackctl lint-command`: what it reads, which base it takes, what it says and writes."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from hashlib import sha256

import pytest

from stackctl.commands.gather import load
from stackctl.commands.init import BASE
from stackctl.commands.linting.command import LintCommandRequest, LintCommandResult, as_line, hidden, lint_command
from stackctl.commands.selection import Selection
from stackctl.core.base.values import TreeFile
from stackctl.core.names import TreeId
from stackctl.core.stack.resolved import PypiBase
from stackctl.core.upstream.stored import FORMAT, table_to_json
from stackctl.errors import InvalidFile, StackctlError, UsageError
from stackctl.ports import Ports
from tests.core.lint.setups import table
from tests.workspaces import SMALL, ports_of

TREES = {"0.5.15": TreeId("a" * 40), "0.5.23": TreeId("b" * 40)}
STACK = SMALL.replace(
    "base: {path: engine}", f"default: true\nbase: {{pypi: {BASE.requirement}, sha256: {BASE.sha256}}}"
)


class Trees:
    """`ports.Git` that has some trees, and reads none: their tables are kept."""

    def has_tree(self, tree: TreeId) -> bool:
        return tree in TREES.values()


class NoIndex:
    """`ports.Index` without a network."""

    def download(self, requirement: str, python_version: str | None = None) -> bytes | None:
        raise StackctlError(f"cannot fetch {requirement}: no network")


def machine(files: dict[str, str] | None = None) -> Ports:
    """Two releases in the store, their tables kept, and no network."""
    ports = replace(ports_of(files or {}), git=Trees(), index=NoIndex())
    home = ports.files.home()
    pins = {"0.5.15": BASE, "0.5.23": PypiBase("sglang==0.5.23", BASE.sha256)}
    for version, tree in TREES.items():
        ports.files.write(f"{home}/upstream/{tree}-{FORMAT}.json", table_to_json(table(version)))
        pin = {"format": 2, "pypi": pins[version].requirement, "sha256": pins[version].sha256}
        name = sha256(json.dumps(pin, sort_keys=True).encode()).hexdigest()
        ports.files.write(f"{home}/bases/{name}.json", json.dumps({"tree": tree}).encode())
    release = sha256(b"release sglang==0.5.23").hexdigest()
    ports.files.write(f"{home}/bases/{release}.json", json.dumps({"sha256": BASE.sha256}).encode())
    return ports


def lint(*words: str, ports: Ports | None = None, **more: object) -> LintCommandResult:
    return lint_command(ports or machine(), LintCommandRequest(words, **more))  # type: ignore[arg-type]


def rules(result: LintCommandResult) -> list[str]:
    return [one.rule for one in result.findings if one.severity != "info"]


SERVE = ("sglang", "serve", "--model-path", "/m")


def test_a_command_is_read_against_the_release_that_is_named() -> None:
    old = lint(*SERVE, "--cuda-graph-bs", "1", base="sglang==0.5.15")
    new = lint(*SERVE, "--cuda-graph-bs", "1", base="0.5.23")
    assert (rules(old), rules(new)) == (["FLAG-DEPRECATED"], ["FLAG-REMOVED"])
    assert old.base == f"sglang==0.5.15 (sha256 {BASE.sha256})"
    assert (old.version, old.exit, new.exit) == ("0.5.15", 0, 2)


def test_without_a_base_it_is_the_default_stacks() -> None:
    result = lint(*SERVE, ports=machine({"stacks/prod.yaml": STACK}))
    assert (result.version, result.why) == ("0.5.15", "the base of stack prod; --base names another")


def test_without_a_workspace_it_is_the_newest_release_that_is_known() -> None:
    result = lint(*SERVE)
    assert (result.version, result.why) == ("0.5.23", "the newest release that stackctl knows; --base names another")


def test_a_release_that_is_not_here_wants_a_network() -> None:
    with pytest.raises(StackctlError, match=r"cannot fetch sglang==0\.5\.18: no network"):
        lint(*SERVE, base="sglang==0.5.18")


@pytest.mark.parametrize("base", ["nope", "", "sglang>=0.5"])
def test_a_base_that_names_nothing(base: str) -> None:
    with pytest.raises(UsageError, match=r"--base .*names nothing here|the STACK given is empty"):
        lint(*SERVE, base=base)


def test_findings_point_into_the_command() -> None:
    result = lint("SGLANG_X=a b", "python", "-m", "sglang.launch_server", "--model-path", "/m", "--nope", base="0.5.15")
    assert result.line == "SGLANG_X='a b' python -m sglang.launch_server --model-path /m --nope"
    columns = {one.rule: (one.where.column if one.where else None) for one in result.findings}
    assert result.line[(columns["FLAG-UNKNOWN"] or 0) - 1 :] == "--nope"
    assert result.line[(columns["ENV-UNKNOWN"] or 0) - 1 :].startswith("a b")


def test_one_word_is_a_command_line() -> None:
    assert rules(lint("A=1; sglang serve --model-path /m --nope $A", base="0.5.15")) == ["FLAG-UNKNOWN"]


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("A=1", "B=", "C=x y", "run", "D=1 2", "$X"), "A=1 B= C='x y' run 'D=1 2' '$X'"),
        (("run", "--a={}", "it's"), "run '--a={}' 'it'\"'\"'s'"),
    ],
)
def test_words_become_the_line_that_means_them(words: tuple[str, ...], line: str) -> None:
    assert as_line(words) == line


def test_a_file_and_stdin() -> None:
    ports = machine({"serve.sh": "sglang serve --model-path /m \\\n  --nope\n"})
    (one,) = [each for each in lint(ports=ports, file="serve.sh", base="0.5.15").findings if each.severity == "error"]
    assert str(one) == "serve.sh:2:3: --nope: FLAG-UNKNOWN: sglang 0.5.15 has no flag --nope"
    (one,) = [
        each
        for each in lint(text=b"sglang serve --model-path /m --nope", base="0.5.15").findings
        if each.severity == "error"
    ]
    assert str(one.where) == "stdin:1:30"


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({}, "nothing to read"),
        ({"file": "serve.sh", "text": b"x"}, "a command and a file"),
        ({"file": "nope.sh"}, "there is no file nope.sh"),
        ({"file": "folder"}, "folder is a folder"),
        ({"file": "serve.sh", "card": "RTX"}, "--card RTX: this names no one card"),
        ({"file": "serve.sh", "to_stack": "serve.sh"}, "there is such a file already"),
        ({"file": "serve.sh", "to_stack": "x.txt"}, "a stack file ends in .yaml"),
        ({"file": "serve.sh", "to_stack": "stacks/My Stack.yaml"}, "a stack cannot be called 'My Stack'"),
        ({"file": "serve.sh", "to_stack": "-", "hosts": ("gpu1",)}, "--host gpu1: expected NAME=address"),
    ],
)
def test_wrong_usage_is_told(more: dict[str, object], message: str) -> None:
    ports = machine({"serve.sh": "sglang serve /m", "folder/x": ""})
    with pytest.raises(UsageError, match=message):
        lint(ports=ports, **{"base": "0.5.15", **more})
    assert ports.files.read("/ws/serve.sh") == b"sglang serve /m"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "no launch of sglang in it"),
        (b"echo hello\n", "no launch of sglang in it"),
        (b"\x7fELF\x00", "is no text"),
        (b"sglang serve --model-type diffusion --model-path /m", "starts a diffusion server"),
    ],
)
def test_what_holds_no_launch_is_refused(data: bytes, message: str) -> None:
    with pytest.raises(InvalidFile, match=message):
        lint(text=data, base="0.5.15")


def test_a_script_that_only_sources_the_launch_says_which_files() -> None:
    with pytest.raises(InvalidFile) as caught:
        lint(text=b"source ./env.sh\n. lib.sh\nrun_server", base="0.5.15")
    assert "it sources ./env.sh, lib.sh, which was not read" in (caught.value.problems[0].hint or "")


def test_what_is_not_known_is_told() -> None:
    script = b"source x.env\nA=''\n[ $D ] && A='--log-level debug'\nsglang serve --model-path /m --tp $1 $A"
    assert lint(text=script, base="0.5.15").unknown == (
        "stdin:4:35: $1 is not known without running it",
        "single-0: a file that was not read may set more variables",
        "stdin:3:14: only under a condition: --log-level debug",
    )


def test_strict_and_the_exit_code() -> None:
    words = (*SERVE, "--cuda-graph-bs", "1")
    assert lint(*words, base="0.5.15").exit == 0
    assert lint(*words, base="0.5.15", strict=True).exit == 2
    assert lint(*SERVE, "--tp", "$(x)", base="0.5.15", to_stack="-").exit == 0  # quoted: it is that very text
    assert lint("sglang serve --model-path /m --tp $1", base="0.5.15", to_stack="-").exit == 1


def test_the_stack_is_written_whole_and_can_be_loaded() -> None:
    ports = machine({"serve.sh": "sglang serve --model-path /m --chat-template t.jinja", "t.jinja": "{{ x }}"})
    result = lint(ports=ports, file="serve.sh", base="0.5.15", to_stack="stacks/mine.yaml", hosts=("gpu1=a@b",))
    assert (result.written, result.exit) == ("stacks/mine.yaml", 0)
    stack = load(ports, Selection("mine"))
    assert (stack.base, stack.serve.chat_template_text) == (BASE, "{{ x }}")
    assert stack.hosts["gpu1"].address == "a@b"
    assert ports.files.read("/ws/stacks/mine.yaml").decode() == result.stack


def test_a_stack_that_check_would_refuse_is_not_written() -> None:
    script = "sglang serve /m --disaggregation-mode prefill\nsglang serve /m --disaggregation-mode decode"
    ports = machine({"serve.sh": script})
    result = lint(ports=ports, file="serve.sh", base="0.5.23", to_stack="stacks/mine.yaml")
    assert [problem.message for problem in result.refused] == ["port 30000 on local is port of prefill-0 already"]
    assert (result.stack, result.written, ports.files.exists("/ws/stacks/mine.yaml")) == ("", None, False)


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("serve --api-key abc --tp 4", "serve --api-key *** --tp 4"),
        ("HF_TOKEN=abcd serve --api-key=xy", "HF_TOKEN=**** serve --api-key=**"),
        ("serve --x hf_abcdefghijklmnopqrst", "serve --x " + "*" * 23),
        ("serve --tokenizer-path /m --max-tokens 4", "serve --tokenizer-path /m --max-tokens 4"),
        ("serve --api-key --tp 4", "serve --api-key --tp 4"),
    ],
)
def test_secrets_of_a_command_are_not_shown(line: str, shown: str) -> None:
    assert hidden(line) == shown


class Folder(Trees):
    """`Trees` that also take a tree, and keep what it was made of."""

    def __init__(self) -> None:
        self.paths: list[str] = []

    def write_tree(self, files: Iterable[TreeFile]) -> TreeId:
        self.paths = [file.path for file in files]
        return TREES["0.5.15"]


@pytest.mark.parametrize(("below", "base"), [("src/python/sglang", "src"), ("lib/sglang", "lib"), ("sgl", "sgl")])
def test_a_folder_with_the_source_is_a_base(below: str, base: str) -> None:
    files = {f"{below}/srt/server_args.py": "", f"{below}/srt/x.so": "", f"{below}/version.py": ""}
    git = Folder()
    ports = replace(machine(files), git=git)
    result = lint(*SERVE, "--nope", ports=ports, base=base)
    assert git.paths == ["python/sglang/srt/server_args.py", "python/sglang/version.py"]
    assert (result.base, rules(result)) == (base, ["FLAG-UNKNOWN"])


def test_a_folder_without_it_is_none() -> None:
    with pytest.raises(UsageError, match="the folder x has no sglang"):
        lint(*SERVE, ports=machine({"x/y": ""}), base="x")
