"""Starts the server on the loopback address, says where it is once it answers, and ends it cleanly."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from pathlib import Path

import uvicorn

from whyconv.errors import UserError
from whyconv.page import desk, uploads
from whyconv.page.app import Server
from whyconv.page.known import Known
from whyconv.page.safety import LOOPBACK, Pass


def serve(out: Path, port: int, workers: int | None, ready: Callable[[Pass], None]) -> None:
    """Serve until Ctrl-C; ``ready`` is called with what opens the page as soon as it answers."""
    bound = _bound(port)
    uploads.sweep(out)
    desk.sweep()
    given = Pass(bound.getsockname()[1])
    known = Known(out)
    server = Server(known, desk.Desk(known, workers), given)
    config = uvicorn.Config(
        server.application(), log_level="critical", access_log=False, server_header=False, date_header=False,
        timeout_graceful_shutdown=1, lifespan="on", proxy_headers=False,
    )  # fmt: skip

    class Telling(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets=sockets)
            ready(given)
            threading.Thread(target=server.preheat, name="preheat", daemon=True).start()

    try:
        Telling(config).run(sockets=[bound])
    except KeyboardInterrupt:
        pass
    finally:
        server.desk.close()


def _bound(port: int) -> socket.socket:
    """A socket on the loopback address; port 0 takes any that is free."""
    bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((LOOPBACK, port))
    except OSError as error:
        bound.close()
        raise UserError(
            f"--port {port} was given, but it cannot be used ({error.strerror}); give another."
        ) from None
    return bound
