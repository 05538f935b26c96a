"""What ``--cluster`` names: the address of a scheduler, its scheduler file, or a file that starts one."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

from whyconv.errors import UserError
from whyconv.paths import given_path

SCHEMES = ("tcp", "tls")
ALLOWED = "give tcp://HOST:PORT, tls://HOST:PORT, a scheduler file (.json) or a cluster file (.yaml)"
_ADDRESS = re.compile(r"(?P<host>\[[0-9a-fA-F:.%]+\]|[\w.-]+):(?P<port>[0-9]{1,5})", re.ASCII)
LARGEST = 1_000_000
"""Limit in bytes for scheduler and cluster files."""


@dataclass(frozen=True)
class Address:
    """Where a scheduler listens."""

    url: str


@dataclass(frozen=True)
class ClusterFile:
    """A YAML file that says how to start a cluster."""

    path: Path
    text: str


def named(given: str | Path) -> Address | ClusterFile:
    """What the user gave, read and checked; nothing is connected or started."""
    text = str(given).strip()
    if "://" in text:
        return address(text, f"--cluster {text} was given")
    path = given_path(given)
    if path.suffix == ".json":
        return _scheduler_file(path)
    if path.suffix in (".yaml", ".yml"):
        return ClusterFile(path, _text(path))
    raise UserError(f"--cluster {text} was given; {ALLOWED}.")


def address(text: str, who: str) -> Address:
    """The address of a scheduler, or a refusal that begins with ``who``."""
    scheme, _, place = text.partition("://")
    if scheme not in SCHEMES:
        raise UserError(f"{who}, but whyconv speaks {' and '.join(SCHEMES)} alone; {ALLOWED}.")
    found = _ADDRESS.fullmatch(place)
    if not found or not 0 < int(found["port"]) < 65536:
        raise UserError(f"{who}, which is not {scheme}://HOST:PORT with a port up to 65535; {ALLOWED}.")
    return Address(text)


def _scheduler_file(path: Path) -> Address:
    """The address in a file that ``dask scheduler --scheduler-file`` wrote."""
    try:
        found = json.loads(_text(path))
        text = found["address"]
    except (ValueError, KeyError, TypeError, RecursionError):
        text = None
    if not isinstance(text, str):
        raise UserError(
            f"--cluster {path} is not a scheduler file: it has no address; start dask scheduler "
            f"--scheduler-file {path}, or {ALLOWED}."
        )
    return address(text, f"--cluster {path} has the address {text:.100}")


def _text(path: Path) -> str:
    try:
        if not path.is_file():
            raise UserError(f"--cluster {path} was given, but there is no such file; {ALLOWED}.")
        if (size := path.stat().st_size) > LARGEST:
            raise UserError(f"--cluster {path} has {size:,} bytes; give a file of at most {LARGEST:,}.")
        return path.read_text("utf-8")
    except UnicodeDecodeError:
        raise UserError(f"--cluster {path} is not text in UTF-8; {ALLOWED}.") from None
    except OSError as error:
        raise UserError(f"--cluster {path} cannot be read: {error.strerror}; {ALLOWED}.") from None
