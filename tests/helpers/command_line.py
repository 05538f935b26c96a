"""The command line, in a process of its own or in this one."""

import os
import subprocess
import sys
from typing import NamedTuple

import pytest

from whyconv import registry
from whyconv.cli import main as cli


class Done(NamedTuple):
    """How a command ended, what it printed, and what it complained of."""

    returncode: int
    stdout: str
    stderr: str


def line(*arguments):
    """The words that start a process."""
    return [sys.executable, "-c", "from whyconv.cli.main import main; main()", *map(str, arguments)]


def process(*arguments, cwd, **environment):
    """The command in a process of its own."""
    variables = {**os.environ, "COLUMNS": "80", **environment}
    return subprocess.run(
        line(*arguments), cwd=cwd, capture_output=True, text=True, env=variables, check=False
    )


@pytest.fixture
def whyconv(monkeypatch, capsys):
    """The command in this process, which forgets afterwards what was loaded."""
    registry.pieces("claim")
    monkeypatch.setattr(registry, "_pieces", dict(registry._pieces))
    modules = set(sys.modules)

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["whyconv", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            cli.main()
        return Done(left.value.code, *capsys.readouterr())

    yield call
    for name in set(sys.modules) - modules:
        if name.startswith("whyconv_user_"):
            del sys.modules[name]
