"""`just history [FOLDER]`: makes stackctl/data/history.json anew, from the wheels of its releases of sglang.

FOLDER keeps the wheels (10 to 20 MB each); those that it lacks come by `pip download`. A new release is one
more line in RELEASES, and what went away in it without a word of its own is one more line in REPLACED.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from stackctl.core.base.wheel import files_of_wheel
from stackctl.core.upstream.stored import history_to_json
from stackctl.core.upstream.tables import extract, needed
from stackctl.core.upstream.values import EnvVar, History, Replacement, Span, Upstream

FILE = Path(__file__).parents[2] / "stackctl" / "data" / "history.json"
# what a stack calls it -> what the index has; a post release has the tables of its release
RELEASES = {
    "0.5.9": "0.5.9", "0.5.10": "0.5.10.post1", "0.5.11": "0.5.11", "0.5.12": "0.5.12", "0.5.13": "0.5.13.post1",
    "0.5.14": "0.5.14", "0.5.15": "0.5.15", "0.5.16": "0.5.16", "0.5.17": "0.5.17", "0.5.18": "0.5.18",
    "0.5.19": "0.5.19", "0.5.20": "0.5.20", "0.5.21": "0.5.21", "0.5.22": "0.5.22", "0.5.23": "0.5.23",
}  # fmt: skip
PYTHONS = ("3.11", "3.12", "3.10")
# what the releases themselves do not say: `old -> new`, `old ~ related`, `old` alone is dropped; {a,b} is both
REPLACED = """
--speculative-ngram-{branch-length,min-match-window-size,max-match-window-size} ~ --speculative-ngram-max-trie-depth
--disaggregation-decode-{tp,dp}
--disaggregation-prefill-pp
--disable-hicache-numa-detect
--mm-max-concurrent-calls
--mm-per-request-timeout
--enable-double-sparsity
--ds-{channel-config-path,heavy-channel-num,heavy-token-num,heavy-channel-type,sparse-decode-threshold}
--multi-item-scoring-delimiter ~ --enable-mis
--enable-nan-detection
--record-nolora-graph
--no-record-nolora-graph
--enable-piecewise-cuda-graph
--custom-sigquit-handler
--debug-tensor-dump-inject
--enable-deepep-waterfill -> --enable-waterfill
--optimistic-prefill-retries -> --optimistic-prefill-attempts
--torchao-config
--piecewise-cuda-graph-compiler
--enable-gdn-replayssm-spec -> --enable-linear-replayssm-spec
--collect-tokens-histogram
--prefill-round-robin-balance
--elastic-ep-rejoin ~ --elastic-ep-join-mode
--cuda-graph-tc-compiler
--speculative-skip-dp-mlp-sync
"""


def wheel(folder: Path, release: str) -> bytes:
    """The bytes of a wheel, fetched when the folder has it not."""
    for python in (None, *PYTHONS):
        found = sorted(folder.glob(f"sglang-{release}-*.whl"))
        if found:
            return found[0].read_bytes()
        if python:
            pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:"]
            subprocess.run([*pip, "--python-version", python, "-d", str(folder), f"sglang=={release}"], check=False)
    raise SystemExit(f"the index has no wheel of sglang=={release}")


def table(data: bytes, name: str) -> Upstream:
    files = {file.path: file.data for file in files_of_wheel(data, name)}
    return extract({path: files[path] for path in needed(files, "sglang.launch_server")}, "sglang.launch_server")


def spans(versions: Iterable[str], has: Callable[[str], bool]) -> tuple[Span, ...]:
    """Runs of releases that have something."""
    found: list[Span] = []
    for version in versions:
        open_one = bool(found) and found[-1].gone is None
        if has(version) and not open_one:
            found.append(Span(version))
        elif not has(version) and open_one:
            found[-1] = Span(found[-1].first, version)
    return tuple(found)


def history(tables: Mapping[str, Upstream]) -> History:
    versions = tuple(tables)
    names = {name for one in tables.values() for name in one.by_name}
    flags = {name: spans(versions, lambda v, name=name: name in tables[v].by_name) for name in names}  # type: ignore[misc]
    variables = {name for one in tables.values() for name in one.env}
    env = {name: spans(versions, lambda v, name=name: name in tables[v].env) for name in variables}  # type: ignore[misc]
    choices = {flag: values for flag in names if (values := _choices(tables, flag))}
    return History(versions, flags, env, choices, _replacements(tables, {**flags, **env}))


def _choices(tables: Mapping[str, Upstream], flag: str) -> dict[str, tuple[Span, ...]]:
    """Spans over the releases that have the flag with a list that is known: a value does not go away with its flag."""
    listed = {
        version: set(one.by_name[flag].choices or ())
        for version, one in tables.items()
        if flag in one.by_name and one.by_name[flag].name == flag and one.by_name[flag].choices is not None
    }
    return {value: spans(listed, lambda v, value=value: value in listed[v]) for value in set().union(*listed.values())}  # type: ignore[misc]


def _replacements(tables: Mapping[str, Upstream], known: Mapping[str, tuple[Span, ...]]) -> dict[str, Replacement]:
    """What the last release that had it said to use; what is written above is worth more."""
    found: dict[str, Replacement] = {}
    order = list(tables)
    for name, each in known.items():
        gone = each[-1].gone
        if gone is None:
            continue
        last = tables[order[order.index(gone) - 1]]
        one: object = last.by_name.get(name) if name.startswith("-") else last.env.get(name)
        use = getattr(one, "use", None)
        if use:
            found[name] = Replacement(gone, use)
    for name, use, see in written(REPLACED):
        gone = known[name][-1].gone if name in known else None
        if gone is None:
            raise SystemExit(f"REPLACED names {name}, which no release lost")
        found[name] = Replacement(gone, use, see)
    return found


def written(text: str) -> Iterable[tuple[str, str, str]]:
    """Name, replacement, related."""
    for line in text.strip().splitlines():
        arrow = " -> " if " -> " in line else " ~ "
        names, _, other = line.partition(arrow)
        head, brace, rest = names.partition("{")
        inside, _, tail = rest.partition("}")
        for name in [f"{head}{part}{tail}" for part in inside.split(",")] if brace else [names]:
            yield name.strip(), other if arrow == " -> " else "", other if arrow == " ~ " else ""


def counts(version: str, one: Upstream) -> str:
    """A line to compare by eye."""
    direct = [each for each in one.env.values() if each.source == "ad hoc" and not each.indirect]
    own = [each for each in direct if each.name.startswith(("SGLANG_", "SGL_"))]

    def number(which: Callable[[EnvVar], bool]) -> int:
        return sum(which(each) for each in one.env.values())

    return (
        f"{version:8} {one.generation:10} {len(one.flags)}/{len(one.by_name)} flags, "
        f"{sum(each.deprecated for each in one.flags)} deprecated; env {number(lambda e: e.registered)} registered, "
        f"{len(direct)} ad hoc ({len(own)} own), {number(lambda e: e.source == 'deprecated')} deprecated; "
        + ", ".join(f"{name} {len(values)}" for name, values in one.registries.items())
        + "".join(f"\n    {sentence}" for sentence in one.unknown)
    )


def main(folder: str | None = None) -> None:
    with tempfile.TemporaryDirectory(prefix="stackctl-history-") as passing:
        kept = Path(folder or passing)
        kept.mkdir(parents=True, exist_ok=True)
        tables = {}
        for version, release in RELEASES.items():
            tables[version] = table(wheel(kept, release), release)
            print(counts(version, tables[version]), flush=True)
    made = history(tables)
    FILE.write_bytes(history_to_json(made))
    print(f"{FILE}: {len(made.flags)} flags, {len(made.env)} variables, {len(made.replacements)} replacements")


if __name__ == "__main__":
    main(*sys.argv[1:])
