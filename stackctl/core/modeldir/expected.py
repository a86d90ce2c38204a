"""A model's folder against what a stack says of it: architecture, quantization, parsers, repository, revision.

What a stack does not say is not compared; what the folder does not say is no fault.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from stackctl.core.doctor.values import Evidence, Finding
from stackctl.core.modeldir.sound import few, finding, see
from stackctl.core.modeldir.values import ModelDir
from stackctl.core.stack.resolved import ResolvedStack

STORED = {  # words of a stack -> of a folder
    "nvfp4": "nvfp4",
    "modelopt_fp4": "nvfp4",
    "modelopt_mixed": "nvfp4",
    "mxfp4": "mxfp4",
    "native": "mxfp4",
    "fp8": "fp8",
    "modelopt_fp8": "fp8",
    "bf16": "bf16",
    "bfloat16": "bf16",
}
FAMILIES = {"deepseekv4": "deepseek-v4", "deepseekv41": "deepseek-v4.1", "deepseekv32": "deepseek-v3.2"}
RENDERED = frozenset({"deepseek-v4", "deepseek-v4.1", "deepseek-v3.2", "deepseek-v3"})  # without a template
NATIVE = "deepseek-v4"  # its own checkpoint calls its method fp8 and holds MXFP4 experts


@dataclass(frozen=True)
class Expected:
    """`template`: the stack brings a chat template of its own."""

    architecture: str | None = None
    quantization: str | None = None
    tool_parser: str | None = None
    template: bool = False
    repository: str | None = None
    revision: str | None = None


def expected_of(stack: ResolvedStack) -> Expected:
    model, serve = stack.model, stack.serve
    return Expected(
        model.architecture,
        model.quantization,
        serve.tool_call_parser,
        serve.chat_template is not None,
        model.repo,
        model.revision,
    )


def found(model: ModelDir, wanted: Expected) -> Iterator[Finding]:
    if model.problem:
        return
    yield from _architecture(model, wanted)
    yield from _quantization(model, wanted)
    yield from _parser(model, wanted)
    yield from _dsml(model, wanted)
    yield from _template(model, wanted)
    yield from _origin(model, wanted)


def _architecture(model: ModelDir, wanted: Expected) -> Iterator[Finding]:
    if wanted.architecture and model.architecture and wanted.architecture != model.architecture:
        message = f"the folder holds {model.architecture}, the stack says {wanted.architecture}"
        seen = [see("grep -A1 architectures", f"{model.path}/config.json", f'"{model.architecture}"')]
        yield finding(
            "MODEL-ARCHITECTURE", "error", message, seen, "Another folder (`model.path`), or model.architecture."
        )


def _quantization(model: ModelDir, wanted: Expected) -> Iterator[Finding]:
    said = STORED.get((wanted.quantization or "").lower().replace("-", "_"))
    there = model.stored
    if said is None or there is None or said == there:
        return
    hint = "Another checkpoint (`model.path`), or model.quantization."
    seen = [Evidence("heads of the shards", _stored(model))]
    if model.quantization:
        seen.append(see("grep -A12 quant", f"{model.path}/config.json", f"{model.quantization}"))
    if said == "fp8" and there == "mxfp4" and model.family == NATIVE:
        message = "this is the native checkpoint: its method is called fp8, but its routed experts are MXFP4"
        yield finding("MODEL-QUANTIZATION", "warning", message, seen, "model.quantization: mxfp4 says what is there.")
        return
    message = f"the folder holds {_words(there)}, the stack says {wanted.quantization}"
    yield finding("MODEL-QUANTIZATION", "error", message, seen, hint)


def _words(stored: str) -> str:
    return {"mxfp4": "MXFP4 experts", "nvfp4": "NVFP4 experts", "fp8": "FP8 weights"}.get(stored, f"{stored} weights")


def _stored(model: ModelDir) -> str:
    if not model.expert_dtypes:
        return "no routed experts"
    scales = f", scales {few(list(model.scale_dtypes))}" if model.scale_dtypes else ""
    return f"routed experts {few(list(model.expert_dtypes))}{scales}"


def _parser(model: ModelDir, wanted: Expected) -> Iterator[Finding]:
    """A parser of one DeepSeek generation renders the prompt of that generation, whatever the model is."""
    speaks = FAMILIES.get(wanted.tool_parser or "")
    if speaks is None or model.family not in FAMILIES.values() or speaks == model.family:
        return
    right = next(parser for parser, family in FAMILIES.items() if family == model.family)
    message = f"tool-call parser {wanted.tool_parser} renders prompts of {speaks}; the folder holds {model.family}"
    seen = [see("grep model_type", f"{model.path}/config.json", f"{model.model_type}, {model.architecture}")]
    yield finding("MODEL-PARSER", "error", message, seen, f"serve.tool_call_parser: {right}")


def _dsml(model: ModelDir, wanted: Expected) -> Iterator[Finding]:
    tokenizer = model.tokenizer
    if wanted.tool_parser not in FAMILIES or tokenizer.dsml != 0:
        return
    spelled = f", but {few(tokenizer.dsml_spelled)}" if tokenizer.dsml_spelled else ""
    message = f"no token of the tokenizer bears ｜DSML｜ (full-width bars){spelled}"
    why = f"parser {wanted.tool_parser} looks for that text, and this may be another model's tokenizer"
    seen = [see("grep -c ｜DSML｜", f"{model.path}/tokenizer.json", "0")]
    yield finding("MODEL-DSML", "warning", f"{message}: {why}", seen, "Fetch the tokenizer of this checkpoint.")


def _template(model: ModelDir, wanted: Expected) -> Iterator[Finding]:
    """sglang chooses what renders a prompt by the parser, then the architecture, then a template."""
    chosen = wanted.tool_parser in FAMILIES or model.is_v4
    if chosen and model.chat_template:
        why = f"tool-call parser {wanted.tool_parser}" if wanted.tool_parser in FAMILIES else "the architecture"
        message = f"{model.chat_template} has a chat template that is not used: {why} chooses sglang's own renderer"
        yield finding("MODEL-TEMPLATE", "info", message, [see("ls", f"{model.path}/{model.chat_template}", "")])
    if chosen or model.chat_template or wanted.template or model.family in RENDERED or model.family is None:
        return
    message = "there is no chat template, and nothing chooses a renderer: chat requests have no form to be put in"
    seen = [see("grep -c chat_template", f"{model.path}/tokenizer_config.json", "0")]
    hint = "serve.chat_template: FILE; requests to /v1/completions need none."
    yield finding("MODEL-TEMPLATE", "warning", message, seen, hint)


def _origin(model: ModelDir, wanted: Expected) -> Iterator[Finding]:
    if wanted.repository and model.repository and wanted.repository != model.repository:
        message = f"the folder is a snapshot of {model.repository}, the stack says {wanted.repository}"
        seen = [see("realpath", model.path, model.real)]
        yield finding("MODEL-REPO", "error", message, seen, "Another folder (`model.path`), or model.repo.")
    if wanted.revision and model.revisions and wanted.revision not in model.revisions:
        there = few([one[:12] for one in model.revisions])
        message = f"the folder is of revision {there}, the stack says {wanted.revision[:12]}"
        seen = [see("realpath", model.path, model.real)]
        yield finding("MODEL-REVISION", "error", message, seen, "Fetch that revision, or change model.revision.")
