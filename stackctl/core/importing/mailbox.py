"""Splits a mailbox into messages, and writes one. Only real `From ` lines part messages.

A line of prose that begins with `From ` is none: a real one has a date, and mail fields follow it. What a mail client
has encoded for the way is decoded; a message of several parts is refused by name, since any of them could be meant.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from email import message_from_bytes

from stackctl.core.patches.faults import Fault

DAY = rb"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)"
MONTH = rb"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
FROM = re.compile(
    rb"From \S.*? +" + DAY + rb" +" + MONTH + rb" +[0-9]{1,2} [0-9]{2}:[0-9]{2}(?::[0-9]{2})?(?: \S+)? [0-9]{4}"
    rb"(?: [-+][0-9]{4})?\s*\Z"
)
FIELD = re.compile(rb"[!-9;-~]+:")
NUMBER = re.compile(rb"\[[^\]]*?\b([0-9]+)/([0-9]+)\]")
ENCODED = ("quoted-printable", "base64")


@dataclass(frozen=True)
class Message:
    """`line` is its first line in the mailbox; `number` and `of` what its subject says of its place in a series."""

    line: int
    data: bytes
    number: int | None = None
    of: int | None = None

    @property
    def is_cover(self) -> bool:
        return self.number == 0


def split(data: bytes, file: str) -> tuple[Message, ...] | Fault:
    """The messages in order. A file without any `From ` line is one message."""
    lines = re.findall(rb"[^\n]*\n|[^\n]+\Z", data)
    starts = [at for at in range(len(lines)) if _begins(lines, at)]
    if not starts or any(line.strip() for line in lines[: starts[0]]):
        starts = [0, *starts]
    messages = []
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        parted = start < len(lines) and bool(FROM.match(lines[start]))  # else a blank last line may be context
        of_git = parted and re.match(rb"From [0-9a-f]{40} ", lines[start])  # part of a patch file
        whole = b"".join(lines[start if of_git or not parted else start + 1 : end])
        decoded = _decoded(whole[:-1] if parted and whole.endswith(b"\n\n") else whole, file, start + 1)
        if isinstance(decoded, Fault):
            return decoded
        number, of = _numbered(decoded)
        messages.append(Message(start + 1, decoded, number, of))
    return tuple(messages)


def join(patches: Sequence[bytes]) -> bytes:
    """A mailbox of canonical patch files; `split` gives back each of them, byte for byte."""
    return b"".join(patch + b"\n" for patch in patches)


def order_remarks(messages: Sequence[Message]) -> tuple[str, ...]:
    """What is odd about the numbers that the subjects say; the order of the file is taken all the same."""
    numbered = [message for message in messages if message.number]
    numbers = [message.number or 0 for message in numbered]
    remarks = []
    if numbers != sorted(numbers):
        said = ", ".join(map(str, numbers))
        remarks.append(f"the subjects are numbered {said}: taken in the order of the file")
    if len({message.of for message in numbered}) == 1:
        missing = sorted(set(range(1, (numbered[0].of or 0) + 1)) - set(numbers))
        if missing:
            remarks.append(f"the series of {numbered[0].of} lacks {', '.join(map(str, missing))}")
    return tuple(remarks)


def _begins(lines: Sequence[bytes], at: int) -> bool:
    if not FROM.match(lines[at]):
        return False
    return at + 1 < len(lines) and bool(FIELD.match(lines[at + 1]))


def _numbered(message: bytes) -> tuple[int | None, int | None]:
    head = message.partition(b"\n\n")[0]
    subject = re.search(rb"^Subject:(.*(?:\n[ \t].*)*)", head, re.MULTILINE | re.IGNORECASE)
    found = NUMBER.search(subject[1]) if subject else None
    return (int(found[1]), int(found[2])) if found else (None, None)


def _decoded(message: bytes, file: str, line: int) -> bytes | Fault:
    head, blank, _ = message.partition(b"\n\n")
    if not blank or not re.search(rb"^Content-T", head, re.MULTILINE | re.IGNORECASE):
        return message
    mail = message_from_bytes(message)
    if mail.is_multipart():
        said = "a message of several parts: any of them could be the patch"
        return Fault("not-a-patch", file, line, said, "Save the patch itself, or ask for a mail of plain text.")
    if str(mail.get("Content-Transfer-Encoding", "")).strip().lower() not in ENCODED:
        return message
    body = mail.get_payload(decode=True)
    kept = re.sub(rb"(?im)^Content-Transfer-Encoding:.*(?:\n[ \t].*)*\n?", b"", head + b"\n")
    assert isinstance(body, bytes)
    return kept.rstrip(b"\n") + b"\n\n" + body.replace(b"\r\n", b"\n")
