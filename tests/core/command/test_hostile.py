"""A script that asks for hours or for all memory is refused at its line; a long one that asks for little is read.

Without a limit most of these take minutes to for ever, so that ending is the proof.
"""

from __future__ import annotations

import pytest

from stackctl.core.command.launches import Launch, launches
from stackctl.core.command.sources import read
from stackctl.errors import InvalidFile

LAUNCH = "python -m sglang.launch_server --model-path m"
LINE = LAUNCH + "\n"
MANY = 4000


def found(text: str, file: str = "x.sh") -> tuple[Launch, ...]:
    return launches(read(file, text.encode()))


TOO_MUCH = {
    "branches without an end": "if a; then\nX=$Y\n" * 10_000,
    "commands in branches without an end": "if a; then\nfoo bar\n" * 10_000,
    "tests without an end": "[[ a\n" * 10_000,
    "loops without an end": "for x in 1; do\n" * MANY,
    "functions without an end": "f() {\n" * MANY,
    "a long function that is called often": "f() {\n" + LINE * 2000 + "}\n" + "f\n" * 500,
    "branches that set thousands of variables": "".join(f"V{n}=1\nif a; then V{n}=2; fi\n" for n in range(5000)),
    "thousands of exports for thousands of commands": "".join(f"export V{n}=1\n" for n in range(MANY)) + LINE * MANY,
    "roles without an end": 'if [ "$1" = prefill ]; then\n' * MANY + 'if [ "$1" = decode ]; then\n',
    "arms without an end": 'case "$1" in\n' * MANY + "prefill) decode)",
}


@pytest.mark.slow
@pytest.mark.parametrize("case", TOO_MUCH)
def test_what_asks_for_too_much_is_refused_at_its_line(case: str) -> None:
    with pytest.raises(InvalidFile, match=r"x\.sh:\d+:\d+: does more than can be followed"):
        found(TOO_MUCH[case])


TOO_DEEP = {
    "quotes": 'X="' + '$("' * 3000 + "x" + '")' * 3000 + '"\n',
    "defaults": "X=" + "${A:-" * 3000 + "x" + "}" * 3000 + "\n",
    "a variable of a unit": "[Service]\nEnvironment=X=" + '"$(' * 3000 + ')"' * 3000 + "\n",
}


@pytest.mark.parametrize("case", TOO_DEEP)
def test_what_nests_too_deep_is_refused(case: str) -> None:
    with pytest.raises(InvalidFile, match="deeper than can be followed"):
        found(TOO_DEEP[case])


ENDS = {
    "a text that doubles": ("A=a\n" + 'A="$A $A"\n' * 60 + LAUNCH + " $A\n", "$A"),
    "a list that doubles": ("A=(a)\n" + 'A=("${A[@]}" "${A[@]}")\n' * 60 + LAUNCH + ' "${A[@]}"\n', "${A[@]}"),
    "a list that is added to itself": ("A=(a)\n" + 'A+=("${A[@]}")\n' * 60 + LAUNCH + ' "${A[@]}"\n', "${A[@]}"),
}


@pytest.mark.parametrize("case", ENDS)
def test_a_value_that_grows_without_an_end_is_unknown(case: str) -> None:
    text, hole = ENDS[case]
    (launch,) = found(text)
    assert {one.unknown for one in launch.args if one.unknown} == {(hole,)}


LONG = {
    "ten thousand lines of quotes in quotes": ('bash -c "ssh h \'sh -c \\"' + LAUNCH + '\\"\'"\n') * 10_000,
    "ten thousand here-documents": f"cat <<EOF\n{LAUNCH}\nEOF\n" * 10_000,
    "ten thousand launches": LINE * 10_000,
}


@pytest.mark.slow
@pytest.mark.parametrize("case", LONG)
def test_a_long_script_is_read_to_its_end(case: str) -> None:
    assert len(found(LONG[case])) == 10_000


def test_ten_thousand_flags_are_read() -> None:
    (launch,) = found(LAUNCH + "".join(f" --flag-{n} {n}" for n in range(10_000)))
    assert len(launch.args) == 2 + 20_000


def test_ten_thousand_words_of_a_variable_keep_their_places() -> None:
    (launch,) = found("".join(f'A="$A --x{n} 1"\n' for n in range(5000)) + LAUNCH + " $A\n")
    assert [one.where.line for one in launch.args if one.text.startswith("--x")] == list(range(1, 5001))


MANIFESTS = {
    "aliases of aliases": "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 40)),
    "a list of itself": "a39: &a39 [x, *a39]\n",
}


@pytest.mark.parametrize("case", MANIFESTS)
def test_volumes_of_a_manifest_come_to_an_end(case: str) -> None:
    service = "s:\n  image: x\n  command: [python, -m, sglang.launch_server]\n  volumes: *a39\n"
    (launch,) = found(MANIFESTS[case] + service, "compose.yaml")
    assert launch.container is not None and not launch.container.own_memory
