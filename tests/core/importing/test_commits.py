"""A patch file becomes a commit and comes back, byte for byte; a commit's author, date and message are kept."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from stackctl.core.importing.commits import commit_id, commit_text, message_of, read_commit
from stackctl.core.names import Commit, TreeId
from stackctl.core.patches.canonical import canonical
from stackctl.core.patches.parse import ParsedPatch, parse
from stackctl.core.patches.values import Header
from tests.core.importing.test_mailbox import BODY, DIFF, LINE

TREE = TreeId("4b825dc642cb6eb9a060e54bf8d69288fbee4904")
NAMES = st.text(st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp"), exclude_characters="<>"), max_size=20)
ZONES = st.sampled_from(["", "+00:00", "+05:45", "-03:30", "+14:00"])
DATES = st.tuples(st.datetimes().filter(lambda d: 1970 < d.year < 2100), ZONES).map(
    lambda pair: pair[0].replace(microsecond=0).isoformat() + pair[1]
)
TRAILERS = st.lists(st.tuples(st.sampled_from(["Area", "why", "Signed-off-by", "X-y"]), LINE), max_size=4)


def patch_of(data: bytes) -> ParsedPatch:
    found = parse(data, "x.patch")
    assert isinstance(found, ParsedPatch), found
    return found


def raw(author: str, message: str, extra: str = "") -> bytes:
    return f"tree {TREE}\nparent {'1' * 40}\n{author}\ncommitter c <c@d> 1 +0000\n{extra}\n{message}".encode()


@given(LINE, NAMES, DATES, BODY, TRAILERS)
@example("[Fix] x", "A. Jr.", "2026-01-01T00:00:00", "---\n\nFrom here on", [("Area", "a  b")])
def test_a_file_comes_back_from_its_commit(
    subject: str, name: str, date: str, body: str, trailers: list[tuple[str, str]]
) -> None:
    made = canonical(Header(subject.strip() or "s", f"{name} <a@b.c>", date, body, tuple(trailers)), DIFF)
    file = canonical(patch_of(made).header, DIFF)  # what is in a queue was written and read
    header = patch_of(file).header
    commit = commit_text(header, TREE, Commit("1" * 40))
    facts = read_commit(commit_id(commit), commit)
    assert (facts.tree, facts.parents) == (TREE, ("1" * 40,))
    assert canonical(facts.header, DIFF) == file
    assert commit_text(facts.header, TREE, Commit("1" * 40)) == commit


def test_what_people_write_in_commits_is_kept() -> None:
    message = "[Fix] a long\n subject\n\nBody.\n\n  indented\n----\n\nSigned-off-by: x <x@y>\nCc: 李 <l@y>\n"
    facts = read_commit(Commit("2" * 40), raw("author J. Ünlü, Jr. <j@ü> 1700000000 -0330", message))
    header = facts.header
    assert (header.subject, header.author) == ("[Fix] a long subject", "J. Ünlü, Jr. <j@ü>")
    assert header.date == "2023-11-14T18:43:20-03:30"
    assert header.body == "Body.\n\n  indented\n----"
    assert header.trailers == (("Signed-off-by", "x <x@y>"), ("Cc", "李 <l@y>"))
    assert message_of(header) == message.replace("long\n subject", "long subject")


def test_odd_commits() -> None:
    bare = read_commit(Commit("3" * 40), raw("author  <> 1 -0000", ""))
    assert (bare.header.subject, bare.header.author, bare.header.date) == (
        "Commit 333333333333",
        "<>",
        "1970-01-01T00:00:01",
    )
    old = raw("author x <x@y> 99999999999999999 +0000", "s\n", "encoding no-such-codec\n")
    assert read_commit(Commit("3" * 40), old).header.date == "2000-01-01T00:00:00+00:00"
    latin = b"tree %s\nauthor J\xf6rg <j@x> 1 +0000\ncommitter c <c@d> 1 +0000\nencoding latin-1\n\nGr\xfc\xdfe\n"
    header = read_commit(Commit("3" * 40), latin % TREE.encode()).header
    assert (header.author, header.subject) == ("Jörg <j@x>", "Grüße")


def test_ids_are_gits() -> None:
    assert commit_id(b"") == "dcf5b16e76cce7425d0beaef62d79a7d10fce1f5"  # git hash-object -t commit --literally
