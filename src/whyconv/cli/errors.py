"""How a command ends: an error of the user or of the system in one sentence, a bug with its traceback."""

from __future__ import annotations

import errno
import os
import sys
from contextlib import suppress
from typing import Any

import typer

from whyconv.errors import UserError, said

UsageError: Any = typer.BadParameter.__bases__[0]
"""Any error of the option parser; Typer has no public name for this class."""


def require_text(words: list[str]) -> None:
    """Refuse arguments that are not valid UTF-8: they can be neither stored nor printed."""
    for word in words:
        if "\0" in word or any("\ud800" <= each <= "\udfff" for each in word):
            raise UserError(f"the argument {word!a} was given; give text in UTF-8.")


def require_output() -> None:
    """Open standard streams that are closed: else the next file opened would take their place."""
    closed = sys.stdout is None
    with suppress(OSError):
        while (fd := os.open(os.devnull, os.O_RDWR)) <= 2:
            os.set_inheritable(fd, True)
        os.close(fd)
    if closed:
        raise UserError("standard output is closed; send it to a file, or to /dev/null.")
    with suppress(AttributeError):  # characters that the terminal lacks are escaped
        sys.stdout.reconfigure(errors="backslashreplace")  # pyright: ignore[reportAttributeAccessIssue]


def finish_output() -> None:
    """Flush standard output while a failure can still be reported."""
    if sys.stdout is not None:
        sys.stdout.flush()


def sentence_for(error: Any, subcommand: str) -> str | None:
    """The sentence for an error of the user or of the system; None for anything else, which is a bug."""
    if isinstance(error, UserError):
        return str(error)
    if isinstance(error, UsageError):
        return f"{error.format_message().rstrip('.?')}; see whyconv {subcommand}--help."
    if isinstance(error, MemoryError):
        return "there is not enough memory; ask for less or close other programs, and try again."
    return _of_system(error) if isinstance(error, OSError) else None


def _of_system(error: OSError) -> str:
    why = error.strerror or said(error)
    if not output_works():
        return f"standard output cannot be written: {why}; send it where there is room."
    if error.filename is not None:
        return f"{os.fsdecode(error.filename)}: {why}; give a path that can be used."
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"the disk or standard output is full ({why}); free some space and run the same command again."
    return f"the system refused: {why}; fix that and run the same command again."


def output_works() -> bool:
    """Whether standard output works. If not, the rest is discarded: Python would complain at exit."""
    try:
        finish_output()
        return True
    except OSError:
        leave_output()
        return False


def leave_output() -> None:
    """Discard the rest of standard output."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
