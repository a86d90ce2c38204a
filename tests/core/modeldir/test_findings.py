"""One thing wrong with a folder gives one finding, with what to type to see it; a sound folder gives none."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from stackctl.core.doctor.values import Finding
from stackctl.core.modeldir.expected import Expected
from stackctl.core.modeldir.findings import findings
from stackctl.core.modeldir.read import model_dir
from stackctl.core.modeldir.values import ModelDir
from stackctl.onhost import model as onhost
from tests.core.modeldir.test_read import look
from tests.models import INDEX, V4, shard, v4, v4_tensors, write

FIRST, SECOND = "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"
NVFP4 = Expected("DeepseekV4ForCausalLM", "nvfp4", "deepseekv4")
POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 4000000000\n"


def found(folder: Path, wanted: Expected | None = None) -> tuple[Finding, ...]:
    return findings(look(folder), wanted)


@pytest.mark.parametrize(
    ("kind", "said"), [("native", "mxfp4"), ("fp8", "fp8"), ("nvfp4", "nvfp4"), ("nvfp4", "NVFP4")]
)
def test_a_sound_folder_that_is_what_the_stack_says(tmp_path: Path, kind: str, said: str) -> None:
    assert found(v4(tmp_path, kind), replace(NVFP4, quantization=said)) == ()
    assert found(tmp_path) == ()


def gone(name: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).unlink()


def text(name: str, content: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_text(content)


def cut(folder: Path) -> None:
    data = (folder / SECOND).read_bytes()
    (folder / SECOND).write_bytes(data[:-7])


def dangling(folder: Path) -> None:
    (folder / SECOND).unlink()
    (folder / SECOND).symlink_to("../blobs/gone")


def pipe(folder: Path) -> None:
    (folder / "config.json").unlink()
    os.mkfifo(folder / "config.json")


def other_shard(folder: Path) -> None:
    (folder / SECOND).write_bytes(shard(v4_tensors("nvfp4", 7)))


def unindexed(folder: Path) -> None:
    (folder / INDEX).unlink()
    (folder / FIRST).unlink()


def mixed(folder: Path) -> None:
    tensors = v4_tensors("native", 1)
    (folder / SECOND).write_bytes(shard({name.replace(".scale", ".weight_scale"): it for name, it in tensors.items()}))
    write(folder, INDEX, {"weight_map": {"x": FIRST}})
    (folder / INDEX).unlink()


def revisions(folder: Path) -> None:
    place = folder / ".cache" / "huggingface" / "download"
    place.mkdir(parents=True)
    for name, letter in (("config.json", "a"), (FIRST, "b")):
        (place / f"{name}.metadata").write_text(f"{letter * 40}\n")


@pytest.mark.parametrize(
    ("spoil", "id", "severity", "words"),
    [
        (gone(SECOND), "MODEL-SHARD-MISSING", "error", f"1 of 2 shards are missing: {SECOND}"),
        (unindexed, "MODEL-SHARD-MISSING", "error", f"{FIRST}; the names of the others count them"),
        (cut, "MODEL-SHARD", "error", f"{SECOND}: is cut off: its tensors have"),
        (text(SECOND, ""), "MODEL-SHARD", "error", "too short for a length"),
        (text(SECOND, "<html>not found</html>"), "MODEL-SHARD", "error", "is refused"),
        (text(SECOND, POINTER), "MODEL-LFS", "error", f"1 file is a Git-LFS pointer in place of the content: {SECOND}"),
        (text("tokenizer.json", POINTER), "MODEL-LFS", "error", "tokenizer.json"),
        (dangling, "MODEL-FILE", "error", f"{SECOND}: is a link to ../blobs/gone, which is not there"),
        (pipe, "MODEL-FILE", "error", "config.json: is no regular file"),
        (other_shard, "MODEL-INDEX", "error", f"{SECOND} lacks 4 tensors"),
        (gone("config.json"), "MODEL-CONFIG", "error", "there is no config.json"),
        (text("config.json", "{}"), "MODEL-CONFIG", "error", "names no architecture"),
        (text("config.json", '{"architectures": ['), "MODEL-JSON", "error", "config.json is no JSON"),
        (text("config.json", "[" * 100_000), "MODEL-JSON", "error", "config.json is no JSON"),
        (text("config.json", "[]"), "MODEL-JSON", "error", "config.json is no JSON object"),
        (text("tokenizer.json", "{"), "MODEL-JSON", "error", "tokenizer.json is no JSON"),
        (text("generation_config.json", "{"), "MODEL-JSON", "warning", "generation_config.json is no JSON"),
        (text(INDEX, "{"), "MODEL-JSON", "error", f"{INDEX} is no JSON"),
        (text(INDEX, '{"weight_map": {"a": 1}}'), "MODEL-JSON", "error", "has no weight_map"),
        (gone("tokenizer.json"), "MODEL-TOKENIZER", "error", "no tokenizer.json"),
        (revisions, "MODEL-REVISION", "warning", "of 2 revisions: aaaaaaaaaaaa, bbbbbbbbbbbb"),
    ],
)  # fmt: skip
def test_one_fault_is_one_finding(
    tmp_path: Path, spoil: Callable[[Path], object], id: str, severity: str, words: str
) -> None:
    spoil(v4(tmp_path, "nvfp4"))
    (one,) = found(tmp_path)
    assert (one.id, one.severity, one.section) == (id, severity, "model")
    assert words in one.message
    assert one.evidence and one.evidence[0].command and one.remedy


def test_shards_of_two_checkpoints_are_told(tmp_path: Path) -> None:
    mixed(v4(tmp_path, "nvfp4"))
    (one,) = found(tmp_path)
    assert one.id == "MODEL-EXPERTS" and "I8 (1 tensors), U8 (1 tensors)" in one.message


def test_folders_that_hold_no_model_are_one_finding(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("")
    for name, words in (("gone", "No such file"), ("empty", "holds no model"), ("file", "Not a directory")):
        (one,) = found(tmp_path / name, NVFP4)
        assert one.id == "MODEL-FOLDER" and words in one.message


def test_a_repository_that_the_hubs_cache_has_not_may_be_fetched_yet(tmp_path: Path) -> None:
    (one,) = findings(model_dir(onhost.main({"path": "deepseek-ai/V4", "hub": str(tmp_path)})), NVFP4)
    assert (one.id, one.severity) == ("MODEL-FOLDER", "warning") and "has no deepseek-ai/V4: an engine" in one.message
    assert "hf download deepseek-ai/V4" in one.remedy
    (one,) = found(tmp_path / "models--deepseek-ai--V4", NVFP4)  # by its path nobody fetches it
    assert one.severity == "error"


def test_a_folder_of_other_weights_is_not_judged(tmp_path: Path) -> None:
    v4(tmp_path)
    for name in (FIRST, SECOND, INDEX):
        (tmp_path / name).unlink()
    (tmp_path / "pytorch_model.bin").write_bytes(b"x")
    (one,) = found(tmp_path)
    assert (one.id, one.severity) == ("MODEL-WEIGHTS", "warning") and "pytorch_model.bin" in one.message


def test_a_leftover_shard_is_told(tmp_path: Path) -> None:
    (v4(tmp_path) / "old.safetensors").write_bytes(shard({}))
    (one,) = found(tmp_path)
    assert (one.id, one.severity) == ("MODEL-INDEX", "info") and "old.safetensors" in one.message


@pytest.mark.parametrize(
    ("kind", "wanted", "id", "severity", "words"),
    [
        ("fp8", NVFP4, "MODEL-QUANTIZATION", "error", "the folder holds FP8 weights, the stack says nvfp4"),
        ("native", NVFP4, "MODEL-QUANTIZATION", "error", "the folder holds MXFP4 experts, the stack says nvfp4"),
        ("nvfp4", replace(NVFP4, quantization="fp8"), "MODEL-QUANTIZATION", "error", "NVFP4 experts"),
        ("native", replace(NVFP4, quantization="fp8"), "MODEL-QUANTIZATION", "warning", "native checkpoint"),
        ("nvfp4", replace(NVFP4, architecture="DeepseekV3ForCausalLM"), "MODEL-ARCHITECTURE", "error",
         "holds DeepseekV4ForCausalLM, the stack says DeepseekV3ForCausalLM"),
        ("nvfp4", replace(NVFP4, tool_parser="deepseekv32"), "MODEL-PARSER", "error",
         "deepseekv32 renders prompts of deepseek-v3.2; the folder holds deepseek-v4"),
    ],
)  # fmt: skip
def test_what_is_not_as_the_stack_says(
    tmp_path: Path, kind: str, wanted: Expected, id: str, severity: str, words: str
) -> None:
    (one,) = found(v4(tmp_path, kind), wanted)
    assert (one.id, one.severity) == (id, severity)
    assert words in one.message and one.evidence and one.remedy


def test_what_the_stack_does_not_say_or_says_in_unknown_words_is_not_compared(tmp_path: Path) -> None:
    assert found(v4(tmp_path, "nvfp4"), Expected()) == ()
    assert found(tmp_path, Expected(quantization="w4afp8", tool_parser="hermes")) == ()


def test_v41_has_the_architecture_of_v4_and_parsers_of_its_own(tmp_path: Path) -> None:
    write(v4(tmp_path), "config.json", {**V4, "model_type": "deepseek_v41"})
    (one,) = found(tmp_path, Expected(tool_parser="deepseekv4"))
    assert one.remedy == "serve.tool_call_parser: deepseekv41"
    assert found(tmp_path, Expected(tool_parser="deepseekv41")) == ()


@pytest.mark.parametrize("spelled", ["", "|DSML|"])
def test_a_tokenizer_without_the_full_width_bars_is_doubted(tmp_path: Path, spelled: str) -> None:
    write(v4(tmp_path), "tokenizer.json", {"added_tokens": [{"content": spelled}], "model": {"vocab": {}}})
    (one,) = found(tmp_path, Expected(tool_parser="deepseekv4"))
    assert (one.id, one.severity) == ("MODEL-DSML", "warning") and "may be" in one.message
    assert (", but |DSML|" in one.message) == bool(spelled)
    assert found(tmp_path) == ()  # no parser looks for it


def test_what_a_template_means(tmp_path: Path) -> None:
    (v4(tmp_path) / "chat_template.jinja").write_text("{{ x }}")
    (one,) = found(tmp_path, Expected(tool_parser="deepseekv4"))
    assert (one.id, one.severity) == (
        "MODEL-TEMPLATE",
        "info",
    ) and "not used: tool-call parser deepseekv4" in one.message
    (one,) = found(tmp_path, Expected())
    assert "not used: the architecture" in one.message
    write(tmp_path, "config.json", {"architectures": ["LlamaForCausalLM"], "model_type": "llama"})
    assert found(tmp_path, Expected()) == ()
    (tmp_path / "chat_template.jinja").unlink()
    (one,) = found(tmp_path, Expected())
    assert (one.id, one.severity) == ("MODEL-TEMPLATE", "warning") and "nothing chooses a renderer" in one.message
    assert found(tmp_path, Expected(template=True)) == ()


def test_another_repository_or_revision(tmp_path: Path) -> None:
    folder = tmp_path / "models--a--b" / "snapshots" / ("1" * 40)
    v4(folder)
    assert found(folder, Expected(repository="a/b", revision="1" * 40)) == ()
    one, other = found(folder, Expected(repository="a/c", revision="2" * 40))
    assert (one.id, other.id) == ("MODEL-REPO", "MODEL-REVISION")
    assert "of revision 111111111111, the stack says 222222222222" in other.message


def test_names_that_a_terminal_would_obey_are_shown_without_it(tmp_path: Path) -> None:
    (v4(tmp_path) / "a\x1b[2J.safetensors").write_bytes(b"")
    told = found(tmp_path)
    assert {one.id for one in told} == {"MODEL-SHARD", "MODEL-INDEX"}
    assert all("a?[2J.safetensors" in one.message and "\x1b" not in str(one) for one in told)


def test_a_repositorys_name_means_its_snapshot_in_the_hubs_cache(tmp_path: Path) -> None:
    home = tmp_path / "hub" / "models--deepseek-ai--DeepSeek-V4-Flash"
    asked = {"path": "deepseek-ai/DeepSeek-V4-Flash", "hub": str(tmp_path / "hub")}

    def there() -> ModelDir:
        return model_dir(json.loads(json.dumps(onhost.main(asked))))

    assert "No such file" in there().problem and "models--deepseek-ai" in there().problem
    v4(home / "snapshots" / ("1" * 40))
    (home / "refs").mkdir()
    (home / "refs" / "main").write_text("1" * 40)
    assert (there().family, there().repository) == ("deepseek-v4", "deepseek-ai/DeepSeek-V4-Flash")


def test_a_folder_in_place_of_a_file_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "models--a--b" / "refs" / "main").mkdir(parents=True)
    assert "models--a--b" in onhost.main({"path": "a/b", "hub": str(tmp_path)})["real"]
    (v4(tmp_path / "m") / "tokenizer.json").unlink()
    (tmp_path / "m" / "tokenizer.json").mkdir()
    (one,) = found(tmp_path / "m")
    assert one.id == "MODEL-TOKENIZER"
