"""The keys of a stack file: their names, types and limits, and nothing that needs two of them at once.

schema.py turns what pydantic finds into located problems; rules across keys are in checks.py.
Every field here must occur in stacks/example.yaml.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, GetJsonSchemaHandler, WithJsonSchema
from pydantic.annotated_handlers import GetCoreSchemaHandler
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from stackctl.core.stack import units

NAME, A_NAME = "[a-z0-9][a-z0-9._-]{0,62}", "a name of small letters, digits, `.`, `_` and `-`"


@dataclass(frozen=True)
class _Like:
    """Text of a form that has a name; an editor is told the form too."""

    pattern: str
    expected: str

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self._check, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {**handler(schema), "pattern": f"^(?:{self.pattern})$"}

    def _check(self, value: str) -> str:
        if re.fullmatch(self.pattern, value) is None:
            raise PydanticCustomError("form", "{reason}", {"reason": f"expected {self.expected}"})
        return value


def _read(reader: Callable[[object], float]) -> BeforeValidator:
    """A number written with its unit."""

    def check(value: object) -> float:
        try:
            return reader(value)
        except ValueError as error:
            raise PydanticCustomError("form", "{reason}", {"reason": str(error)}) from None

    return BeforeValidator(check)


def _one_or_list(value: object) -> object:
    """A role is one mapping, or a list of them."""
    return [value] if isinstance(value, dict) else value


def _plain_text(value: object) -> object:
    """`env: {A: 1}` means the text 1, and `true` the text true."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int) else value


def _flag_value(value: object) -> object:
    """One word, several words, or a mapping that is passed as JSON."""
    words = value if isinstance(value, list) else [value]
    if isinstance(value, dict) or (words and all(_is_word(word) for word in words) and value is not None):
        return value
    raise PydanticCustomError("form", "expected text, a number, true, false, a list of words, or a mapping (as JSON)")


def _is_word(value: object) -> bool:
    return isinstance(value, int) or (isinstance(value, str) and not re.search(r"[\x00-\x1f\x7f]", value))


def _all_or_names(value: object) -> object:
    """`all`, `none`, or names: True, False, or the list."""
    if value in ("all", "none"):
        return value == "all"
    if isinstance(value, list) and all(isinstance(name, str) and name for name in value):
        return value
    raise PydanticCustomError("form", "expected `all`, `none`, or a list of names")


LINE = r"[^\x00-\x1f\x7f]"  # no control characters: these values reach scripts, headers and logs
ADDRESS = r"([A-Za-z0-9_][A-Za-z0-9._-]*@)?[A-Za-z0-9][A-Za-z0-9._-]*(:[0-9]{1,5})?"


def _form(pattern: str) -> WithJsonSchema:
    return WithJsonSchema({"type": "string", "pattern": f"^(?:{pattern})$"})


Duration = Annotated[float, _read(units.duration), Field(gt=0), _form(r"([0-9]+(\.[0-9]+)?(ms|s|m|h|d))+")]
Size = Annotated[int, _read(units.size), _form("[0-9]+(\\.[0-9]+)? ?([KMGT]i?B|B)")]
Share = Annotated[float, _read(units.share), _form("[0-9]+(\\.[0-9]+)? ?%|0\\.[0-9]+")]
Text = Annotated[str, _Like(LINE + "+", "text on one line")]
EnvValue = Annotated[
    str,
    BeforeValidator(_plain_text),
    _Like(LINE + "*", "text on one line"),
    WithJsonSchema({"type": ["string", "number", "boolean"]}),
]
EnvName = Annotated[str, _Like("[A-Za-z_][A-Za-z0-9_]*", "the name of a variable: letters, digits and _")]
Name = Annotated[str, _Like(NAME, A_NAME)]
Sha256 = Annotated[str, _Like("[0-9a-f]{64}", "a sha256: 64 hex digits")]
FullCommit = Annotated[str, _Like("[0-9a-f]{40}", "a full commit: 40 hex digits")]
Repository = Annotated[str, _Like(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*", "a repository like OWNER/NAME")]
Module = Annotated[str, _Like(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", "the dotted name of a Python module")]
Pin = Annotated[str, _Like(r"[A-Za-z0-9._-]+==[A-Za-z0-9.!+_-]+", "a pinned package like sglang-router==0.3.2")]
Address = Annotated[str, _Like(ADDRESS, "`local`, user@machine:port, or a name of ~/.ssh/config")]
Arch = Annotated[str, _Like("sm_[0-9]+[a-z]?", "an architecture like sm_120")]
PythonVersion = Annotated[str, _Like(r"3\.[0-9]+(\.[0-9]+)?", 'a version like "3.11"')]
TimeOfDay = Annotated[str, _Like("([01][0-9]|2[0-3]):[0-5][0-9]", 'a time of day like "06:00"')]
Port = Annotated[int, Field(ge=1, le=65535)]
Count = Annotated[int, Field(ge=1)]
WORD = {"type": ["string", "number", "boolean"]}
FlagValue = Annotated[
    object,
    BeforeValidator(_flag_value),
    WithJsonSchema({"anyOf": [WORD, {"type": "array", "items": WORD, "minItems": 1}, {"type": "object"}]}),
]
Flags = dict[str, FlagValue]
Env = dict[EnvName, EnvValue]
Chosen = Annotated[
    object,
    BeforeValidator(_all_or_names),
    WithJsonSchema({"anyOf": [{"enum": ["all", "none"]}, {"type": "array", "items": {"type": "string"}}]}),
]
Arm = Literal["private-prefix", "shared-prefix", "mixed-lengths", "abort"]


class Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, populate_by_name=False, defer_build=True)


class BaseKeys(Strict):
    """Exactly one of pypi, git, path; checks.py says so."""

    pypi: Text | None = None
    sha256: Sha256 | None = None
    git: Text | None = None
    ref: Text | None = None
    commit: FullCommit | None = None
    path: Text | None = None


class ModelKeys(Strict):
    path: Text | None = None
    name: Text
    architecture: Text | None = None
    quantization: Text | None = None
    repo: Repository | None = None
    revision: FullCommit | None = None
    manifest: Text | None = None
    make: Text | None = None


class ServeKeys(Strict):
    module: Module = "sglang.launch_server"
    tool_call_parser: Text | None = None
    reasoning_parser: Text | None = None
    chat_template: Text = "native"
    flags: Flags = {}
    env: Env = {}


class EngineKeys(Strict):
    host: Text
    port: Port
    gpus: list[Annotated[int, Field(ge=0)]] = []
    flags: Flags = {}
    env: Env = {}


class PrefillKeys(EngineKeys):
    bootstrap_port: Port = 8998


class RouterKeys(Strict):
    host: Text
    port: Port
    package: Pin | None = None
    flags: Flags = {}
    env: Env = {}


class RoleKeys(Strict):
    prefill: Annotated[list[PrefillKeys], BeforeValidator(_one_or_list)] = []
    decode: Annotated[list[EngineKeys], BeforeValidator(_one_or_list)] = []
    single: Annotated[list[EngineKeys], BeforeValidator(_one_or_list)] = []
    router: Annotated[list[RouterKeys], BeforeValidator(_one_or_list)] = []


class GpuKeys(Strict):
    count: Count
    arch: Arch | None = None
    memory: Size | None = None


class HostKeys(Strict):
    address: Address
    purpose: Literal["production", "test"] = "test"
    runtime: Literal["process", "docker"] = "process"
    python: Text | None = None
    identity: Text | None = None
    known_hosts: Text | None = None
    gpus: GpuKeys | None = None
    env: Env = {}


class PythonKeys(Strict):
    version: PythonVersion | None = None
    requirements: Text | None = None
    paths: list[Text] = []


class ImageKeys(Strict):
    from_: Text = Field(alias="from")
    arch: list[Text] = []


class TimeoutKeys(Strict):
    start: Duration = 3600.0
    probe: Duration = 25.0
    drain: Duration = 120.0


class CaseKeys(Strict):
    expect: Text


class GateKeys(Strict):
    requests: Count = 8
    cases: CaseKeys | None = None
    test: Text | None = None
    bursts: Count = 2


class ReleaseKeys(Strict):
    keep: Count = 5


class BurstKeys(Strict):
    min: Count = 10
    max: Count = 60


class ControlKeys(Strict):
    concurrency: Count = 1
    requests: Count = 20


class TestKeys(Strict):
    __test__ = False
    kind: Literal["toolcalls", "command"]
    run: Text | None = None
    timeout: Duration = 1800.0
    concurrency: Count = 60
    bursts: BurstKeys = BurstKeys()
    arms: Annotated[list[Arm], Field(min_length=1)] = ["private-prefix"]
    control: ControlKeys = ControlKeys()
    max_rate: Share = 0.02
    confidence: Share = 0.99
    max_tokens: Count = 256
    gap: Duration = 30.0
    wedge: Duration = 30.0
    ttft: Duration = 60.0
    probe: Duration = 15.0
    stagger: Duration | None = None
    cases: CaseKeys | None = None


class ElementKeys(Strict):
    patches: Chosen = True
    flags: Chosen = True
    env: Chosen = True


class TakeOverKeys(Strict):
    until: TimeOfDay


class BisectKeys(Strict):
    test: Text | None = None
    elements: ElementKeys = ElementKeys()
    flip: Flags = {}
    on: dict[Text, Text] = {}
    take_over: TakeOverKeys | None = None
    budget: Duration | None = None
    prior: Literal["weighted", "uniform"] = "weighted"


class LintKeys(Strict):
    severity: dict[Text, Literal["error", "warning", "info", "off"]] = {}


class StackKeys(Strict):
    """The whole file, after `extends`: `without` and `append` are gone by then."""

    stack: Name | None = None
    default: bool = False
    extends: Text | None = None
    base: BaseKeys | None = None
    sources: dict[Name, BaseKeys] = {}
    patches: list[Text] = []
    model: ModelKeys | None = None
    serve: ServeKeys = ServeKeys()
    roles: RoleKeys = RoleKeys()
    hosts: dict[Name, HostKeys] = {}
    python: PythonKeys | None = None
    image: ImageKeys | None = None
    timeouts: TimeoutKeys = TimeoutKeys()
    gate: GateKeys = GateKeys()
    releases: ReleaseKeys = ReleaseKeys()
    secrets: list[EnvName] = []
    tests: dict[Name, TestKeys] = {}
    bisect: BisectKeys = BisectKeys()
    lint: LintKeys = LintKeys()
