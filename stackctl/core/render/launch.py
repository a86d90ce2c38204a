"""How each process of a stack starts: the one place where flags, ports, cards and addresses become argv and env.

Scripts, release ids, plans and drift checks all read these values; nothing else builds an argument. Paths of the
release (tree, interpreter) and secrets are no part of it: the script knows the first, the host's `env` file the second.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping

from stackctl.core.deploy.values import Launch
from stackctl.core.stack.ports import prometheus_port
from stackctl.core.stack.resolved import HostSpec, Instance, ResolvedStack, Value

ROUTER_MODULE = "sglang_router.launch_router"
LOOPBACK = "127.0.0.1"
EVERYWHERE = "0.0.0.0"


def launches(stack: ResolvedStack) -> tuple[Launch, ...]:
    """In start order. `argv` begins with -m and has neither interpreter nor --weight-version."""
    return tuple(_launch(stack, instance) for instance in stack.instances)


def model_folder(stack: ResolvedStack) -> str | None:
    """The name, below models/ of the stack's folder on a host, of a model that a recipe makes: its content's."""
    if stack.model.recipe is None:
        return None
    made_with = (stack.model.recipe, stack.python.requirements_sha256 if stack.python else None)
    return hashlib.sha256(json.dumps(made_with).encode()).hexdigest()[:16]


def model_path(stack: ResolvedStack) -> str:
    """As the engine is told: relative to the release's folder, where scripts run, when a recipe makes the model."""
    folder = model_folder(stack)
    return stack.model.path if folder is None else f"../../models/{folder}"


def chat_template_file(stack: ResolvedStack) -> str | None:
    """The name, beside the scripts, of the chat template that the stack brings: its content is in its name.

    sglang tells a conversation template from a Jinja one by the suffix.
    """
    text = stack.serve.chat_template_text
    if text is None:
        return None
    suffix = "json" if (stack.serve.chat_template or "").endswith(".json") else "jinja"
    return f"chat-template-{hashlib.sha256(text.encode()).hexdigest()[:12]}.{suffix}"


def _launch(stack: ResolvedStack, instance: Instance) -> Launch:
    host = stack.hosts[instance.host]
    made = _router(stack, instance) if instance.role == "router" else _engine(stack, instance)
    module = ROUTER_MODULE if instance.role == "router" else stack.serve.module
    address = ("--host", _bind(stack, instance), "--port", str(instance.port))
    cards = {"CUDA_VISIBLE_DEVICES": ",".join(map(str, instance.gpus))} if instance.gpus else {}
    return Launch(
        instance=instance.id,
        role=instance.role,
        host=instance.host,
        argv=("-m", module, *address, *made, *_words(instance.flags)),
        env=dict(sorted({**host.env, **instance.env, **cards}.items())),
        url=_url(stack, instance),
        port=instance.port,
    )


def _one_machine(stack: ResolvedStack) -> bool:
    return len({stack.hosts[instance.host].hostname for instance in stack.instances}) == 1


def _clients_come_from_elsewhere(host: HostSpec) -> bool:
    return not host.is_loopback


def _bind(stack: ResolvedStack, instance: Instance) -> str:
    """As narrow as the others allow: on one machine only what clients talk to is open to the network."""
    host = stack.hosts[instance.host]
    if not _clients_come_from_elsewhere(host):
        return LOOPBACK
    return EVERYWHERE if not _one_machine(stack) or _is_front(stack, instance) else LOOPBACK


def _is_front(stack: ResolvedStack, instance: Instance) -> bool:
    """Whether clients talk to this process: the router, or the only engine."""
    return instance.role == "router" or stack.router is None


def _url(stack: ResolvedStack, instance: Instance) -> str:
    """As the other processes reach it; for the front, as clients do."""
    host = stack.hosts[instance.host]
    inside = _one_machine(stack) and not _is_front(stack, instance)
    return f"http://{LOOPBACK if inside else host.hostname}:{instance.port}"


def _engine(stack: ResolvedStack, instance: Instance) -> Iterator[str]:
    yield from ("--model-path", model_path(stack), "--served-model-name", stack.model.name)
    for flag, value in (
        ("--tool-call-parser", stack.serve.tool_call_parser),
        ("--reasoning-parser", stack.serve.reasoning_parser),
        ("--chat-template", chat_template_file(stack)),
    ):
        if value is not None:
            yield from (flag, value)
    if instance.role in ("prefill", "decode"):
        yield from ("--disaggregation-mode", instance.role)
    if instance.bootstrap_port is not None:
        yield from ("--disaggregation-bootstrap-port", str(instance.bootstrap_port))


def _router(stack: ResolvedStack, router: Instance) -> Iterator[str]:
    """The router is told every engine, with the very ports that the engines get."""
    if all(engine.role == "single" for engine in stack.engines):
        yield from ("--worker-urls", *(_url(stack, engine) for engine in stack.engines))
    else:
        yield "--pd-disaggregation"
    for engine in stack.engines:
        if engine.role == "prefill":
            yield from ("--prefill", _url(stack, engine), str(engine.bootstrap_port))
        elif engine.role == "decode":
            yield from ("--decode", _url(stack, engine))
    if "prometheus-port" not in router.flags:
        yield from ("--prometheus-port", str(prometheus_port(router)))


def _words(flags: Mapping[str, Value]) -> Iterator[str]:
    """By name, so that the order in the file changes nothing. A list is several words, a mapping one word of JSON."""
    for name, value in sorted(flags.items()):
        if value is False:
            continue
        yield f"--{name}"
        if value is not True:
            yield from (_word(one) for one in (value if isinstance(value, list) else [value]))


def _word(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":")) if isinstance(value, dict) else str(value)
