"""``whyconv page``: a local page on which priors can be broken."""

from __future__ import annotations

import importlib.util
import sys
import threading
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from whyconv.errors import UserError
from whyconv.paths import given_path

PORTS = 65_535


def page(
    port: Annotated[int, typer.Option(help="Port on this machine; by default a free one.")] = 0,
    out: Annotated[
        Path,
        typer.Option(metavar="DIR", parser=given_path, help="Folder of rows; default whyconv-runs."),
    ] = Path("whyconv-runs"),
    workers: Annotated[int | None, typer.Option(help="Worker processes; default one per core.")] = None,
    no_open: Annotated[bool, typer.Option("--no-open", help="Do not open a browser.")] = False,
) -> None:
    """Open a page: break a prior and see what it was worth.

    Also: browse the worths of a folder, audit your own data.

    Prints its address once it answers; Ctrl-C ends it. It can be reached from this machine alone.
    """
    if not 0 <= port <= PORTS:
        raise UserError(f"--port {port} was given; give one from 1 to {PORTS}, or leave it out.")
    if workers is not None and not 1 <= workers <= 1000:
        raise UserError(f"--workers {workers} was given; give a number from 1 to 1,000.")
    if missing := [name for name in ("starlette", "uvicorn") if importlib.util.find_spec(name) is None]:
        raise UserError(f"the page needs {' and '.join(missing)}; install 'whyconv[page]'.")
    if out.exists() and not out.is_dir():
        raise UserError(f"--out {out} was given, which is a file; give a folder.")
    from whyconv.page.safety import Pass
    from whyconv.page.serving import serve

    def ready(given: Pass) -> None:
        print(f"The page is at {given.address} (Ctrl-C ends it)", flush=True)
        if not no_open and sys.stdout.isatty():
            # in a thread, since some browsers return only when they are closed
            opening = threading.Thread(
                target=webbrowser.open, args=[given.first_visit], name="browser", daemon=True
            )
            opening.start()

    serve(out, port, workers, ready)
