"""How a model's folder looks on a terminal: what it is in a dozen lines, then what is wrong with it."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from stackctl.commands.hosts.model import HostModel, ModelResult, Whole
from stackctl.core.modeldir.values import ModelDir
from stackctl.output.console import Console
from stackctl.output.doctor import show_finding

GIB, MIB = 1 << 30, 1 << 20


def show_model(console: Console, result: ModelResult) -> None:
    for host in result.hosts:
        if host.judged is None:
            console.print(Text.assemble(f"{host.host}: ", ("cannot be asked", "bold red"), f": {host.problem}"))
            continue
        console.print(f"{host.host}: {host.judged.model.path}")
        for name, words in _lines(host, result.parser):
            console.print(f"  {name:13} {words}")
        for one in host.judged.findings:
            show_finding(console, one)
        if not host.judged.findings:
            console.print("  nothing is wrong as far as it can be seen", style="green")


def _lines(host: HostModel, parser: str | None) -> Iterator[tuple[str, str]]:
    assert host.judged is not None
    model = host.judged.model
    if model.problem:
        return
    yield "model", f"{model.architecture or 'no architecture'}, model_type {model.model_type or 'none'}"
    yield "quantization", _quantization(model)
    yield "experts", _experts(model)
    yield "shards", _shards(model)
    yield "tokenizer", _tokenizer(model)
    yield "prompt", _prompt(model, parser)
    if model.context_length:
        yield "context", f"{model.context_length} positions by config.json"
    if model.repository or model.revisions:
        yield "from", f"{model.repository or 'the hub'} at {', '.join(one[:12] for one in model.revisions) or '?'}"
    yield "manifest", _manifest(host)
    if host.whole is not None:
        yield "whole files", _whole(host.whole)
    for number, fit in enumerate(host.judged.fits):
        yield "" if number else "memory", str(fit)
    if host.judged.fits:
        yield "", f"left out: {'; '.join(host.judged.fits[0].left_out)}"


def _quantization(model: ModelDir) -> str:
    return f"{model.quantization} ({model.quantization.where})" if model.quantization else f"none, {model.dtype or '?'}"


def _experts(model: ModelDir) -> str:
    if not model.expert_dtypes:
        return "no routed experts"
    dtypes = ", ".join(f"{dtype} × {count}" for dtype, count in model.expert_dtypes.items())
    scales = f", scales {', '.join(model.scale_dtypes)}" if model.scale_dtypes else ""
    draft = f"; in draft layers {', '.join(model.draft_dtypes)}" if model.draft_dtypes else ""
    return f"{model.experts or 'not known'} ({dtypes}{scales}{draft})"


def _shards(model: ModelDir) -> str:
    named = f" of {len(model.index.shards)} in the index" if model.index else ", no index"
    return f"{len(model.shards)}{named}, {_size(model.weights)} of weights, {_size(model.size)} on the disk"


def _tokenizer(model: ModelDir) -> str:
    tokenizer = model.tokenizer
    count = tokenizer.dsml
    dsml = "" if count is None else f", {count or 'no'} token{'s'[: count != 1]} with ｜DSML｜"
    return f"{', '.join(tokenizer.files) or 'none'}{dsml}"


def _prompt(model: ModelDir, parser: str | None) -> str:
    """What renders it, as sglang chooses: the parser first."""
    template = f"chat template in {model.chat_template}" if model.chat_template else "no chat template"
    encodings = f", {', '.join(model.encodings)}" if model.encodings else ""
    return template + encodings + (f"; tool-call parser {parser} chooses first" if parser else "")


def _manifest(host: HostModel) -> str:
    assert host.judged is not None
    differ = host.judged.differences
    if differ is None:
        return "none"
    return "as it says" if not differ else f"{len(differ)} difference{'s'[: len(differ) != 1]}"


def _whole(whole: Whole) -> str:
    unknown = f", {whole.unknown} with nothing to compare with" if whole.unknown else ""
    return f"{whole.right} right{unknown}; {whole.cached} of {len(whole.digests)} known from before"


def _size(size: int) -> str:
    return f"{size / GIB:.1f} GiB" if size >= GIB else f"{size / MIB:.1f} MiB" if size >= MIB else f"{size} bytes"
