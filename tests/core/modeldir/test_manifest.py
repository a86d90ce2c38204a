"""The manifest: what is written reads back, and what is none is refused with its key."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from stackctl.core.modeldir import manifest
from stackctl.core.modeldir.manifest import Manifest, PinnedShard, manifest_of
from stackctl.core.modeldir.values import ModelDir, Shard, SmallFile
from stackctl.onhost import model as onhost
from tests.core.modeldir.test_read import look
from tests.models import INDEX, v4, write

SHA = "0" * 64
MADE = Manifest({"config.json": SmallFile(3, SHA)}, {"a.safetensors": PinnedShard(9, SHA)}, "o/n", "1" * 40)


def test_what_is_written_reads_back() -> None:
    for one in (MADE, replace(MADE, repo=None, shards={"a.safetensors": PinnedShard(9, SHA, SHA)})):
        assert manifest.parse(manifest.text(one).encode()) == one


def test_where_it_came_from_and_whole_digests_are_no_part_of_the_digest() -> None:
    whole = {"a.safetensors": PinnedShard(9, SHA, SHA)}
    assert manifest.digest(MADE) == manifest.digest(replace(MADE, repo=None, revision=None, shards=whole))
    assert manifest.digest(MADE) != manifest.digest(replace(MADE, files={"config.json": SmallFile(4, SHA)}))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "Expecting value"),
        ("[" * 100_000, "nested too deeply"),
        ("[]", "no manifest of format 1"),
        ('{"format": 2}', "no manifest of format 1"),
        ('{"format": 1}', "files: is no object"),
        ('{"format": 1, "files": {}, "shards": {}}', "files: names none"),
        ('{"format": 1, "files": {"a": 1}}', "files.a: is no object"),
        ('{"format": 1, "files": {"../a": {}}}', "'../a' is no name"),
        ('{"format": 1, "files": {"/a": {}}}', "'/a' is no name"),
        ('{"format": 1, "files": {"a": {"size": -1}}}', "a: size is no number"),
        ('{"format": 1, "files": {"a": {"size": 1, "sha256": "X"}}}', "a: sha256 is no sha256"),
        (json.dumps({"format": 1, "files": {}, "shards": {"s": {"size": 1, "header_sha256": SHA, "sha256": 1}}}),
         "s: sha256 is no sha256"),
    ],
)  # fmt: skip
def test_what_is_no_manifest_is_refused(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        manifest.parse(text.encode())


def test_a_shard_without_a_head_cannot_be_pinned() -> None:
    with pytest.raises(ValueError, match=r"a\.safetensors has no whole head"):
        manifest_of(ModelDir("/m", shards=(Shard("a.safetensors", 3),)), None, None)


def test_differences_between_two() -> None:
    other = replace(MADE, files={"config.json": SmallFile(3, "1" * 64)}, shards={})
    assert list(manifest.differences(MADE, other)) == [
        "config.json: 000000000000 (3 bytes) -> 111111111111 (3 bytes)",
        "a.safetensors: header 000000000000 (9 bytes) -> not there",
    ]
    whole = replace(MADE, shards={"a.safetensors": PinnedShard(9, SHA, "2" * 64)})
    (line,) = manifest.differences(MADE, whole)
    assert line.endswith("-> header 000000000000 (9 bytes, whole 222222222222)")


def test_digests_of_whole_shards_are_kept_while_head_and_size_are_the_same() -> None:
    whole = replace(MADE, shards={"a.safetensors": PinnedShard(9, SHA, "2" * 64)})
    assert manifest.remembered(whole, MADE) == {"a.safetensors": "2" * 64}
    assert manifest.remembered(whole, replace(MADE, shards={"a.safetensors": PinnedShard(8, SHA)})) == {}
    assert manifest.remembered(whole, replace(MADE, shards={})) == {}
    assert manifest.remembered(MADE, whole) == {}


def test_a_host_compares_its_folder_with_the_manifest(tmp_path: Path) -> None:
    made = manifest_of(look(v4(tmp_path)), None, None)
    assert set(made.files) >= {"config.json", "tokenizer.json", INDEX, "encoding/encoding_dsv4.py"}
    assert "README.md" not in made.files

    def told() -> list[str]:
        wanted = json.loads(manifest.text(made))
        return list(onhost.main({"path": str(tmp_path), "manifest": wanted})["differences"])

    assert told() == []
    (tmp_path / "README.md").write_text("anything")
    assert told() == []
    write(tmp_path, "generation_config.json", {"eos_token_id": 2})
    (tmp_path / "chat_template.jinja").write_text("x")
    (tmp_path / "tokenizer.json").unlink()
    second = tmp_path / "model-00002-of-00002.safetensors"
    second.write_bytes(second.read_bytes() + b"x")
    first = tmp_path / "model-00001-of-00002.safetensors"
    first.write_bytes(first.read_bytes().replace(b'"pt"', b'"xx"'))
    now = manifest_of(look(tmp_path), None, None)
    changed, name = "generation_config.json", first.name
    assert told() == [
        "chat_template.jinja: the manifest has no such file",
        f"{changed}: sha256 {now.files[changed].sha256}, the manifest has {made.files[changed].sha256}",
        "tokenizer.json: is not there",
        f"{name}: sha256 of its header {now.shards[name].header_sha256}, "
        f"the manifest has {made.shards[name].header_sha256}",
        f"{second.name}: {now.shards[second.name].size} bytes, the manifest has {made.shards[second.name].size}",
    ]
