# stackctl: what a maintainer types. `just --list` is the menu.

set shell := ["bash", "-euo", "pipefail", "-c"]

bin := justfile_directory() / ".venv/bin"
export PATH := bin + ":" + env("PATH")

# show this menu
[private]
default:
    @just --list --unsorted

# make or refresh the environment in .venv (every other recipe does this first)
setup:
    @test -x {{ bin }}/python || python3 -m venv .venv
    @test {{ bin }}/.stackctl-setup -nt pyproject.toml || { \
        echo "installing stackctl and its tools into .venv ..." \
        && {{ bin }}/python -m pip install -q --disable-pip-version-check -e '.[dev]' \
        && touch {{ bin }}/.stackctl-setup; }

# the whole story in under four minutes: check, deploy, a test bad at 60 and clean at 1, the culprit pair
demo: setup
    @tests/demo.sh

# everything that must pass: `check`, then all tests, in two processes: those that start servers, and the others
test *args: check
    @tests/halves.sh {{ args }}

# the same story on the real sglang, on this machine's CPU (says first what it will download)
demo-real: setup
    @tests/demo_real.sh

# the promises on the real sglang: a bisect, the base's own defect, a wedge, a tampered tree, a holed environment
test-real *args: setup
    {{ bin }}/python -m pytest tests/real -m real {{ args }}

# tests of real patches on the real modules of the patched tree (makes the environment of stacks/cpu.yaml once)
test-queue *args: setup
    STACKCTL_QUEUE=make {{ bin }}/python -m pytest tests/queue {{ args }}

# the quick half: no servers, no ssh, no registry
test-fast *args: setup
    {{ bin }}/python -m pytest -m "not slow and not net and not ssh and not real" {{ args }}

# import contracts, types, style, sizes
check: setup
    {{ bin }}/ruff check .
    {{ bin }}/ruff format --check .
    {{ bin }}/mypy
    {{ bin }}/lint-imports
    {{ bin }}/python tests/sizes.py

# rewrite the golden files; review them as a diff
golden: setup
    STACKCTL_GOLDEN=1 {{ bin }}/python -m pytest -q tests/core tests/commands -m "not slow and not net and not ssh and not real"

# rewrite the JSON schema of stack files, which editors read, after a change of the model or of stacks/example.yaml
schema: setup
    STACKCTL_GOLDEN=1 {{ bin }}/python -m pytest -q tests/core/stack/test_editor.py

# measure against peers and limits; `just bench patches` makes the table of docs/patches.md, `just bench corpus` the linter's scores, `just bench hooks` its rules against sglang's
bench what="" *args: setup
    @case "{{ what }}" in \
        patches) {{ bin }}/python tests/bench/patches_table.py {{ args }} ;; \
        parser) {{ bin }}/python tests/bench/compare_parser.py {{ args }} ;; \
        corpus) {{ bin }}/python tests/bench/corpus_table.py {{ args }} ;; \
        hooks) {{ bin }}/python tests/bench/dsv4_hooks.py {{ args }} ;; \
        *) {{ bin }}/python -m pytest tests/bench -q {{ what }} {{ args }} ;; \
    esac

# make stackctl/data/history.json anew from the wheels of all releases of sglang (a folder keeps them; about 15 MB each)
history *args: setup
    {{ bin }}/python tests/bench/make_history.py {{ args }}

# ten bisects with the planted fault moved by a seed (about 15 minutes)
bench-bisect *args: setup
    {{ bin }}/python tests/bench/bisect_planted.py {{ args }}

# a real sshd on loopback with a user of its own, for stacks/demo-ssh.yaml (`up` or `down`; as root)
ssh-host action="up": setup
    @tests/ssh_host.sh {{ action }}

# build the wheel into dist/
wheel: setup
    {{ bin }}/python -m pip wheel -q --no-deps -w dist .
