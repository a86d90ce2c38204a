"""`stackctl test`: run one of the stack's tests against what is deployed, or against any server by its URL.

Finds the test and the server, then leaves the work to the kind of the test. Everything that keeps it from judging
(nothing deployed, another variant, nobody answers) is an inconclusive report with a reason, never a verdict.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace

from stackctl.commands.selection import Selection
from stackctl.commands.testing import command as command_test
from stackctl.commands.testing import toolcalls
from stackctl.commands.testing.target import Target
from stackctl.core.deploy.values import Deployment, InstanceState
from stackctl.core.names import Secret
from stackctl.core.stack.resolved import ResolvedStack, TestSpec
from stackctl.core.verify.report import TestReport
from stackctl.core.verify.wire import HttpAnswer, HttpRequest
from stackctl.errors import Interrupted, StackctlError, UsageError
from stackctl.ports import Ports

WARM_UP = 20.0  # seconds for the server's first answer


@dataclass(frozen=True)
class TestRequest:
    """`url`: a server to test instead of the deployment. `quick`: the mode inside a bisect, see core/verify/verdict.

    `token`: for the server; without it $OPENAI_API_KEY, or a secret of the stack whose name ends in API_KEY.
    `concurrency`: instead of the test's own.
    """

    __test__ = False
    name: str
    selection: Selection
    url: str | None = None
    quick: bool = False
    token: Secret | None = None
    concurrency: int | None = None


@dataclass(frozen=True)
class Rooms:
    """The verbs that a test asks; tests give others."""

    load: Callable[[Ports, Selection], ResolvedStack]
    status: Callable[[Ports, Selection], Deployment]
    variant: Callable[[Ports, ResolvedStack], str]
    clean: Callable[[Ports, ResolvedStack, TestReport], None] = lambda _ports, _stack, _report: None


def real_rooms() -> Rooms:
    from stackctl.commands.deploying.status import status
    from stackctl.commands.gather import load
    from stackctl.commands.hosts.saving import save_clean
    from stackctl.commands.tree import compose

    return Rooms(load, status, lambda ports, stack: str(compose(ports, stack)[0].variant), save_clean)


def run_test(ports: Ports, request: TestRequest, rooms: Rooms | None = None) -> TestReport:
    """Run it to its verdict. Raises UsageError for a name that the stack does not know."""
    rooms = rooms or real_rooms()
    stack, excuse = _stack(ports, request, rooms)
    spec = _spec(stack, request)
    target = Target(spec, "", stack.workspace if stack else ports.files.cwd(), token=_token(ports, request, stack))
    if stack:
        target = replace(target, stack=stack.name, model=stack.model.name)
    if request.url:
        if excuse:
            ports.progress.say(f"no stack is read ({excuse}): the test has its defaults")
        target = replace(target, url=_base(request.url), model=None, health=(f"{_base(request.url)}/health",))
    elif stack:
        found = _deployed(ports, request, rooms, stack, target)
        if isinstance(found, TestReport):
            return found
        target = found
    report = _run(ports, request, target)
    if stack and not request.url and report.verdict == "clean":
        rooms.clean(ports, stack, report)
    return report


def _run(ports: Ports, request: TestRequest, target: Target) -> TestReport:
    answer = ports.http.fetch(_models(target), WARM_UP)
    if answer.status is None:
        reason = f"nobody answers at {target.url}: {answer.error}"
        hint = "is it up?" if request.url else f"is it up? `stackctl status {target.stack}`"
        return target.report("inconclusive", reason, hint)
    if answer.status in (401, 403):
        reason = f"{target.url} answers {answer.status}"
        return target.report("inconclusive", reason, "set OPENAI_API_KEY in the environment")
    target = replace(target, model=target.model or _model(answer))
    run = command_test.run if target.spec.kind == "command" else toolcalls.run
    try:
        return run(ports, target, request.quick)
    except KeyboardInterrupt:
        raise Interrupted(f"interrupted before a verdict; what serves at {target.url} goes on") from None


def _stack(ports: Ports, request: TestRequest, rooms: Rooms) -> tuple[ResolvedStack | None, str]:
    """The stack; with a URL it may be missing, then why."""
    try:
        return rooms.load(ports, request.selection), ""
    except StackctlError as error:
        if request.url is None or request.selection != Selection():
            raise
        return None, error.message.splitlines()[0]


def _spec(stack: ResolvedStack | None, request: TestRequest) -> TestSpec:
    if stack is None:
        spec = TestSpec(request.name, "toolcalls")
    elif request.name in stack.tests:
        spec = stack.tests[request.name]
    else:
        known = ", ".join(sorted(stack.tests)) or "none"
        raise UsageError(f"stack {stack.name} has no test {request.name!r}", f"its tests: {known}")
    return replace(spec, concurrency=request.concurrency) if request.concurrency else spec


def _deployed(
    ports: Ports, request: TestRequest, rooms: Rooms, stack: ResolvedStack, target: Target
) -> Target | TestReport:
    """The target of what runs now, or the report that says why nothing can be judged."""
    deployment = rooms.status(ports, request.selection)
    if deployment.release is None or deployment.url is None:
        return target.report("inconclusive", f"nothing of {stack.name} is deployed", f"stackctl deploy {stack.name}")
    target = replace(
        target,
        url=_base(deployment.url),
        release=deployment.release,
        variant=deployment.variant,
        start_seconds=deployment.start_seconds,
        health=_health(deployment),
    )
    away = [f"{i.instance} {_gone(i)}" for i in deployment.instances if i.state != "running"]
    if away:
        hint = f"stackctl logs {stack.name}, then stackctl restart {stack.name}"
        return target.report("inconclusive", ", ".join(away), hint)
    if request.selection.without or request.selection.with_patches:
        wanted = rooms.variant(ports, stack)
        if wanted != deployment.variant:
            plain = "as the stack file says"
            reason = f"deployed is {deployment.variant or plain!r}, asked for is {wanted or plain!r}"
            return target.report("inconclusive", reason, f"stackctl deploy {stack.name} with the same options first")
    return target


def _gone(one: InstanceState) -> str:
    if one.state == "absent":
        return "is not there"
    return "has exited" + (f" with {one.exit_code}" if one.exit_code is not None else "")


def _health(deployment: Deployment) -> tuple[str, ...]:
    """What to ask router and engines when nothing moves: some addresses of a hanging engine still answer."""
    asked: list[str] = [f"{_base(deployment.url or '')}/health"]
    for one in deployment.instances:
        own = ("readiness",) if one.instance.startswith("router") else ("health_generate", "metrics")
        asked += [f"{_base(one.url)}/{path}" for path in ("health", "v1/models", *own) if one.url]
    return tuple(dict.fromkeys(asked))


def _base(url: str) -> str:
    """The server's root, given with or without /v1."""
    url = url.rstrip("/").removesuffix("/v1")
    if not url.startswith(("http://", "https://")):
        raise UsageError(f"{url!r} is no URL", "it begins with http:// or https://")
    return url


def _token(ports: Ports, request: TestRequest, stack: ResolvedStack | None) -> Secret | None:
    if request.token:
        return request.token
    names = [name for name in (stack.secrets if stack else ()) if name.endswith("API_KEY")]
    values = (ports.who.env(name) for name in ["OPENAI_API_KEY", *names])
    return next((Secret(value) for value in values if value), None)


def _models(target: Target) -> HttpRequest:
    return HttpRequest("GET", f"{target.url}/v1/models", token=target.token)


def _model(answer: HttpAnswer) -> str:
    """The first model that the server names; servers that name none take any word."""
    try:
        return str(json.loads(answer.body)["data"][0]["id"])
    except (ValueError, KeyError, IndexError, TypeError):
        return "default"
