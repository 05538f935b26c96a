"""The command ``whyconv page``: what it refuses, and how it starts a browser."""

import importlib.util
import socket
import sys
import threading
import tomllib
from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="the page needs whyconv[page]")

from whyconv.cli import page as command
from whyconv.errors import UserError
from whyconv.page import safety, serving


def test_what_cannot_be_served_is_said_in_a_sentence(tmp_path, monkeypatch):
    file = tmp_path / "file"
    file.write_text("x")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        for options, says in (
            ({"port": -1}, "--port -1 was given; give one from 1 to 65535"),
            ({"port": 70_000}, "--port 70000 was given"),
            ({"port": port}, f"--port {port} was given, but it cannot be used"),
            ({"workers": 0}, "--workers 0 was given"),
            ({"out": file}, "which is a file; give a folder"),
        ):
            with pytest.raises(UserError, match=says):
                command.page(**{"out": tmp_path, **options})
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "uvicorn" else name)
    with pytest.raises(UserError, match=r"the page needs uvicorn; install 'whyconv\[page\]'"):
        command.page(out=tmp_path)


def test_the_extra_has_what_every_tab_needs():
    project = Path(__file__).parents[2] / "pyproject.toml"
    extras = tomllib.loads(project.read_text("utf-8"))["project"]["optional-dependencies"]
    assert set(extras["images"]) < set(extras["page"]), "an archive of images is dropped on the third tab"


@pytest.mark.parametrize("terminal, no_open, opened", [(True, False, 1), (True, True, 0), (False, False, 0)])
def test_a_browser_is_started_at_a_terminal_without_the_token(
    tmp_path, monkeypatch, capsys, terminal, no_open, opened
):
    given, seen = safety.Pass(8000), []
    monkeypatch.setattr(serving, "serve", lambda out, port, workers, ready: ready(given))
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal, raising=False)
    monkeypatch.setattr(command.webbrowser, "open", seen.append)
    command.page(out=tmp_path, no_open=no_open)
    browsers()
    assert len(seen) == opened and not any(given.token in address for address in seen)
    assert capsys.readouterr().out.split("\n") == [f"The page is at {given.address} (Ctrl-C ends it)", ""]


def test_a_browser_that_does_not_return_holds_nothing_up(tmp_path, monkeypatch):
    closed, started = threading.Event(), threading.Event()
    monkeypatch.setattr(serving, "serve", lambda out, port, workers, ready: ready(safety.Pass(8000)))
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(command.webbrowser, "open", lambda _: started.set() or closed.wait(20))
    command.page(out=tmp_path)
    assert started.wait(5), "and the command has gone on"
    closed.set()
    browsers()


def browsers():
    """Wait for the threads that start browsers."""
    for each in threading.enumerate():
        if each.name == "browser":
            each.join(10)
