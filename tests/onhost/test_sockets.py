"""Who listens: a socket of this very process, on either family, and no port that nobody listens on."""

from __future__ import annotations

import os
import socket

import pytest

from stackctl.onhost import sockets


@pytest.mark.parametrize(("family", "address"), [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")])
def test_a_listener_is_found_with_its_address_and_process(family: socket.AddressFamily, address: str) -> None:
    with socket.socket(family) as one:
        try:
            one.bind((address, 0))
        except OSError:
            pytest.skip(f"this machine has no {address}")
        port = one.getsockname()[1]
        assert sockets.listening({port}) == []  # bound is not listening
        one.listen()
        assert sockets.listening({port}) == [sockets.Listening(port, address, os.getpid())]
        assert sockets.Listening(port, address, os.getpid()) in sockets.listening()
        (said,) = sockets.listeners({port}, {os.getpid()})
        assert said["ours"] and said["port"] == port and "python" in said["command"]
        assert not sockets.listeners({port}, set())[0]["ours"]


def test_addresses_are_words_in_the_machines_own_order() -> None:
    assert sockets.address("0100007F") == "127.0.0.1" and sockets.address("00000000") == "0.0.0.0"
    assert sockets.address("0" * 24 + "01000000") == "::1"
