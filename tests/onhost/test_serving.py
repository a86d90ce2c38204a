"""Who answers at the addresses of a stack: real servers of this process, and nobody."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from stackctl.core.deploy.bundle import NEEDS, bundle
from stackctl.onhost import serving
from tests.fakes import RepositoryTemplates

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
    said = serving.main({"root": str(root), "launches": list(launches), "bound": 5.0})
    assert said["containers"] == {}
    return dict(said["answers"])


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


def test_a_container_is_told_with_our_labels(tmp_path: Path) -> None:
    docker = tmp_path / "docker"
    labels = json.dumps({"io.stackctl.release": "r1", "maintainer": "somebody"})
    docker.write_text(f"#!/bin/sh\n[ \"$7\" = c0ffee ] || exit 1\nprintf '%s\\n' /v4-decode-0 sglang:x '{labels}'\n")
    docker.chmod(0o755)
    needs = {one: RepositoryTemplates().onhost(f"{one}.py") for one in ("serving", *NEEDS["serving"])}
    request = {"root": str(tmp_path), "launches": [], "bound": 1.0, "containers": ["c0ffee", "gone"]}
    argv = [sys.executable, "-I", "-S", "-c", bundle("serving", needs), json.dumps(request)]
    done = subprocess.run(argv, capture_output=True, check=True, timeout=30, env={"PATH": str(tmp_path)})
    about = {"name": "v4-decode-0", "image": "sglang:x", "labels": {"io.stackctl.release": "r1"}}
    assert json.loads(done.stdout) == {"answers": {}, "containers": {"c0ffee": about}}
