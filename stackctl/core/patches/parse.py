"""Reads a patch file, strictly: bytes in, a parsed patch or one located fault out.

Policy is decided here, on the file alone, before any base is looked at: what git would take in silence but nobody
wants in a release (links out of the tree, absolute names, `.git` in disguise, binary stubs) is refused. The strip
level is not known yet; `ParsedFile` holds names as the file writes them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

from stackctl.core.patches.coherent import NAMES, REDO, header_contradiction
from stackctl.core.patches.faults import Fault, Kind, Refused
from stackctl.core.patches.hunks import HUNK, SIGNATURE, is_names, read_hunk
from stackctl.core.patches.message import read_header
from stackctl.core.patches.names import name_fault
from stackctl.core.patches.sections import Names, names_of_git_line, read_name
from stackctl.core.patches.values import Header, Hunk, Patch

NEXT_MAIL = re.compile(rb"From [0-9a-f]{40} [A-Z][a-z]{2} [A-Z][a-z]{2} ")
STRUCTURE = (b"diff --git ", b"@@ ", b"index ", b"new file mode ", b"rename from ")
MODES = (b"new file mode ", b"new mode ", b"deleted file mode ", b"old mode ")
GIT_FIELDS = (
    b"old mode ", b"new mode ", b"deleted file mode ", b"new file mode ", b"copy from ", b"copy to ", b"rename from ",
    b"rename to ", b"similarity index ", b"dissimilarity index ", b"index ",
)  # fmt: skip


@dataclass
class ParsedFile:
    """A section with its names as written. `old`/`new` None: /dev/null or its equal."""

    line: int
    git: bool
    old: str | None = None
    new: str | None = None
    fields: dict[bytes, tuple[int, bytes]] = field(default_factory=dict)  # git's extended header: line, value
    hunks: list[Hunk] = field(default_factory=list)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name in (self.old, self.new) if name is not None)

    @property
    def moves(self) -> bool:
        return b"rename from " in self.fields or b"copy from " in self.fields

    def mode(self, *keys: bytes) -> tuple[int, str] | None:
        for key in keys:
            if key in self.fields:
                line, value = self.fields[key]
                return line, value.decode("ascii", "replace").strip()
        return None


@dataclass(frozen=True)
class ParsedPatch:
    file: str
    data: bytes
    header: Header
    files: tuple[ParsedFile, ...]
    warnings: tuple[str, ...]


def diff_line(patch: ParsedPatch | Patch) -> int:
    """The line, from 1, at which the header ends and the diff begins."""
    first = min(section.line for section in patch.files)
    begins = patch.data.split(b"\n")[first - 1]
    # a section without git's header, whose old name is /dev/null, counts from its new name
    return first - 1 if begins.startswith(b"+++ ") else first


def diff_of(patch: ParsedPatch | Patch) -> bytes:
    """The bytes from the first file section on."""
    return b"\n".join(patch.data.split(b"\n")[diff_line(patch) - 1 :])


def parse(
    data: bytes, file: str, allow: Collection[str] = (), rename: Callable[[str], str] = str
) -> ParsedPatch | Fault:
    """`file` names the patch in faults; `allow` may hold `symlink`; `rename` maps names before they are judged."""
    lines = data.splitlines(keepends=True) if b"\r" not in data else re.findall(rb"[^\n]*\n|[^\n]+\Z", data)
    try:
        _refuse_whole(data, lines, file)
        start = next((at for at in range(len(lines)) if _ends_message(lines, at)), len(lines))
        header, warnings = read_header(lines[:start])
        files = _Sections(lines, file).read(start)
        if not files:
            raise Refused(_no_patch(lines, file))
        for section in files:
            section.old, section.new = (name and rename(name) for name in (section.old, section.new))
            _refuse_names(section, file)
            _refuse_modes(section, file, allow)
    except Refused as refused:
        return refused.fault
    if any(section.git and section.hunks and b"index " not in section.fields for section in files):
        warnings += ("no-index-line",)
    return ParsedPatch(file, data, header, tuple(files), warnings)


def _begins_section(lines: Sequence[bytes], at: int) -> bool:
    return lines[at].startswith((b"diff --git ", b"diff --cc ", b"diff --combined ")) or is_names(lines, at)


def _ends_message(lines: Sequence[bytes], at: int) -> bool:
    return _begins_section(lines, at) or bool(HUNK.match(lines[at])) or _is_binary_stub(lines[at])


def _is_binary_stub(line: bytes) -> bool:
    return line.startswith(b"Binary files ") and line.rstrip().endswith(b" differ")


def _refuse_whole(data: bytes, lines: Sequence[bytes], file: str) -> None:
    if b"\r\n" in data and any(
        line.endswith(b"\r\n") and (line.startswith(STRUCTURE) or is_names(lines, at)) for at, line in enumerate(lines)
    ):
        first = next(at for at, line in enumerate(lines, 1) if line.endswith(b"\r\n"))
        hint = f"Take the CRs out: `sed -i 's/\\r$//' {file}`; ask its sender for a file instead of a pasted text."
        raise Refused(Fault("crlf-patch", file, first, "lines end in CR LF, so somebody converted the patch", hint))
    if lines and lines[0].startswith(b"\xef\xbb\xbf"):
        raise Refused(Fault("not-a-patch", file, 1, "begins with a byte order mark", "Save it as UTF-8 without one."))


def _no_patch(lines: Sequence[bytes], file: str) -> Fault:
    what = "holds no diff" if any(line.strip() for line in lines) else "is empty"
    return Fault("not-a-patch", file, 1, f"the file {what}", "Export it with `git format-patch` or `git diff`.")


class _Sections:
    """Reads section after section; prose between them is skipped, as long as it looks like prose."""

    def __init__(self, lines: Sequence[bytes], file: str) -> None:
        self._lines = lines
        self._file = file

    def read(self, at: int) -> list[ParsedFile]:
        lines, files = self._lines, list[ParsedFile]()
        while at < len(lines):
            line = lines[at]
            if line.startswith((b"diff --cc ", b"diff --combined ")):
                self._refuse("combined-diff", at, "the diff of a merge has two old sides", "Diff against one parent.")
            if line.startswith(b"diff --git "):
                section, at = self._git_section(at)
                files.append(section)
            elif is_names(lines, at):
                section, at = self._plain_section(at)
                files.append(section)
            elif files and NEXT_MAIL.match(line):
                self._refuse("mailbox", at, "a second message begins here", "Give each message a file of its own.")
            elif HUNK.match(line):
                self._refuse("corrupt-hunk", at, "a hunk without the names of its file", "Export the patch again.")
            else:
                self._refuse_binary(at)
                at = self._after_signature(at) if line == SIGNATURE else at + 1
        return files

    def _after_signature(self, at: int) -> int:
        at += 1
        lines = self._lines
        while at < len(lines) and not (
            _begins_section(lines, at) or NEXT_MAIL.match(lines[at]) or HUNK.match(lines[at])
        ):
            at += 1
        return at

    def _git_section(self, at: int) -> tuple[ParsedFile, int]:
        lines = self._lines
        section = ParsedFile(at + 1, git=True)
        section.old, section.new = names_of_git_line(lines[at])
        at += 1
        while at < len(lines) and (key := next((k for k in GIT_FIELDS if lines[at].startswith(k)), None)):
            if key in section.fields:
                message = f"`{key.decode().strip()}` stands in line {section.fields[key][0]} already"
                self._refuse("corrupt-header", at, message, REDO)
            section.fields[key] = (at + 1, lines[at][len(key) :].rstrip(b"\n"))
            at += 1
        for key, side in ((b"from ", "old"), (b"to ", "new")):
            value = section.fields.get(b"rename " + key) or section.fields.get(b"copy " + key)
            if value:
                setattr(section, side, read_name(value[1])[0])
        if not lines[at - 1].endswith(b"\n"):
            self._refuse("corrupt-header", at - 1, "the file ends in the middle of this line", REDO)
        if at < len(lines):
            self._refuse_binary(at)
            if lines[at].startswith((b"--- ", b"+++ ")) and not is_names(lines, at):
                self._refuse("corrupt-header", at, "`---` and `+++` stand together, each with a name", REDO)
        marks: tuple[bytes, ...] = ()
        if at < len(lines) and is_names(lines, at):
            marks = (lines[at][4:], lines[at + 1][4:])
            names = Names(*marks)
            if not section.moves:
                section.old, section.new = names.old, names.new
            at = self._hunks(section, at + 2)
        self._refuse_contradiction(section, marks)
        if b"new file mode " in section.fields:
            section.old = None
        if b"deleted file mode " in section.fields:
            section.new = None
        if not section.names:
            self._refuse(
                "not-a-patch", section.line - 1, "this line names no file that can be told", "Export it again."
            )
        return section, at

    def _refuse_contradiction(self, section: ParsedFile, marks: Sequence[bytes]) -> None:
        line = self._lines[section.line - 1][len(b"diff --git ") :]
        wrong = header_contradiction(line, section.fields, marks, len(section.hunks))
        if wrong:
            self._refuse("corrupt-header", section.line - 1, f"this file section contradicts itself: {wrong}", REDO)

    def _plain_section(self, at: int) -> tuple[ParsedFile, int]:
        names = Names(self._lines[at][4:], self._lines[at + 1][4:])
        section = ParsedFile(at + 1, git=False)
        section.old, section.new = names.settled()
        if section.old is None and self._lines[at].startswith(b"--- /dev/null"):
            section.line = at + 2
        end = self._hunks(section, at + 2)
        if not section.hunks:
            self._refuse("not-a-patch", at, "names without a hunk", "Export the patch again.")
        if section.hunks[0].old_start == section.hunks[0].old_count == 0:
            section.old = None
        return section, end

    def _hunks(self, section: ParsedFile, at: int) -> int:
        while at < len(self._lines) and self._lines[at].startswith(b"@@"):
            hunk, at = read_hunk(self._lines, at, self._file)
            section.hunks.append(hunk)
        return at

    def _refuse_binary(self, at: int) -> None:
        line = self._lines[at]
        if _is_binary_stub(line):
            self._refuse("binary-without-data", at, "says that binary files differ, but not how", _NO_BINARY)
        if line.startswith(b"GIT binary patch"):
            self._refuse("binary-patch", at, "binary patches cannot be reviewed and are not applied", _NO_BINARY)

    def _refuse(self, kind: Kind, at: int, message: str, hint: str) -> None:
        raise Refused(Fault(kind, self._file, at + 1, message, hint))


_NO_BINARY = "Keep binary files out of patches: put them into the base or beside the model."


def _refuse_names(section: ParsedFile, file: str) -> None:
    for name in section.names:
        fault = name_fault(name)
        if fault:
            raise Refused(Fault(fault.kind, file, section.line, f"{name!r}: {fault.reason}", NAMES, {"file": name}))


def _refuse_modes(section: ParsedFile, file: str, allow: Collection[str]) -> None:
    said = [section.fields[key] for key in MODES if key in section.fields]
    if b"index " in section.fields:
        line, value = section.fields[b"index "]
        said += [(line, value.rpartition(b" ")[2])] if b" " in value else []
    for line, value in said:
        mode = value.decode("ascii", "replace").strip()
        if mode == "160000":
            raise Refused(Fault("gitlink", file, line, "a submodule is no file", "Put its files into the base."))
        if mode == "120000":
            _refuse_link(section, file, line, allow)
        elif mode not in ("100644", "100755"):
            raise Refused(Fault("not-a-patch", file, line, f"the mode {mode!r} is none of git's", "Export it again."))


def _refuse_link(section: ParsedFile, file: str, line: int, allow: Collection[str]) -> None:
    if "symlink" not in allow:
        message = "the patch makes or changes a symbolic link"
        raise Refused(Fault("symlink", file, line, message, "Copy the file that it points to."))
    for hunk in section.hunks:
        for target in (text[1:].decode("utf-8", "replace") for text in hunk.lines if text.startswith(b"+")):
            if _leaves_tree(section.new or "", target):
                message = f"the link points to {target!r}, outside of the tree"
                raise Refused(Fault("symlink-target", file, line, message, "Point it to a file of the tree."))


def _leaves_tree(link: str, target: str) -> bool:
    """Whatever the strip level, `link` lies no deeper than its written name says."""
    depth = link.count("/") - 1 if link.startswith(("a/", "b/")) else link.count("/")
    for part in target.split("/"):
        depth += -1 if part == ".." else part not in ("", ".")
        if depth < 0:
            return True
    return target.startswith("/")
