"""A comment for a pull request: it fits, it is told what is cut, and no patch can write outside of its place."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from hypothesis import given, settings
from hypothesis import strategies as st

from stackctl.core.names import PatchName
from stackctl.core.patches.difftext import FileDiff
from stackctl.core.review.compare import Change
from stackctl.core.review.markdown import LIMIT, escaped, markdown


@dataclass(frozen=True)
class Given:
    old: str = "prod@HEAD~1 (0123456789ab)"
    new: str = "prod"
    stack: str = "prod"
    facts: tuple[str, ...] = ()
    changes: tuple[Change, ...] = ()
    equal: int = 0
    files: tuple[FileDiff, ...] = ()
    elsewhere: int = 0
    notes: tuple[str, ...] = ()


def changed(name: str = "a/b", diff: str = "@@ x.py\n-+old\n++new\n", **more: object) -> Change:
    one = Change("changed", PatchName(name), "A title", 1, 1, areas=("cache",), added=1, removed=2, range_diff=diff)
    return replace(one, **more)  # type: ignore[arg-type]


def test_the_table_comes_first_and_the_range_diff_is_folded() -> None:
    assert markdown(Given(changes=(changed(),), equal=3, facts=("flag tp-size: 4 -> 8",))) == (
        "### Patch queue `prod`\n"
        "\n"
        "prod@<!-- -->HEAD\\~1 (0123456789ab) → prod: 1 changed, 3 the same.\n"
        "\n"
        "- flag tp-size: 4 -&gt; 8\n"
        "\n"
        "| | place | patch | title | area | lines |\n"
        "|---|---|---|---|---|---|\n"
        "| changed | 1 | `a/b` | A title | cache | +1 −2 |\n"
        "\n"
        "<details><summary><code>a/b</code>: changed</summary>\n"
        "\n"
        "```diff\n"
        "@@ x.py\n"
        "-+old\n"
        "++new\n"
        "```\n"
        "\n"
        "</details>\n"
    )


def test_no_difference_is_said() -> None:
    assert "1 the same.\n\nNo patch differs.\n" in markdown(Given(equal=1))


def test_what_is_too_long_is_cut_and_the_cut_is_told() -> None:
    diff = "@@ x.py\n" + "++a line of some length, so that it adds up\n" * 5000
    text = markdown(Given(changes=tuple(changed(f"p/{n}", diff) for n in range(5))))
    assert len(text) < 65_000
    assert len(text) > 55_000
    assert text.count("<details>") == text.count("</details>") == 5
    assert text.count("lines more\n```") == 5
    lost = sum(int(count) for count in re.findall(r"… (\d+) lines more", text))
    assert f"\n{lost} lines are cut here; this shows all: `stackctl patches diff 'prod@HEAD~1' prod`\n" in text


def test_a_short_range_diff_leaves_its_room_to_the_others() -> None:
    diff = "@@ x.py\n" + "++a line of some length, so that it adds up\n" * 1000
    text = markdown(Given(changes=(changed("a"), changed("b", diff), changed("c"))))
    assert "cut here" not in text


def test_a_queue_of_thousands_has_its_table_cut() -> None:
    text = markdown(Given(changes=tuple(changed(f"p/{n}", "") for n in range(2000))))
    assert len(text) < 65_000
    assert re.search(r"The table is cut: \d+ patches more\.", text)


def test_a_fence_in_a_diff_does_not_end_the_fold() -> None:
    text = markdown(Given(changes=(changed(diff="@@ x\n++````\n++</details><script>\n"),)))
    assert "`````diff\n@@ x\n++````\n++</details><script>\n`````\n" in text


def test_titles_can_neither_mark_up_nor_mention_nor_link() -> None:
    hostile = "a|b <img src=x> @admin #12 `x` **b** [c](http://d) \x1b[31m\n| new row"
    text = escaped(hostile)
    assert "\n" not in text
    assert "<img" not in text
    assert "@admin" not in text
    assert "#12" not in text
    assert "http://" not in text
    assert "\x1b" not in text
    assert not re.search(r"(?<!\\)[|`*\[]", text)


def test_a_hostile_title_stays_in_its_cell() -> None:
    text = markdown(Given(changes=(changed(title="x | y\n\n</details>"),)))
    row = next(line for line in text.splitlines() if line.startswith("| changed"))
    assert len(re.findall(r"(?<!\\)\|", row)) == 7


TEXT = st.text(max_size=300)


@settings(max_examples=60)
@given(st.lists(st.tuples(TEXT, TEXT, TEXT, st.integers(1, 3000)), max_size=12), st.lists(TEXT, max_size=60))
def test_it_always_fits_and_always_closes(parts: list[tuple[str, str, str, int]], facts: list[str]) -> None:
    changes = tuple(
        changed(f"p/{n}", f"++{diff}\n" * many, title=title, notes=(note,))
        for n, (title, note, diff, many) in enumerate(parts)
    )
    text = markdown(Given(changes=changes, facts=tuple(facts), files=(FileDiff("x", 1, 1, "diff --git a/x b/x\n"),)))
    assert len(text.encode()) <= LIMIT
    outside = re.sub(r"^(`{3,})diff\n.*?^\1\n", "", text, flags=re.DOTALL | re.MULTILINE)
    assert outside.count("<details>") == outside.count("</details>")
