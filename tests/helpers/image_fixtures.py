"""Fixtures: small image sets with tables of their own, an empty cache, local mirrors.

Test modules name this one in ``pytest_plugins``; a ``conftest.py`` here would hide that of all tests.
"""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from small_sets import Small


@pytest.fixture
def small(tmp_path, monkeypatch):
    for variable in ("WHYCONV_DATA", "XDG_CACHE_HOME"):
        monkeypatch.setenv(variable, "")
    monkeypatch.setenv("WHYCONV_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    return Small(monkeypatch, tmp_path / "cache" / "data")


@pytest.fixture
def folder(small, tmp_path, monkeypatch):
    """A user's folder with all three sets, of CIFAR-10 two batches, named by WHYCONV_DATA."""
    place = tmp_path / "given"
    for name in ("mnist", "fashion-mnist"):
        small.write(name, place / name)
    small.write("cifar-10", place / "cifar-10", {"data_batch_1.bin", "data_batch_2.bin", "test_batch.bin"})
    monkeypatch.setenv("WHYCONV_DATA", str(place))
    return place


@pytest.fixture
def mirror():
    """Starts a mirror of a dictionary of files; gives its address and the list of what it was asked."""
    servers = []

    def start(files):
        asked = []

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                asked.append((self.path[1:], self.headers["Accept-Encoding"]))
                data = files.get(self.path[1:])
                self.send_response(200 if data is not None else 404)
                self.send_header("Content-Length", str(len(data or b"")))
                self.end_headers()
                self.wfile.write(data or b"")

            def log_message(self, *arguments):
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        servers.append((server, thread))
        return f"http://127.0.0.1:{server.server_port}/", asked

    yield start
    for server, thread in servers:
        server.shutdown()
        thread.join()
        server.server_close()
