"""The first clue of a long night, told by `check` in a second: a template of V3.2 on a V4 model, and what renders it.

Whole: the command line, a workspace on disk, the real git, and a base that is as small as a base can be.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from stackctl.cli import main

TEMPLATE = "tool_chat_template_deepseekv32.jinja"
SERVER_ARGS = """
import dataclasses


@dataclasses.dataclass
class ServerArgs:
    model_path: str

    @staticmethod
    def add_cli_args(parser):
        parser.add_argument("--model-path", "--model", type=str, required=True)
        parser.add_argument("--served-model-name", type=str, default=None)
        parser.add_argument("--host", type=str, default="127.0.0.1")
        parser.add_argument("--port", type=int, default=30000)
        parser.add_argument("--tool-call-parser", type=str, choices=["deepseekv32", "deepseekv4"], default=None)
        parser.add_argument("--reasoning-parser", type=str, choices=["deepseek-v3", "deepseek-v4"], default=None)
        parser.add_argument("--chat-template", type=str, default=None)
"""
STACK = f"""\
base: {{path: ../../engine}}
model: {{path: /models/m, name: m, architecture: DeepseekV4ForCausalLM}}
serve:
  tool_call_parser: deepseekv4
  reasoning_parser: deepseek-v4
  chat_template: {TEMPLATE}
roles:
  single: {{host: a, port: 30000}}
hosts: {{a: {{address: local}}}}
"""


@pytest.fixture
def stacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the stacks, beside a base that says it is 0.5.15."""
    package = tmp_path / "engine" / "python" / "sglang"
    (package / "srt").mkdir(parents=True)
    (package / "srt" / "server_args.py").write_text(SERVER_ARGS)
    (package / "_version.py").write_text('__version__ = version = "0.5.15"\n')
    folder = tmp_path / "workspace" / "stacks"
    folder.mkdir(parents=True)
    (folder / "main.yaml").write_text(STACK)
    monkeypatch.chdir(folder.parent)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("STACKCTL_HOME", str(tmp_path / "home"))
    return folder


def told(capsys: pytest.CaptureFixture[str]) -> str:
    """All that was printed, in one line."""
    captured = capsys.readouterr()
    return " ".join((captured.out + captured.err).split())


def test_a_template_of_another_generation_is_one_clear_finding(
    stacks: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (stacks / TEMPLATE).write_text("{{ messages }}")
    assert main(["check", "main"]) == 0
    output = told(capsys)
    assert (
        f"stacks/main.yaml:6:3: warning CHAT-TEMPLATE-IGNORED: {TEMPLATE} does not shape the prompt: sglang 0.5.15 "
        "renders it with its DeepSeek-V4 encoder, because the tool-call parser is deepseekv4; and the template is one "
        "for DeepSeek-V3.2" in output
    )
    assert "`chat_template: native`" in output
    assert output.count("warning") == 2  # the finding, and the sum
    (stacks / "main.yaml").write_text(STACK.replace(TEMPLATE, "native"))
    assert main(["check", "--strict", "main"]) == 0
    assert "TEMPLATE" not in told(capsys)


def test_a_name_of_a_template_without_the_file_leads_to_the_same_way_out(
    stacks: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As it stands in a launch command: the examples of sglang's repository are not in its wheel."""
    assert main(["check", "main"]) == 2
    output = told(capsys)
    assert (
        f"stacks/main.yaml:6:3: serve.chat_template: chat template stacks/{TEMPLATE}: there is no such file" in output
    )
    assert "with tool_call_parser deepseekv4, sglang from 0.5.12 on renders the prompt with its DeepSeek-V4" in output
    assert "write `chat_template: native`" in output


def test_the_parser_that_matches_the_template_is_the_real_mistake(
    stacks: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whoever puts the parser right for the template gets the prompt wrong for the model."""
    (stacks / "main.yaml").write_text(STACK.replace(TEMPLATE, "native").replace("deepseekv4", "deepseekv32"))
    assert main(["check", "main"]) == 2
    output = told(capsys)
    assert "stacks/main.yaml:4:3: error PARSER-FORCES-ENCODING: tool-call parser deepseekv32" in output
    assert "hint: write deepseekv4" in output
    assert "PARSER-PAIR" not in output
