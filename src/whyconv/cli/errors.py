"""How a command ends: an error of the user or of the machine in a sentence, a bug with its traceback."""

from __future__ import annotations

import errno
import os
import sys
from contextlib import suppress
from typing import Any

import typer

from whyconv.errors import UserError, said

UsageError: Any = typer.BadParameter.__bases__[0]
"""Any complaint of the option parser; Typer gives this class no public name."""


def require_text(words: list[str]) -> None:
    """Refuse arguments that are not text: what is not UTF-8 can be neither stored nor shown."""
    for word in words:
        if "\0" in word or any("\ud800" <= each <= "\udfff" for each in word):
            raise UserError(f"the argument {word!a} was given; give text in UTF-8.")


def require_output() -> None:
    """Have the three standard streams open, or a file that is opened next would take the place of one."""
    closed = sys.stdout is None
    with suppress(OSError):
        while (fd := os.open(os.devnull, os.O_RDWR)) <= 2:
            os.set_inheritable(fd, True)
        os.close(fd)
    if closed:
        raise UserError("standard output is closed; send it to a file, or to /dev/null.")
    with suppress(AttributeError):  # a terminal that lacks a character shows its number
        sys.stdout.reconfigure(errors="backslashreplace")  # pyright: ignore[reportAttributeAccessIssue]


def finish_output() -> None:
    """Write out what is printed but still held, while a failure can still be told."""
    if sys.stdout is not None:
        sys.stdout.flush()


def told(error: Any, subcommand: str) -> str | None:
    """The sentence for an error of the user or of the machine; None for anything else, which is a bug."""
    if isinstance(error, UserError):
        return str(error)
    if isinstance(error, UsageError):
        return f"{error.format_message().rstrip('.?')}; see whyconv {subcommand}--help."
    if isinstance(error, MemoryError):
        return "there is not enough memory for this; ask for less, or end what else uses it, and try again."
    return _of_system(error) if isinstance(error, OSError) else None


def _of_system(error: OSError) -> str:
    why = error.strerror or said(error)
    if not output_works():
        return f"standard output cannot be written: {why}; send it where there is room."
    if error.filename is not None:
        return f"{os.fsdecode(error.filename)}: {why}; give a path that can be used."
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"the disk or standard output is full ({why}); free some space and run the same command again."
    return f"the system refused: {why}; see to that and run the same command again."


def output_works() -> bool:
    """Whether all that was printed can be written. If not, the rest goes nowhere: Python would complain."""
    try:
        finish_output()
        return True
    except OSError:
        leave_output()
        return False


def leave_output() -> None:
    """Send the rest of standard output to nowhere."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
