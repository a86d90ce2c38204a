"""A model's folder against itself: shards that are missing or cut off, pointers in place of files, no tokenizer.

Only what makes a start fail, or serve something else than was downloaded, is a finding; each says how to see it.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence

from stackctl.core.doctor.values import Evidence, Finding, Severity
from stackctl.core.modeldir.values import Fault, ModelDir, printable

SHOWN = 5  # files that are named
NUMBERED = re.compile(r"^(?P<stem>.*?)-?(?P<number>\d{5})-of-(?P<count>\d{5})\.safetensors$")
FETCH = "Fetch the file again, with the hub's own client: it continues what was not finished."


def found(model: ModelDir) -> Iterator[Finding]:
    if model.problem and model.repository:
        message = f"the hub's cache there has no {model.repository}: an engine would fetch it at its start"
        hint = f"Before a deploy, as the user that serves: hf download {model.repository}"
        yield finding("MODEL-FOLDER", "warning", message, [see("ls -ld", model.path, model.problem)], hint)
        return
    if model.problem:
        hint = "Is the path right, and may this user read it? `model.path` is a folder on the host."
        yield finding("MODEL-FOLDER", "error", model.problem, [see("ls -ld", model.path, model.problem)], hint)
        return
    if not (model.files or model.shards or model.faults or model.other_weights):
        seen = [see("ls", model.path, _names(model))]
        yield finding(
            "MODEL-FOLDER", "error", "the folder holds no model", seen, "Is it mounted? `model.path` names it."
        )
        return
    yield from _pointers(model)
    yield from _config(model)
    yield from _missing(model)
    yield from _shards(model)
    yield from _others(model)
    yield from _tokenizer(model)
    yield from _download(model)
    yield from _experts(model)


def finding(id: str, severity: Severity, message: str, evidence: Sequence[Evidence] = (), remedy: str = "") -> Finding:
    return Finding(id, severity, message, tuple(evidence), remedy, section="model")


def see(command: str, path: str, output: str) -> Evidence:
    return Evidence(f"{command} {shlex.quote(path)}", output)


def few(names: Sequence[str]) -> str:
    more = len(names) - SHOWN
    return ", ".join(map(printable, names[:SHOWN])) + (f" and {more} more" if more > 0 else "")


def _pointers(model: ModelDir) -> Iterator[Finding]:
    files = [fault.file for fault in model.of_kind("lfs")]
    if files:
        some = files[0]
        seen = see("head -c 120", f"{model.path}/{some}", "version https://git-lfs.github.com/spec/v1 …")
        what = "1 file is a Git-LFS pointer" if len(files) == 1 else f"{len(files)} files are Git-LFS pointers"
        message = f"{what} in place of the content: {few(files)}"
        yield finding(
            "MODEL-LFS", "error", message, [seen], "`git lfs pull` there, or fetch them with the hub's client."
        )


def _config(model: ModelDir) -> Iterator[Finding]:
    broken = {fault.file for fault in model.faults}
    path = f"{model.path}/config.json"
    if "config.json" not in model.files and "config.json" not in broken:
        yield finding("MODEL-CONFIG", "error", "there is no config.json", [see("ls", model.path, _names(model))], FETCH)
    elif "config.json" not in broken and model.architecture is None:
        seen = [see("grep architectures", path, "(nothing)")]
        yield finding("MODEL-CONFIG", "error", "config.json names no architecture", seen, FETCH)
    for fault in model.of_kind("json"):
        severity: Severity = "error" if fault.file in ("config.json", "tokenizer.json", INDEX) else "warning"
        seen = [see("python3 -m json.tool", f"{model.path}/{fault.file}", fault.message)]
        yield finding("MODEL-JSON", severity, f"{fault.file} {fault.message}", seen, FETCH)


INDEX = "model.safetensors.index.json"


def _missing(model: ModelDir) -> Iterator[Finding]:
    """Against the index; without one, against what the files' own numbers say."""
    index = model.index
    missing = list(index.missing) if index else _unnumbered(model)
    if missing:
        where = f"{INDEX} names them" if index else "the names of the others count them"
        lost = f" ({_gib(index.total_size - model.weights)} of weights)" if index and index.total_size else ""
        message = f"{len(missing)} of {len(missing) + len(model.shards)} shards are missing{lost}: {few(missing)}"
        seen = [see("ls", model.path, _names(model))]
        yield finding("MODEL-SHARD-MISSING", "error", f"{message}; {where}", seen, FETCH)
    for shard, (count, some) in (index.lacking if index else {}).items():
        message = f"{shard} lacks {count} tensors that {INDEX} says are in it, {some[0]} first"
        seen = [see("grep -m1", f"{some[0]} {model.path}/{INDEX}", f"{some[0]}: {shard}")]
        yield finding(
            "MODEL-INDEX", "error", message, seen, "Index and shard are of two checkpoints: fetch both again."
        )
    if index and index.unnamed:
        message = f"{INDEX} does not name {few(index.unnamed)}, and sglang reads what it names only"
        yield finding("MODEL-INDEX", "info", message, [see("ls", model.path, _names(model))])
    if not model.shards and not missing:
        beside = f"; there is {few(model.other_weights)}, which is not looked at" if model.other_weights else ""
        severity: Severity = "warning" if model.other_weights else "error"
        seen = [see("ls", model.path, _names(model))]
        yield finding("MODEL-WEIGHTS", severity, f"there is no safetensors file{beside}", seen, FETCH)


def _unnumbered(model: ModelDir) -> list[str]:
    """`model-00002-of-00046.safetensors`, where others of the 46 are there."""
    parts = [part for one in model.shards if (part := NUMBERED.match(one.name))]
    there = {(part["stem"], part["count"], int(part["number"])) for part in parts}
    wanted = {(stem, count, n) for stem, count, _ in there for n in range(1, min(int(count), 10_000) + 1)}
    return [f"{stem}-{n:05d}-of-{count}.safetensors" for stem, count, n in sorted(wanted - there)]


def _shards(model: ModelDir) -> Iterator[Finding]:
    for fault in model.of_kind("shard"):
        size = next((one.size for one in model.shards if one.name == fault.file), 0)
        seen = [see("stat -c %s", f"{model.path}/{fault.file}", str(size))]
        yield finding("MODEL-SHARD", "error", f"{fault.file}: {fault.message}", seen, FETCH)


def _others(model: ModelDir) -> Iterator[Finding]:
    for fault in model.of_kind("dangling", "unreadable", "large"):
        severity: Severity = "warning" if fault.kind == "large" else "error"
        seen = [see("ls -lL", f"{model.path}/{fault.file}", fault.message)]
        yield finding("MODEL-FILE", severity, f"{fault.file}: {fault.message}", seen, _remedy(fault))


def _remedy(fault: Fault) -> str:
    if fault.kind == "dangling":
        return "A snapshot of the hub's cache is links into its blobs: both must be there, in a container too."
    if fault.kind == "unreadable":
        return "A file that the user who serves may read must be there."
    return "Is this the right file?"


def _tokenizer(model: ModelDir) -> Iterator[Finding]:
    known = {*model.files, *(fault.file for fault in model.faults)}
    if "tokenizer.json" in known:
        return
    seen = [see("ls", model.path, _names(model))]
    if any(name == "tokenizer.model" or name.endswith((".tiktoken", "merges.txt")) for name in known):
        message = f"there is no tokenizer.json; the tokenizer must come of {few(model.tokenizer.files)}"
        yield finding("MODEL-TOKENIZER", "info", message, seen)
    else:
        yield finding("MODEL-TOKENIZER", "error", "there is no tokenizer.json, nor another tokenizer", seen, FETCH)


def _download(model: ModelDir) -> Iterator[Finding]:
    place = f"{model.path}/.cache/huggingface/download"
    if model.unfinished:
        message = f"{model.unfinished} download{'s'[: model.unfinished != 1]} of the hub's client were not finished"
        seen = [see("ls", place, f"{model.unfinished} × *.incomplete")]
        yield finding("MODEL-UNFINISHED", "warning", message, seen, "Fetch again; or remove the leftovers.")
    if len(model.revisions) > 1:
        message = f"the files are of {len(model.revisions)} revisions: {few([one[:12] for one in model.revisions])}"
        seen = [see("head -qn1", f"{place}/*.metadata", "\n".join(model.revisions[:SHOWN]))]
        yield finding("MODEL-REVISION", "warning", message, seen, "Fetch the whole of one revision.")


def _experts(model: ModelDir) -> Iterator[Finding]:
    if len(model.expert_dtypes) > 1:
        said = ", ".join(f"{dtype} ({count} tensors)" for dtype, count in model.expert_dtypes.items())
        message = f"routed experts are stored in {len(model.expert_dtypes)} ways: {said}"
        hint = "Are these shards of two checkpoints? sglang looks at one expert and takes all for the same."
        yield finding("MODEL-EXPERTS", "warning", message, [Evidence("heads of the shards", said)], hint)


def _names(model: ModelDir) -> str:
    names = sorted([*model.files, *(one.name for one in model.shards)])
    return f"{len(names)} file{'s'[: len(names) != 1]}: {few(names)}" if names else "(no file that belongs to a model)"


def _gib(size: int) -> str:
    return f"{max(size, 0) / 2**30:.1f} GiB"
