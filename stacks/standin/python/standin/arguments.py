"""The command line: the names are sglang's, so that one set of scripts starts either engine.

An unknown name is an error, as it is there. Names that only matter on a card are accepted and change nothing; each
of the others does here, in small, what it does in sglang.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

RANKS = ("tp-size", "dp-size")
CARD_ONLY = (
    "ep-size", "base-gpu-id", "mem-fraction-static", "kv-cache-dtype", "quantization",
    "moe-runner-backend", "attention-backend", "disaggregation-transfer-backend", "cuda-graph-max-bs-decode",
    "context-length", "chat-template", "watchdog-timeout", "dist-init-addr", "nnodes", "node-rank",
)  # fmt: skip
CARD_ONLY_SWITCHES = ("trust-remote-code", "disable-cuda-graph", "skip-server-warmup", "disable-radix-cache")


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(prog="standin.launch_server", description=__doc__, allow_abbrev=False)
    p.add_argument("--model-path", "--model", required=True, help="reported; no file of it is read")
    p.add_argument("--served-model-name", help="default: the last part of the model path")
    p.add_argument("--host", default="127.0.0.1")
    p.add_argument("--port", type=int, default=30000)
    p.add_argument("--weight-version", default="default")
    p.add_argument("--log-level", default="info", choices=("debug", "info", "warning", "error"))
    p.add_argument("--tool-call-parser", choices=("deepseekv4",), help="without it, markup is content")
    p.add_argument("--reasoning-parser", choices=("deepseek-v4",), help="without it, reasoning is content")
    p.add_argument("--disaggregation-mode", default="null", choices=("null", "prefill", "decode"))
    p.add_argument("--disaggregation-bootstrap-port", type=int, default=8998, help="prefill hands rooms over here")
    p.add_argument("--max-total-tokens", type=_positive, default=8192, help="size of the pool on the device")
    p.add_argument("--page-size", type=_positive, default=64, help="tokens")
    p.add_argument("--max-running-requests", type=_positive, default=8, help="that decode has in work at once")
    p.add_argument("--chunked-prefill-size", type=_positive, default=2048, help="tokens that prefill writes a turn")
    p.add_argument("--enable-hierarchical-cache", action="store_true", help="a second tier behind the pool")
    p.add_argument("--disable-overlap-schedule", action="store_true", help="a step begins when the last one is sent")
    p.add_argument("--enable-metrics", action="store_true", help="serve /metrics")
    p.add_argument("--room-timeout", type=float, default=60.0, help="seconds that a room waits to be made or fetched")
    for name in RANKS:
        p.add_argument(f"--{name}", type=_positive, default=1, help="reported; there is one process")
    for name in CARD_ONLY:
        p.add_argument(f"--{name}", help="accepted, changes nothing")
    for name in CARD_ONLY_SWITCHES:
        p.add_argument(f"--{name}", action="store_true", help="accepted, changes nothing")
    return p


def parse(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Exits with 2 and a usage line when something is wrong, as argparse does."""
    p = parser()
    args = p.parse_args(argv)
    args.served_model_name = args.served_model_name or args.model_path.rstrip("/").rpartition("/")[2]
    if args.max_total_tokens < 2 * args.page_size:
        p.error("--max-total-tokens must hold two pages")
    return args


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not above 0")
    return value
