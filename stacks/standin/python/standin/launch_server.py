"""`python -m standin.launch_server`: one worker, until SIGTERM or SIGINT. Needs no card."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from argparse import Namespace
from collections.abc import Sequence

from aiohttp import web
from aiohttp.http_exceptions import BadHttpMessage

from standin import transfer
from standin.arguments import parse
from standin.engine import Engine
from standin.server import Server


async def serve(args: Namespace) -> None:
    """Listen, then wait for a signal. OSError when a port is taken."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with Engine(args) as engine:
        apps = [(Server(engine).application(), args.port)]
        if args.disaggregation_mode == "prefill" and engine.prefill is not None:
            apps.append((transfer.application(engine.prefill), args.disaggregation_bootstrap_port))
        runners = [await _listen(app, args.host, port) for app, port in reversed(apps)]  # rooms before requests
        logging.info("The server is fired up and ready to roll! %s:%s", args.host, args.port)
        await stop.wait()
        for runner in reversed(runners):
            await runner.cleanup()


async def _listen(app: web.Application, host: str, port: int) -> web.AppRunner:
    runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.2)
    await runner.setup()
    await web.TCPSite(runner, host, port, backlog=1024).start()
    return runner


def _worth_a_line(record: logging.LogRecord) -> bool:
    """Not the router's question whether the port speaks HTTP/2 (at every start), nor a client that went away."""
    return not (record.exc_info and isinstance(record.exc_info[1], (BadHttpMessage, ConnectionResetError)))


def main(argv: Sequence[str] | None = None) -> int:
    args = parse(argv)
    logging.getLogger("aiohttp.server").addFilter(_worth_a_line)
    logging.basicConfig(level=args.log_level.upper(), format="[%(asctime)s] %(levelname)s %(message)s")
    try:
        asyncio.run(serve(args))
    except OSError as error:
        print(f"cannot listen: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
