"""Which commands of a file start an engine or a router, with which variables, where."""

from __future__ import annotations

import pytest

from stackctl.core.command.launches import DIFFUSION, ENGINE, MINI_LB, ROUTER, SERVE, Launch, launches
from stackctl.core.command.sources import kind_of, read
from stackctl.errors import InvalidFile


def found(text: str, file: str = "serve.sh") -> tuple[Launch, ...]:
    return launches(read(file, text.encode()))


def one(text: str, file: str = "serve.sh") -> Launch:
    (launch,) = found(text, file)
    return launch


def args(launch: Launch) -> str:
    return " ".join(word.text for word in launch.args)


def env(launch: Launch) -> dict[str, str]:
    return {name: word.text for name, word in launch.env.items()}


@pytest.mark.parametrize(
    ("text", "module", "rest"),
    [
        ("python -m sglang.launch_server --tp 4", ENGINE, "--tp 4"),
        ("/opt/py/bin/python3.11 -u -m sglang.launch_server --tp 4 2>&1 | tee log", ENGINE, "--tp 4"),
        ("python -msglang.launch_server --tp 4", ENGINE, "--tp 4"),
        ("python /sgl/python/sglang/launch_server.py --tp 4", ENGINE, "--tp 4"),
        ("nohup numactl -N 0 -m 0 taskset -c 0-3 python -m sglang.launch_server --tp 4 &", ENGINE, "--tp 4"),
        ("exec nice -n 5 time python -m sglang.launch_server --tp 4", ENGINE, "--tp 4"),
        ("nsys profile -o x python -m sglang.launch_server --tp 4", ENGINE, "--tp 4"),
        ("sglang serve /m --tp 4", SERVE, "/m --tp 4"),
        ("/venv/bin/sglang serve --model-type llm --model-path /m", SERVE, "--model-path /m"),
        ("sglang serve --model-type=diffusion --model-path /m", DIFFUSION, ""),
        ("python -m sglang_router.launch_router --port 1", ROUTER, "--port 1"),
        ("sglang-router --port 1", ROUTER, "--port 1"),
        ("sglang-router launch --port 1", ROUTER, "--port 1"),
        ("smg launch --port 1", ROUTER, "--port 1"),
        ("python -m sglang.srt.disaggregation.mini_lb --port 1", MINI_LB, "--port 1"),
        ("bash -c 'cd /x && python -m sglang.launch_server --tp 4'", ENGINE, "--tp 4"),
        ("sh -lc \"exec sglang serve --tp $((2*2))\"", SERVE, "--tp 4"),
        ("tmux new -d -s x 'python -m sglang.launch_server --tp 4'", ENGINE, "--tp 4"),
        ("CMD=\"python -m sglang.launch_server\"; CMD=\"$CMD --tp 4\"; eval \"$CMD\"", ENGINE, "--tp 4"),
        ("CMD=(python -m sglang.launch_server); \"${CMD[@]}\" --tp 4", ENGINE, "--tp 4"),
        ("srun -N1 bash -c 'bash -c \"sglang serve --tp 4\"'", SERVE, "--tp 4"),
        ("docker run --rm img python3 -m sglang.launch_server --tp 4", ENGINE, "--tp 4"),
        ("kubectl exec pod -- python3 -m sglang.launch_server --tp 4", ENGINE, "--tp 4"),
    ],
)  # fmt: skip
def test_a_launch_is_found_behind_whatever_stands_before_it(text: str, module: str, rest: str) -> None:
    launch = one(text)
    assert (launch.module, args(launch)) == (module, rest)


@pytest.mark.parametrize(
    "text",
    [
        "", "# python -m sglang.launch_server", "pip install sglang", "pkill -f sglang.launch_server",
        "pgrep -f 'python -m sglang.launch_server'", "echo python -m sglang.launch_server", "sglang version",
        "echo 'run sglang serve --tp 4'", "vllm serve /m", "which sglang", "curl http://sglang serve.sh",
        "python -m sglang.bench_serving", "cat <<EOF\nsglang is good\nEOF", "smg server --port 1",
    ],
)  # fmt: skip
def test_what_only_names_it_is_no_launch(text: str) -> None:
    assert found(text) == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A=1 B=2 sglang serve", {"A": "1", "B": "2"}),
        ("export A=1\nenv B=2 sglang serve", {"A": "1", "B": "2"}),
        ("sudo -E A=1 sglang serve", {"A": "1"}),
        ("export A=1; bash -c 'B=2 sglang serve'", {"A": "1", "B": "2"}),
        ("A=1; docker run -e B=2 --env C=3 --env=D=4 -eE=5 img sglang serve", {"B": "2", "C": "3", "D": "4", "E": "5"}),
        ("export A=1; docker run -e A img sglang serve", {"A": "1"}),
        ("docker run -e A=1 img bash -c 'B=2 sglang serve'", {"A": "1", "B": "2"}),
        ("docker run -e HF_TOKEN img sglang serve", {"HF_TOKEN": "$HF_TOKEN"}),
        ("export A=1; ssh gpu1 'B=2 sglang serve'", {"B": "2"}),
    ],
)  # fmt: skip
def test_variables_that_reach_it(text: str, expected: dict[str, str]) -> None:
    assert env(one(text)) == expected


def test_what_a_container_gives_it() -> None:
    options = "--gpus all --shm-size 32g --ipc=host --ulimit memlock=-1 --ulimit stack=67108864 --net host"
    launch = one(f"docker run {options} img sglang serve")
    assert launch.container is not None
    given = {name: word.text for name, word in launch.container.given.items()}
    assert given == {
        "gpus": "all", "shm-size": "32g", "ipc": "host", "ulimit": "memlock=-1 stack=67108864", "network": "host",
    }  # fmt: skip
    assert one("sglang serve").container is None


@pytest.mark.parametrize(
    ("text", "machine"),
    [
        ("ssh gpu1 sglang serve", "gpu1"),
        ("ssh -p 22 -i key ops@gpu1.example 'sglang serve --tp 4'", "gpu1.example"),
        ("ssh -t -o StrictHostKeyChecking=no gpu1 -- sglang serve", "gpu1"),
        ("sglang serve", None),
    ],
)
def test_the_machine_that_it_is_started_on(text: str, machine: str | None) -> None:
    assert one(text).machine == machine


@pytest.mark.parametrize(
    "text",
    ["source .env\nsglang serve", ". ./env.sh; sglang serve", "docker run --env-file e img sglang serve"],
)
def test_a_file_that_is_not_read_leaves_the_variables_open(text: str) -> None:
    assert one(text).env_open
    assert not one("sglang serve").env_open


COMPOSE = """
x-common: &common
  image: lmsysorg/sglang:latest
  ipc: host
  environment: {SGLANG_A: "1", TOKEN: "${TOKEN}"}
services:
  prefill:
    <<: *common
    shm_size: 32g
    ulimits: {memlock: -1, stack: {soft: 1, hard: 2}}
    command: python3 -m sglang.launch_server --disaggregation-mode prefill --port ${PORT:-30000}
  decode:
    <<: *common
    environment:
      - SGLANG_B=2
      - PASSED
    entrypoint: ["python3", "-m", "sglang.launch_server"]
    command: ["--disaggregation-mode", "decode", "--tp", "4"]
  router:
    network_mode: host
    env_file: .env
    command: >
      python3 -m sglang_router.launch_router
      --port 8000
  other:
    image: nginx
    command: nginx -g "daemon off;"
"""


def test_services_of_compose() -> None:
    prefill, decode, router = found(COMPOSE, "compose.yaml")
    assert args(prefill) == "--disaggregation-mode prefill --port 30000"
    assert (prefill.where.line, prefill.args[0].where.line, prefill.args[0].where.column) == (11, 11, 46)
    assert env(prefill) == {"SGLANG_A": "1", "TOKEN": "${TOKEN}"}
    assert prefill.env["TOKEN"].unknown
    assert prefill.container is not None
    assert {name: word.text for name, word in prefill.container.given.items()} == {
        "ipc": "host", "shm-size": "32g", "ulimit": "memlock=-1 stack=1:2",
    }  # fmt: skip
    assert args(decode) == "--disaggregation-mode decode --tp 4"
    assert env(decode) == {"SGLANG_B": "2", "PASSED": "PASSED"}
    assert decode.env["PASSED"].unknown
    assert (decode.args[2].where.line, decode.args[2].where.column) == (18, 50)
    assert (router.module, args(router), router.env_open) == (ROUTER, "--port 8000", True)
    assert (router.args[0].where.line, router.args[0].where.column) == (24, 7)
    assert router.container is not None
    assert router.container.given["network"].text == "host"


KUBERNETES = """
apiVersion: v1
kind: Pod
spec:
  containers:
    - name: engine
      env: [{name: SGLANG_A, value: "1"}, {name: HF_TOKEN, valueFrom: {secretKeyRef: {name: s, key: k}}}]
      command: ["bash", "-c"]
      args:
        - |
          set -e
          exec python3 -m sglang.launch_server \\
            --model-path /m --tp $TP
"""


def test_containers_of_kubernetes() -> None:
    launch = one("---\nkind: Namespace\n---" + KUBERNETES, "pod.yaml")
    assert args(launch) == "--model-path /m --tp $TP"
    assert launch.args[-1].unknown == ("$TP",)
    assert env(launch)["SGLANG_A"] == "1"
    assert launch.env["HF_TOKEN"].unknown
    assert (launch.args[0].where.line, launch.args[0].where.column) == (15, 13)


PODS = """
apiVersion: leaderworkerset.x-k8s.io/v1
leaderTemplate:
  spec:
    hostIPC: true
    containers:
      - image: x
        command: [python3, -m, sglang.launch_server, --port, $(PORT), --nnodes, $(LWS_GROUP_SIZE), --x, $$(A)]
        env: [{name: PORT, value: "3"}]
workerTemplate:
  spec:
    containers:
      - image: x
        command: [python3, -m, sglang.launch_server]
        volumeMounts: [{mountPath: /dev/shm, name: dshm}]
      - image: x
        command: [sh, -c, "sglang serve --port $(PORT) --nnodes $(LWS_GROUP_SIZE)"]
        env: [{name: PORT, value: "3"}]
patchTemplate:
  spec:
    containers:
      - command: [sglang, serve]
"""


def test_variables_that_kubernetes_puts_into_a_command() -> None:
    leader, _, shell, _ = found(PODS, "lws.yaml")
    assert args(leader) == "--port 3 --nnodes $(LWS_GROUP_SIZE) --x $(A)"
    assert [word.unknown for word in leader.args] == [(), (), (), ("$(LWS_GROUP_SIZE)",), (), ()]
    assert args(shell) == "--port 3 --nnodes $(LWS_GROUP_SIZE)"
    assert shell.args[-1].unknown == ("$(LWS_GROUP_SIZE)",)


@pytest.mark.parametrize(
    ("text", "file", "expected"),
    [
        (PODS, "lws.yaml", [(True, True), (True, True), (True, False), (False, False)]),
        ("docker run img sglang serve", "a.sh", [(True, False)]),
        ("docker run -v /dev/shm:/dev/shm img sglang serve", "a.sh", [(True, True)]),
        ("docker run --mount type=tmpfs,destination=/dev/shm,tmpfs-size=9 img sglang serve", "a.sh", [(True, True)]),
        ("docker run -v /dev/shm-cache:/c img sglang serve", "a.sh", [(True, False)]),
        ("docker run -v $CACHE --name=$N img sglang serve", "a.sh", [(True, False)]),
        ("docker run --rm $OPTIONS img sglang serve", "a.sh", [(False, False)]),
        ("docker run --rm img:$TAG sglang serve", "a.sh", [(True, False)]),
        ("docker run --gpus all $IMAGE python3 -m sglang.launch_server", "a.sh", [(True, False)]),
        ("docker run $OPTIONS $IMAGE bash -c 'sglang serve --tp 2'", "a.sh", [(False, False)]),
        ("docker exec -it engine sglang serve", "a.sh", [(False, False)]),
        ("docker compose run engine sglang serve", "a.sh", [(False, False)]),
        ("apptainer exec --nv a.sif sglang serve", "a.sh", [(False, True)]),
        ("services: {a: {image: x, command: sglang serve}}", "a.yaml", [(True, False)]),
        ("services: {a: {command: sglang serve, volumes: ['/dev/shm:/dev/shm']}}", "a.yaml", [(True, True)]),
        ("services: {a: {command: sglang serve, tmpfs: /dev/shm}}", "a.yaml", [(True, True)]),
        ("services: {a: {command: sglang serve, extends: {service: b}}}", "a.yaml", [(False, False)]),
    ],
)
def test_what_is_known_of_a_containers_limits(text: str, file: str, expected: list[tuple[bool, bool]]) -> None:
    boxes = [launch.container for launch in found(text, file)]
    assert [(box.limited, box.own_memory) for box in boxes if box is not None] == expected


UNIT = """
[Service]
Environment=SGLANG_A=1 "B=x y"
EnvironmentFile=-/etc/default/sglang
ExecStartPre=/bin/true
ExecStart=-/opt/bin/python -m sglang.launch_server \\
    --model-path ${MODEL} \\
    --host %H --served-model-name 100%% --x a;b --port 30000
Environment=MODEL=/models/v4
"""


def test_a_systemd_unit() -> None:
    launch = one(UNIT, "sglang.service")
    assert args(launch) == "--model-path /models/v4 --host %H --served-model-name 100% --x a;b --port 30000"
    assert launch.args[3].unknown == ("%H",)
    assert env(launch) == {"B": "x y", "MODEL": "/models/v4", "SGLANG_A": "1"}
    assert (launch.args[0].where.line, launch.args[0].where.column, launch.env_open) == (7, 5, True)


def test_a_dockerfile() -> None:
    text = 'FROM a\nENV SGLANG_A=1 M=/m\nENTRYPOINT ["python3", "-m", "sglang.launch_server"]\nCMD ["--tp", "4"]\n'
    assert (args(one(text, "Dockerfile")), env(one(text, "Dockerfile"))) == ("--tp 4", {"M": "/m", "SGLANG_A": "1"})
    assert args(one("FROM a\nENV M=/m\nCMD sglang serve --model-path $M", "x.dockerfile")) == "--model-path /m"
    assert found("FROM a\nCMD sglang serve\nFROM b\n", "Dockerfile") == ()


def test_the_fenced_blocks_of_a_readme() -> None:
    text = "# It's easy\n\n```bash\n$ sglang serve --tp 4\n```\n\n```python\nsglang serve --tp 5\n```\nDon't\n"
    launch = one(text, "README.md")
    assert (args(launch), launch.where.line) == ("--tp 4", 4)


@pytest.mark.parametrize(
    ("file", "text", "kind"),
    [
        ("a.sh", "services:\n", "yaml"),
        ("a.sh", "#!/bin/sh\nservices: x", "shell"),
        ("compose.yml", "", "yaml"),
        ("x", "[Unit]\n[Service]\nExecStart=a", "unit"),
        ("x", "# c\nFROM a\n", "dockerfile"),
        ("Dockerfile.gpu", "RUN x", "dockerfile"),
        ("x.md", "", "markdown"),
        ("x", "sglang serve", "shell"),
    ],
)
def test_the_kind_of_a_file(file: str, text: str, kind: str) -> None:
    assert kind_of(file, text) == kind


@pytest.mark.parametrize(
    ("file", "data", "place"),
    [
        ("a.sh", b"a\n\x7fELF\x00\x01", "a.sh:2"),
        ("a.yaml", b"a: [1\nb: }", "a.yaml:2:2"),
        ("a.yaml", b"a: !!python/object:os.system x\ncommand: 'sglang serve", "a.yaml:2:23"),
        ("a.sh", b"x" * (5 << 20), "a.sh"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_place(file: str, data: bytes, place: str) -> None:
    with pytest.raises(InvalidFile) as caught:
        read(file, data)
    assert str(caught.value.problems[0].where) == place


def test_yaml_that_refers_to_itself_ends() -> None:
    assert found("a: &a\n  b: *a\n  command: [*a]\n", "x.yaml") == ()


def test_ten_thousand_lines_are_read_once() -> None:
    text = 'A=1\nif [ $x ]; then A="$A y"; fi\nrun --a $A\nA=0\n' * 2500 + "sglang serve --tp 4"
    assert args(one(text)) == "--tp 4"
