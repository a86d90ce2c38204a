"""The inventory and its page: what it says, where its links lead, and that no patch can put anything into it."""

from __future__ import annotations

import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stackctl.core.names import PatchName, TreeId
from stackctl.core.patches.parse import ParsedPatch, parse
from stackctl.core.patches.series import settle
from stackctl.core.patches.values import Patch, Queue
from stackctl.core.review.drawing import Words, svg
from stackctl.core.review.graph import Graph
from stackctl.core.review.inventory import age, by_area, by_touch, carried
from stackctl.core.review.page import PARTS, Page, anchor, is_link, page
from stackctl.errors import StackctlError
from tests.fakes import RepositoryTemplates

NOW = 1_790_000_000.0  # 2026-09-21
TEXTS = {name: RepositoryTemplates().text(name, "") for name in PARTS}
POOL = "python/sglang/srt/mem_cache/memory_pool.py"
CHAT = "python/sglang/srt/entrypoints/openai/serving_chat.py"
VOID = {"meta", "input", "br", "link", "img", "hr"}


def patch(name: str, line: str = "x = 1", *, path: str = CHAT, header: str = "Upstream: Pending", **more: str) -> Patch:
    subject = more.get("subject", f"Title of {name}")
    text = f"From: A <a@b>\nDate: Mon, 07 Sep 2026 09:00:00 +0000\nSubject: [PATCH] {subject}\n\n"
    text += f"{more.get('body', 'It is so.')}\n\n{header}\n---\n"
    text += f"diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -10,1 +10,2 @@ def f():\n a\n+{line}\n"
    parsed = parse(text.encode("utf-8", "surrogateescape"), f"patches/{name}.patch")
    assert isinstance(parsed, ParsedPatch), parsed
    return settle(PatchName(name), parsed, 1)


def made(*patches: Patch, title: str = "prod") -> str:
    rows = carried(Queue(TreeId("0" * 40), patches), patches, NOW)
    links = {one.name: f"#{anchor(one.name)}" for one in rows}
    titles = {one.name: one.title or "" for one in rows}
    drawing = svg(Graph(title, tuple(links), ()), Words(titles, links)) if patches else ""
    return page(Page(title, "sglang==0.5.15", rows, patches, drawing), TEXTS)


class Seen(HTMLParser):
    """Every tag with its attributes; what is open must be closed by its own name."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


RISKY = patch(
    "pool/slots", "self.buf[idx] = loc", path=POOL, header="Area: memory-pool\nUpstream: Submitted https://a.b/1"
)
PLAIN = patch("api/name")


def test_rows_say_what_a_person_asks_first() -> None:
    one, two = carried(Queue(TreeId("0" * 40), (RISKY, PLAIN)), (RISKY, PLAIN), NOW)
    assert (one.order, one.area, one.areas, one.age, one.level) == (1, "memory-pool", ("memory-pool",), 14, "medium")
    assert (one.upstream, one.link, one.may_go) == ("Submitted", "https://a.b/1", "not said")
    assert one.touches == ("batched indexing", "buffers")
    assert (two.area, two.level, two.reasons) == ("serving", "none", ())
    assert [(each.area, each.patches, each.level) for each in by_area((two, one))] == [
        ("memory-pool", 1, "medium"),
        ("serving", 1, "none"),
    ]
    assert by_touch((two, one))["buffers"] == ("pool/slots",)


def test_a_patch_that_upstream_would_not_want_stays() -> None:
    (one,) = carried(
        Queue(TreeId("0" * 40), (PLAIN,)), (patch("api/name", header="Upstream: Inappropriate ours"),), NOW
    )
    assert one.may_go == "stays: ours"


@pytest.mark.parametrize(
    ("date", "days"),
    [
        ("2026-09-20T00:00:00+00:00", 1), ("2026-09-20T00:00:00", 1), ("2030-01-01T00:00:00+00:00", 0),
        (None, None), ("last Tuesday", None), ("0001-01-01T00:00:00+14:00", None),
    ],
)  # fmt: skip
def test_ages(date: str | None, days: int | None) -> None:
    found = age(date, NOW)
    assert found == days or (date == "0001-01-01T00:00:00+14:00" and found is not None and found > 700_000)


def test_every_link_of_the_page_leads_somewhere_in_it() -> None:
    seen = Seen(made(RISKY, PLAIN))
    ids = {attributes["id"] for _, attributes in seen.tags if "id" in attributes}
    inner = [link["href"] for link in seen.all("a") if (link["href"] or "").startswith("#")]
    assert "patch/pool/slots" in ids
    assert {link[1:] for link in inner if link and not link.startswith("#?")} <= ids
    assert "#?area=memory-pool" in inner
    assert any(link == "#patch/pool/slots:15" for link in inner)  # a reason, at its line of the patch


def test_it_asks_nothing_of_the_network() -> None:
    text = made(RISKY, PLAIN)
    seen = Seen(text)
    loads = {"src", "srcset", "data", "action", "poster", "background"}
    assert not [attributes for _, attributes in seen.tags if loads & set(attributes)]
    assert {tag for tag, _ in seen.tags}.isdisjoint({"link", "iframe", "object", "embed", "img", "base"})
    assert "@import" not in text
    assert "url(" not in text
    policy = next(one["content"] for one in seen.all("meta") if one.get("http-equiv") == "Content-Security-Policy")
    assert policy and policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy


HOSTILE = (
    "</script><script>document.title='pwned'</script><img src=x onerror=alert(1)>\"' onmouseover=alert(2) {{ 7*7 }}"
)


def hostile() -> Patch:
    trailers = f"Area: {HOSTILE}\nUpstream: Submitted javascript:alert(1)\nRemove-when: {HOSTILE}\nRisk: high {HOSTILE}"
    return patch("x/y", f"idx[{HOSTILE}]", header=trailers, subject=HOSTILE, body=f"{HOSTILE}\n</pre></details>")


def test_nothing_of_a_patch_becomes_a_tag_an_attribute_or_a_template() -> None:
    seen, clean = Seen(made(hostile(), title=HOSTILE)), Seen(made(patch("x/y", "idx[0]"), title="t"))
    assert len(seen.all("script")) == 1
    assert not seen.all("img")
    allowed = {name for _, attributes in clean.tags for name in attributes}
    assert {name for _, attributes in seen.tags for name in attributes} <= allowed
    assert not [link for link in seen.all("a") if not (link["href"] or "").startswith(("#", "https://"))]
    assert "{{ 7*7 }}" in "".join(seen.texts)


@pytest.mark.parametrize(
    "text", ["javascript:alert(1)", "http://a.b", "https://a b", 'https://a"b', "data:x", "", None]
)
def test_only_an_https_address_is_a_link(text: str | None) -> None:
    assert not is_link(text)
    assert is_link("https://github.com/sgl-project/sglang/pull/1")


def test_what_acts_on_a_screen_is_shown_as_text() -> None:
    text = made(patch("x/y", "a\x1b[31mb\u202ec\udce9", subject="t\u202eu"))
    assert not re.search(r"[\x1b\u202e\ud800-\udfff]", text)
    assert '<td class="text">a&lt;001B&gt;[31mb&lt;202E&gt;c' in text


def test_an_empty_queue_is_a_page_too() -> None:
    assert "This stack carries no patches" in made()


def test_a_mistake_in_a_template_of_the_workspace_is_told_with_its_line() -> None:
    with pytest.raises(StackctlError, match=r"templates/inventory\.html\.j2:2"):
        page(Page("t", "b", (), (), ""), {**TEXTS, "inventory.html.j2": "<p>\n{% if %}"})
    with pytest.raises(StackctlError, match="'nothing' is undefined"):
        page(Page("t", "b", (), (), ""), {**TEXTS, "inventory.html.j2": "{{ nothing }}"})


TEXT = st.text(st.characters(exclude_characters="\n\r", exclude_categories=("Cs",)), min_size=1, max_size=80)


@settings(max_examples=12, deadline=None)
@given(TEXT, TEXT, TEXT)
def test_any_text_leaves_the_page_whole(subject: str, body: str, line: str) -> None:
    seen = Seen(made(patch("x/y", line, subject=f"s {subject}", body=f"b {body}")))
    assert len(seen.all("script")) == 1
    assert {tag for tag, _ in seen.tags}.isdisjoint({"img", "iframe", "object", "link"})


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("chromium") is None, reason="chromium is not installed")
class TestInChromium:
    """The page in a browser: a link opens its patch, a filter hides, no script of a patch runs."""

    @pytest.fixture
    def look(self, tmp_path: Path) -> object:
        file = tmp_path / "inventory.html"
        file.write_text(made(RISKY, PLAIN, hostile()), "utf-8", "replace")

        def dom(hash_: str = "") -> str:
            command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}/profile"]
            url = f"file://{quote(str(file))}{hash_}"
            said = subprocess.run([*command, "--dump-dom", url], capture_output=True, timeout=120, check=True)
            return said.stdout.decode()

        return dom

    @staticmethod
    def patches(text: str) -> dict[str | None, dict[str, str | None]]:
        return {one["id"]: one for one in Seen(text).all("details") if one.get("class") == "patch"}

    def test_a_link_opens_its_patch(self, look: object) -> None:
        found = self.patches(look("#patch/pool/slots:15"))  # type: ignore[operator]
        assert [name for name, one in found.items() if "open" in one] == ["patch/pool/slots"]

    def test_a_filter_is_a_link(self, look: object) -> None:
        found = self.patches(look("#?risk=medium&area=memory-pool"))  # type: ignore[operator]
        assert [name for name, one in found.items() if "hidden" not in one] == ["patch/pool/slots"]
        found = self.patches(look("#?text=serving_chat+api"))  # type: ignore[operator]
        assert [name for name, one in found.items() if "hidden" not in one] == ["patch/api/name"]

    def test_no_script_of_a_patch_runs(self, look: object) -> None:
        text = look()  # type: ignore[operator]
        assert "<title>prod: patches carried</title>" in text
        assert "3 patches</output>" in text  # and our own does, under the policy
