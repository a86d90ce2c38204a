"""A tiny engine for tests of deploying: the surface that a gate asks, and every way to go wrong on request.

`--behave`: well · exits (at once) · slow (two seconds) · sick (/health is 503) · mute (no tokens) ·
stubborn (ignores SIGTERM) · forks (leaves a child in a session of its own) ·
helped (a child has to nod before anything is generated: stop it, and the engine hangs while /health stays 200)
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


def arguments():
    parser = argparse.ArgumentParser(allow_abbrev=False)
    for name in ("model-path", "served-model-name", "host", "weight-version", "page-size"):
        parser.add_argument(f"--{name}")
    parser.add_argument("--port", type=int)
    parser.add_argument("--behave", default="well")
    return parser.parse_args()


class Helper:
    """A child that nods once for each generation."""

    lock = threading.Lock()

    def __init__(self):
        asked, self.ask = os.pipe()
        self.nod, nodded = os.pipe()
        if os.fork() == 0:
            os.close(self.ask)
            while os.read(asked, 1):
                os.write(nodded, b"x")
            os._exit(0)
        os.close(asked)

    def wait(self):
        with self.lock:
            os.write(self.ask, b"x")
            os.read(self.nod, 1)


class Handler(BaseHTTPRequestHandler):
    args = arguments()
    helper = Helper() if args.behave == "helped" else None

    def do_GET(self):
        if self.path == "/health":
            self.answer({}, 503 if self.args.behave == "sick" else 200)
        elif self.path == "/health_generate":
            self.generate()
            self.answer({})
        elif self.path == "/model_info":
            self.answer({"weight_version": self.args.weight_version})
        elif self.path == "/metrics":
            self.answer({"key": os.environ.get("TINY_KEY", "")})
        else:
            self.answer({**vars(self.args), "import_path": str(Path(__file__).resolve().parent)})

    def generate(self):
        if self.helper:
            self.helper.wait()

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.generate()
        if body.get("max_tokens") == 1:
            self.answer({"choices": [{"message": {"content": "a"}, "finish_reason": "length"}]})
            return
        nonce = re.search(r'nonce "([^"]*)"', body["messages"][-1]["content"])[1]
        call = {"name": "record_nonce", "arguments": json.dumps({"nonce": nonce, "count": 42, "city": "Paris"})}
        usage = {"completion_tokens": 0 if self.args.behave == "mute" else 9}
        if not body.get("stream"):
            message = {"content": None, "tool_calls": [{"id": "a", "function": call}]}
            choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
            metadata = {"weight_version": self.args.weight_version}
            self.answer({"choices": [choice], "usage": usage, "metadata": metadata})
            return
        self.send_response(200)
        self.end_headers()
        deltas = [({"tool_calls": [{"index": 0, "function": call}]}, None), ({}, "tool_calls")]
        for delta, finish in deltas:
            self.event({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})
        self.event({"choices": [], "usage": usage})
        self.wfile.write(b"data: [DONE]\n\n")

    def event(self, value):
        self.wfile.write(b"data: " + json.dumps(value).encode() + b"\n\n")

    def answer(self, value, status=200):
        self.send_response(status)
        self.end_headers()
        self.wfile.write(json.dumps(value).encode())

    def log_message(self, *words):
        print(*words, flush=True)


class Server(ThreadingHTTPServer):
    daemon_threads = True


def main():
    args = Handler.args
    if args.behave == "exits":
        sys.exit("this engine exits at once")
    if args.behave == "slow":
        time.sleep(2)
    if args.behave == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if args.behave == "forks" and os.fork() == 0:
        os.setsid()
        while True:
            time.sleep(60)
    print("tiny engine on", args.port, flush=True)
    Server((args.host, args.port), Handler).serve_forever()


if __name__ == "__main__":
    main()
