"""Programs of this machine: their end, their time, and that nothing of them is left."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

import pytest

from stackctl.adapters.process import LocalProcess
from stackctl.errors import StackctlError

FOREVER = "import signal,sys; print('up', flush=True); signal.pause()"


def test_output_input_code_and_folder(tmp_path: Path) -> None:
    code = "import os,sys; sys.stdout.write(sys.stdin.read() + os.getcwd()); sys.stderr.write('e'); sys.exit(3)"
    done = LocalProcess().run([sys.executable, "-c", code], input=b"in ", cwd=str(tmp_path))
    assert (done.code, done.stdout, done.stderr, done.ok) == (3, f"in {tmp_path}".encode(), b"e", False)


def test_the_environment_is_replaced_when_given() -> None:
    done = LocalProcess().run(["/usr/bin/env"], env={"A": "1"})
    assert done.stdout == b"A=1\n"


def test_words_are_never_read_by_a_shell() -> None:
    assert LocalProcess().run(["echo", "$HOME; `id`"]).stdout == b"$HOME; `id`\n"


def test_a_program_that_is_not_there() -> None:
    with pytest.raises(StackctlError, match="cannot run no-such-program") as caught:
        LocalProcess().run(["no-such-program"])
    assert caught.value.hint


def test_a_timeout_ends_the_program_and_its_children(tmp_path: Path) -> None:
    fifo = tmp_path / "alive"
    os.mkfifo(fifo)
    # the child holds the pipe's other end: reading to its end returns only when the child is gone
    script = f"exec 3>{fifo}; sleep 1000 & wait"
    seen = threading.Thread(target=fifo.read_bytes)
    seen.start()
    with pytest.raises(StackctlError, match="longer than 1 s"):
        LocalProcess().run(["sh", "-c", script], timeout=1)
    seen.join(20)
    assert not seen.is_alive()


def test_a_signal_is_a_negative_code() -> None:
    assert LocalProcess().run(["sh", "-c", "kill -9 $$"]).code == -9
