"""Who answers at the addresses of a stack: real servers of this process, and nobody."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from stackctl.onhost import serving

INFO = {"tp_size": 4, "model_path": "/models/m", "api_key": "sk-very-secret", "weight_version": "r1"}


SAID: dict[str, Any] = {
    "/server_info": INFO,
    "/model_info": {"weight_version": "r1"},
    "/workers": {"workers": [{"url": "http://b"}, {"url": "http://a"}]},
}


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        found = SAID.get(self.path)
        self.send_response(200 if found else 404)
        self.end_headers()
        self.wfile.write(json.dumps(found).encode() if found else b"nothing of TOKEN-of-the-env-file here")

    def log_message(self, format: str, *args: object) -> None:
        """Quiet."""


@pytest.fixture
def url() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def launch(ask: str, role: str = "single", **expect: str) -> dict[str, Any]:
    return {"instance": f"{role}-0", "role": role, "ask": ask, "expect": expect}


def asked(root: Path, *launches: dict[str, Any]) -> dict[str, Any]:
    return serving.main({"root": str(root), "launches": list(launches), "bound": 5.0})


def test_an_engine_and_a_router(url: str, tmp_path: Path) -> None:
    said = asked(tmp_path, launch(url, tp_size="4", model_path="/models/other", unknown="x"), launch(url, "router"))
    assert said["single-0"]["differs"] == [["model_path", "/models/m", "/models/other"]]
    assert (said["single-0"]["status"], said["single-0"]["release"]) == (200, "r1")
    assert said["router-0"]["workers"] == ["http://a", "http://b"]


def test_nobody_and_no_engine(url: str, tmp_path: Path) -> None:
    (tmp_path / "env").write_text("TOKEN='TOKEN-of-the-env-file'\n")
    said = asked(tmp_path, launch("http://127.0.0.1:9"), launch(url + "/elsewhere", "decode"))
    assert said["single-0"]["status"] == 0 and "refused" in said["single-0"]["why"]
    assert said["decode-0"]["status"] == 404 and said["decode-0"]["why"] == "nothing of *** here"
    assert asked(tmp_path) == {}


def test_secrets_stay_there(url: str, tmp_path: Path) -> None:
    said = asked(tmp_path, launch(url, api_key="another"))
    assert said["single-0"]["differs"] == [["api_key", "***", "***"]] and "very-secret" not in json.dumps(said)
