"""Shows the progress of planning if it takes more than a moment."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console

from whyconv.studies import Point
from whyconv.text import count

PATIENCE = 2.0
"""Seconds before the first message."""
PLAIN_EVERY = 10.0
DRAWN_EVERY = 0.2


@contextmanager
def planning() -> Iterator[None]:
    """Show on stderr that plans are being made."""
    waiting = Waiting(Console(stderr=True))
    waiting.start()
    try:
        yield
    finally:
        waiting.stop()


class Waiting:
    """A spinner in a terminal, occasional lines elsewhere, from :meth:`start` to :meth:`stop`."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._show, daemon=True)

    def start(self) -> None:
        """Start counting; nothing is shown yet."""
        self._began, self._before = time.monotonic(), Point.made
        self._thread.start()

    def stop(self) -> None:
        """Stop; once this returns, nothing more is printed. A second call does nothing."""
        self._over.set()
        if self._thread.is_alive():
            self._thread.join()

    def _show(self) -> None:
        if self._over.wait(PATIENCE):
            return
        if self._console.is_terminal:
            with self._console.status(self._text()) as status:
                while not self._over.wait(DRAWN_EVERY):
                    status.update(self._text())
        else:
            self._console.print(f"{self._text()}.", highlight=False, soft_wrap=True)
            while not self._over.wait(PLAIN_EVERY):
                self._console.print(f"{self._text()}.", highlight=False, soft_wrap=True)

    def _text(self) -> str:
        trials = count(Point.made - self._before, "trial")
        return f"planning: {trials} so far, {time.monotonic() - self._began:.0f} s"
