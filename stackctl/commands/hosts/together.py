"""Does the same for several hosts at once, so that one which hangs makes no other wait.

In threads that do not keep the program from ending: after Ctrl-C nobody waits for a host that is away.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

T = TypeVar("T")


class _Done(Generic[T]):
    """What came of one call."""

    def __init__(self) -> None:
        self.value: list[T] = []
        self.error: BaseException | None = None

    def take(self, call: Callable[[], T]) -> None:
        try:
            self.value.append(call())
        except BaseException as error:  # a fault of ours: raised where it is seen
            self.error = error


def side_by_side(names: Sequence[str], call: Callable[[str], T]) -> tuple[T, ...]:
    """In the order of the names. What a call raises is raised, after all have ended."""
    done: list[_Done[T]] = [_Done() for _ in names]
    threads = [
        threading.Thread(target=one.take, args=((lambda name=name: call(name)),), daemon=True)
        for one, name in zip(done, names, strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for one in done:
        if one.error is not None:
            raise one.error
    return tuple(one.value[0] for one in done)
