"""The command line, in a process of its own or in this one."""

import json
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


ONE_BY_ONE = """
import io, json, sys
from contextlib import redirect_stderr, redirect_stdout
from whyconv.cli.main import main
for words in json.loads(sys.argv[1]):
    sys.argv, code, out, err = ["whyconv", *words], 0, io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        try:
            main()
        except SystemExit as ended:
            code = ended.code or 0
    print(json.dumps([code, out.getvalue(), err.getvalue()]), flush=True)
"""


def one_process(*commands, cwd, **environment):
    """Several commands, one after the other, in a process of their own."""
    words = json.dumps([list(map(str, command)) for command in commands])
    done = subprocess.run(
        [sys.executable, "-c", ONE_BY_ONE, words], cwd=cwd, capture_output=True, text=True, check=True,
        env={**os.environ, "COLUMNS": "80", **environment},
    )  # fmt: skip
    return [Done(*json.loads(line)) for line in done.stdout.splitlines()]


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
