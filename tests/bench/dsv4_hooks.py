"""Whether the rules of DeepSeek-V4 refuse what the releases' own hooks refuse, combination by combination.

    just bench hooks [--versions 0.5.15,0.5.23]

srt/arg_groups/deepseek_v4_hook.py of each release is executed from the store, with stand-ins for what it imports, on
arguments made of the release's own flag table. Speculation, KV cache, attention backends, context parallelism and PD
are combined; a combination where one side refuses and the other does not is printed, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import ast
import enum
import itertools
import logging
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from stackctl.app import App
from stackctl.commands.linting.ground import Read, ground
from stackctl.core.lint.argv import read
from stackctl.core.lint.rules import dsv4, dsv4_features, sm120, v41
from stackctl.core.lint.run import run
from stackctl.core.lint.setup import Card, ModelView, Process, Setup
from stackctl.core.upstream.values import Flag
from stackctl.ports import Ports

MODULES = (dsv4, dsv4_features, sm120, v41)
NOT_ASKED = "SM120-DSV4-VERSION"  # kernels that are missing: no hook knows that
RULES = tuple(rule for module in MODULES for rule in module.RULES if rule.id != NOT_ASKED)
VERSIONS = "0.5.12,0.5.13.post1,0.5.14,0.5.15,0.5.16,0.5.17,0.5.18,0.5.19,0.5.20,0.5.21,0.5.22,0.5.23"
HOOK = "python/sglang/srt/arg_groups/deepseek_v4_hook.py"
OVERRIDES = "python/sglang/srt/arg_groups/overrides.py"
MODELS = {"deepseek_v4": "deepseek-v4", "deepseek_v41": "deepseek-v4.1"}
CARDS = {120: Card("sm_120", 8, 96 << 30), 90: Card("sm_90", 8, 141 << 30)}
CP = {"0.5.12": "--enable-nsa-prefill-context-parallel --nsa-prefill-cp-mode round-robin-split",
      "0.5.13": "--enable-dsa-prefill-context-parallel --dsa-prefill-cp-mode round-robin-split"}  # fmt: skip


class Backend(enum.Enum):
    DISABLED = "disabled"
    BREAKABLE = "breakable"
    FULL = "full"
    TC_PIECEWISE = "tc_piecewise"


class Verify(enum.Enum):
    STATIC = "static"


class Unset:
    """A variable that nobody set."""

    def __init__(self, default: object = False) -> None:
        self._default = default

    def get(self) -> object:
        return self._default

    def is_set(self) -> bool:
        return False

    def set(self, _value: object) -> None:
        """The hooks switch variables for a process that is not there."""


class Envs:
    def __getattr__(self, name: str) -> Unset:
        return Unset(None if name == "SGLANG_DSV4_KV_LAYOUT" else False)


def _declare(args: SimpleNamespace, _who: str, **values: object) -> None:
    vars(args).update(values)


class Sglang(MetaPathFinder, Loader):
    """Modules `sglang.*` and `torch` that hold what the hooks import; other names are there and cannot be used."""

    def __init__(self) -> None:
        self.sm = 120
        platform = SimpleNamespace(is_cuda=True, is_hip=False, is_npu=False)
        no: Callable[..., bool] = lambda *_: False  # noqa: E731
        self.names: dict[str, object] = {
            "envs": Envs(),
            "Backend": Backend,
            "RaggedVerifyMode": Verify,
            "read_ragged_verify_mode": lambda: Verify.STATIC,
            "get_platform": lambda: SimpleNamespace(
                **vars(platform), is_sm120=self.sm == 120, is_sm100=False, is_sm90=self.sm == 90
            ),
            "declare_resolution": _declare,
            "resolving_view": lambda args: args,
            "resolved_view": lambda args: args,
            "model_config_of": lambda args: args.get_model_config(),
            "attn_dp_enabled_of": lambda args: args.attn_dp_size > 1,
            "context_parallel_attn_dp_size": lambda args, _layout: args.attn_dp_size * args.dp_size,
            "derive_attn_tp_size": lambda tp_size, attn_cp_size, attn_dp_size: tp_size // attn_dp_size // attn_cp_size,
            "with_phase": lambda config, _phase, **_more: config,
            "ServerArgs": SimpleNamespace(swa_full_tokens_ratio=0.8),
            **dict.fromkeys(
                ("is_unified_kv_triton", "is_npu", "is_hip", "is_sm100_supported", "is_gfx95_supported"), no
            ),
        }

    def find_spec(self, name: str, _path: object = None, _target: object = None) -> ModuleSpec | None:
        return ModuleSpec(name, self, is_package=True) if name.split(".")[0] in ("sglang", "torch") else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        names = self.names

        class Module(ModuleType):
            def __getattr__(self, name: str) -> object:
                if name.startswith("__"):
                    raise AttributeError(name)
                return names.get(name, object())

        return Module(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Nothing is in it but what is asked for."""


@dataclass(frozen=True)
class Combination:
    """`ask`: the functions of the hook that see it, in their order."""

    command: str
    ask: tuple[str, ...]
    role: str = "single"


def combinations(version: str, model: str) -> Iterator[Combination]:
    new = tuple(map(int, version.split(".")[:3])) >= (0, 5, 20)
    first = ("apply_deepseek_v4_defaults", *(("validate_deepseek_v41_features",) if model == "deepseek_v41" else ()))
    backends = ["", *(f"--dsv4-attn-backend {one}" for one in ("flashmla", "trtllm", "flashmla_mega") if new)]
    for kv, name, topk, backend in itertools.product(
        ("auto", "fp8_e4m3", "bfloat16", "bf16", "fp8_e5m2"),
        ("", *(f"--speculative-algorithm {one}" for one in ("EAGLE", "eagle", "NEXTN", "DSPARK", "NGRAM"))),
        ("", "--speculative-eagle-topk 1", "--speculative-eagle-topk 2"),
        backends,
    ):
        yield Combination(f"--kv-cache-dtype {kv} {name} {topk} {backend}", first)
    for mode, pp in itertools.product(("null", "prefill", "decode"), (1, 2)):
        role = "single" if mode == "null" else mode
        yield Combination(f"--disaggregation-mode {mode} --pp-size {pp}", first[:1], role)
    yield from _parallel(version)
    if model == "deepseek_v41":
        yield from _of_v41()


def _parallel(version: str) -> Iterator[Combination]:
    release = ".".join(version.split(".")[:3])
    good = CP.get(release, "--enable-prefill-cp --cp-strategy interleave")
    bad = good.replace("round-robin-split", "in-seq-split").replace("interleave", "zigzag")
    attention = ("", "--attn-dp-size 2") if release >= "0.5.22" else ("",)
    for cp, tp, dp, more, a2a in itertools.product(
        ("", good, bad, *((good.rpartition(" --")[0],) if release not in CP else ())),
        (1, 8, 16), (1, 2), attention, ("none", "deepep", "mori", "nixl"),
    ):  # fmt: skip
        command = f"{cp} --tp-size {tp} --dp-size {dp} {more} --moe-a2a-backend {a2a}"
        yield Combination(command, ("validate_deepseek_v4_cp",))


def _of_v41() -> Iterator[Combination]:
    features = ("validate_deepseek_v41_features",)
    for role, over, dcp in itertools.product(("prefill", "decode"), ("mooncake", "nixl", "mori"), (1, 2)):
        command = f"--disaggregation-mode {role} --disaggregation-transfer-backend {over} --dcp-size {dcp}"
        yield Combination(f"{command} --speculative-algorithm DSPARK", features, role)
    for graph in Backend:
        yield Combination(f"--dsv4-attn-backend trtllm --cuda-graph-backend-prefill {graph.value}", features)


def arguments(process: Process, flags: Sequence[Flag], model: str) -> SimpleNamespace:
    """What the release's parser would give, and what its hooks look up beside it."""
    made = SimpleNamespace()
    for flag in flags:
        _put(made, flag, _value(flag.default))
    for option in process.options:
        assert option.flag is not None, option
        _put(made, option.flag, _value(option.values[0]) if option.flag.nargs != 0 else True)
    made.device = "cuda"
    config = SimpleNamespace(architectures=["DeepseekV4ForCausalLM"], model_type=model)
    made.get_model_config = lambda: SimpleNamespace(hf_config=config, nvfp4_moe_meta=None)
    graph = getattr(made, "cuda_graph_backend_prefill", None)
    prefill = SimpleNamespace(backend=Backend(graph) if graph else Backend.DISABLED, max_seq_len=1)
    made.cuda_graph_config = SimpleNamespace(prefill=prefill)
    made.chunked_prefill_size = made.chunked_prefill_size or 8192
    made.attn_cp_size = getattr(made, "attn_cp_size", None) or 1
    return made


def _put(made: SimpleNamespace, flag: Flag, value: object) -> None:
    """Under all its names: ServerArgs says pp_size where argparse says pipeline_parallel_size."""
    vars(made).update({name.lstrip("-").replace("-", "_"): value for name in (flag.dest, *flag.names)})


def _takes(flag: Flag, values: Sequence[str]) -> bool:
    return flag.choices is None or set(values) <= set(flag.choices)


def _value(text: str) -> object:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def hook_of(ports: Ports, tree: Read, sglang: Sglang) -> dict[str, Any]:
    files = ports.git.read(tree.tree, (HOOK, OVERRIDES))
    if OVERRIDES in files:
        kv = next(
            (
                one
                for one in ast.parse(files[OVERRIDES]).body
                if getattr(one, "name", "") == "_deepseek_v4_kv_cache_dtype"
            ),
            None,
        )
        if isinstance(kv, ast.FunctionDef):
            kv.decorator_list = []
            space: dict[str, Any] = {"Any": object, "logger": logging.getLogger("hook"), **sglang.names}
            exec(compile(ast.Module([kv], []), OVERRIDES, "exec"), space)
            sglang.names["_deepseek_v4_kv_cache_dtype"] = space[kv.name]
            sglang.names["run_post_process_pass"] = lambda args, step: vars(args).update(step(args))
    for name in [name for name in sys.modules if name.split(".")[0] == "sglang"]:
        del sys.modules[name]
    hook: dict[str, Any] = {"__name__": "hook"}
    exec(compile(files[HOOK], HOOK, "exec"), hook)
    return hook


def refusal(hook: dict[str, Any], one: Combination, args: SimpleNamespace) -> str:
    """What the release says of it; empty when it takes it."""
    try:
        for name in one.ask:
            hook[name](*((args, "DeepseekV4ForCausalLM") if name.startswith("apply") else (args,)))
    except (AssertionError, ValueError) as error:
        return str(error) or "refused"
    return ""


def compare(ports: Ports, version: str, sglang: Sglang) -> tuple[int, int, list[str]]:
    tree = ground(ports, f"sglang=={version}")
    hook, compared, refused, differ = hook_of(ports, tree, sglang), 0, 0, []
    models = MODELS if "validate_deepseek_v41_features" in hook else {"deepseek_v4": "deepseek-v4"}
    for (model, family), (sm, card) in itertools.product(models.items(), CARDS.items()):
        sglang.sm = sm
        for one in combinations(version, model):
            if "dsv4-attn" in one.command and (sm == 90) != ("graph" in one.command):
                continue  # the card is asked about in another hook than the graphs are
            argv = shlex.split(one.command)
            options, left = read(argv, tree.upstream)
            if any(option.flag is None or not _takes(option.flag, option.values) for option in options):
                continue  # the parser refuses it before any hook sees it
            process = Process(one.role, one.role, "", tuple(argv), options, left, card=card, table=tree.upstream)  # type: ignore[arg-type]
            setup = Setup(tree.upstream, tree.history, (process,), ModelView("", family), complete=False)
            ours = sorted({fired.rule.id for fired in run(setup, RULES) if fired.severity == "error"})
            theirs = refusal(hook, one, arguments(process, tree.upstream.flags, model))
            compared += 1
            refused += bool(theirs)
            if bool(ours) != bool(theirs):
                differ.append(
                    f"{model} sm_{sm} {one.role}: {one.command}\n    sglang: {theirs or 'takes it'}; rules: {ours}"
                )
    return compared, refused, differ


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--versions", default=VERSIONS, help="comma separated")
    logging.disable(logging.CRITICAL)
    sglang, ports, bad = Sglang(), App().ports, 0
    sys.meta_path.insert(0, sglang)
    print(f"{'sglang':13} {'compared':>9} {'refused':>9} {'differ':>9}")
    for version in parser.parse_args().versions.split(","):
        compared, refused, differ = compare(ports, version, sglang)
        print(f"{version:13} {compared:9} {refused:9} {len(differ):9}", *differ, sep="\n  " if differ else "")
        bad += len(differ)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
