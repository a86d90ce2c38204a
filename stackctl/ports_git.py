"""What stackctl asks of git besides its own store. ports.py gives these names on, so that callers know one place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from stackctl.core.names import Commit


class Revisions(Protocol):
    """Files of the repository that holds a folder, as they were. Raises UsageError for a folder in no repository."""

    def top(self, folder: str) -> str:
        """The folder of the whole work tree."""
        ...

    def commit(self, folder: str, revision: str) -> Commit:
        """What `HEAD~3`, a branch or a tag means. Raises UsageError when it means nothing."""
        ...

    def modes(self, folder: str, commit: Commit) -> Mapping[str, str]:
        """Path from the top -> mode as git writes it (100644, 100755, 120000), of every file of the commit."""
        ...

    def read(self, folder: str, commit: Commit, paths: Sequence[str]) -> Mapping[str, bytes]:
        """Contents of those paths, from the top, that the commit has. Links inside of it are followed."""
        ...

    def earlier(self, folder: str, path: str) -> Iterable[bytes]:
        """What a file, by its path from the top, held at each commit that changed it, newest first."""
        ...
