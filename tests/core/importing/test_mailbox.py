"""A mailbox gives back what was put in, and only real `From ` lines part messages."""

from __future__ import annotations

import base64
import quopri

from hypothesis import given
from hypothesis import strategies as st

from stackctl.core.importing.mailbox import Message, join, order_remarks, split
from stackctl.core.patches.canonical import canonical
from stackctl.core.patches.faults import Fault
from stackctl.core.patches.parse import ParsedPatch, parse
from stackctl.core.patches.values import Header

DIFF = (
    b"diff --git a/f.py b/f.py\nindex " + b"1" * 40 + b".." + b"2" * 40 + b" 100644\n--- a/f.py\n+++ b/f.py\n"
    b"@@ -1 +1,2 @@\n From here\n+From 1111111111111111111111111111111111111111 Mon Sep 17 00:00:00 2001\n"
)
LINE = st.text(st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp")), max_size=40)
NASTY = st.sampled_from(
    [
        "From here on", "From 0000000000000000000000000000000000000000 Mon Sep 17 00:00:00 2001", "---", "--- a/x",
        "+++ b/x", "diff --git a/x b/x", "@@ -1 +1 @@", "From: x", "Subject: y", "-- ", "",
        "From a@b Thu Jan  1 00:00:00 1970", "Area: x", " indented", "Binary files a and b differ", "----", "Index: x",
    ]
)  # fmt: skip
BODY = st.lists(st.one_of(NASTY, LINE), max_size=8).map("\n".join)


def messages(data: bytes) -> tuple[Message, ...]:
    found = split(data, "x.mbox")
    assert not isinstance(found, Fault), found
    return found


@given(st.lists(st.tuples(LINE, BODY), min_size=1, max_size=4))
def test_what_is_joined_is_split_again(texts: list[tuple[str, str]]) -> None:
    files = [canonical(Header(subject.strip() or "s", None, None, body), DIFF) for subject, body in texts]
    assert [message.data for message in messages(join(files))] == files
    for file in files:
        patch = parse(file, "x.patch")
        assert isinstance(patch, ParsedPatch), patch
        assert [section.new for section in patch.files] == ["b/f.py"]


def test_prose_that_begins_with_from_parts_nothing() -> None:
    mail = b"From a@b Thu Jan  1 00:00:00 1970\nSubject: one\n\nFrom now on:\nFrom Monday 10:00 to 12:00 2001\n\nx\n"
    assert len(messages(mail)) == 1
    assert len(messages(mail + b"\n" + mail)) == 2


def test_numbers_and_cover_letters() -> None:
    texts = ["[PATCH 0/3] cover", "[PATCH v2 2/3] two", "[PATCH v2 1/3] one", "plain"]
    mails = messages(b"".join(b"From a@b Thu Jan  1 00:00:00 1970\nSubject: %s\n\nx\n\n" % t.encode() for t in texts))
    assert [(mail.number, mail.is_cover) for mail in mails] == [(0, True), (2, False), (1, False), (None, False)]
    assert order_remarks(mails) == (
        "the subjects are numbered 2, 1: taken in the order of the file",
        "the series of 3 lacks 3",
    )


def test_what_a_mail_client_encodes_is_decoded() -> None:
    text = "Grüße\n---\n".encode() + DIFF
    for kind, body in (("quoted-printable", quopri.encodestring(text)), ("base64", base64.encodebytes(text))):
        mail = b"From: A <a@b>\nContent-Transfer-Encoding: %s\nSubject: s\nContent-Type: text/plain\n\n%s"
        found = parse(messages(mail % (kind.encode(), body))[0].data, "x")
        assert isinstance(found, ParsedPatch), found
        assert (found.header.subject, found.header.body, len(found.files)) == ("s", "Grüße", 1)


def test_a_message_of_several_parts_is_refused() -> None:
    mail = b'Subject: s\nContent-Type: multipart/mixed; boundary="x"\n\n--x\n\n' + DIFF + b"--x--\n"
    fault = split(mail, "x.mbox")
    assert isinstance(fault, Fault)
    assert "several parts" in fault.message


def test_a_blank_last_line_of_a_plain_diff_stays() -> None:
    assert messages(DIFF + b"\n")[0].data == DIFF + b"\n"
    assert messages(b"")[0].data == b""
