"""A page's server as a process of its own, and requests to it."""

import http.client
import json
import os
import signal
import subprocess
import time
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from command_line import line


class Served:
    """The command ``whyconv page``, its address and what a tab that was opened there would send."""

    def __init__(self, out: Path, *options: str) -> None:
        self.out = out
        words = line("page", "--no-open", "--workers", "1", "--out", out, *options)
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert self.process.stdout is not None
        self.said = self.process.stdout.readline()
        self.address = next(word for word in self.said.split() if word.startswith("http://"))
        self.port = urlsplit(self.address).port
        (self.token,) = parse_qs(urlsplit(self.address).query)["token"]
        self.cookie = f"whyconv-{self.port}={self.token}"
        self.room = ""
        self.room = self.ask("GET", f"/?token={self.token}")[1]["location"].rstrip("/")

    @property
    def base(self):
        """Where the page lies."""
        return f"http://127.0.0.1:{self.port}{self.room}/"

    def ask(self, method, path, body=None, without=(), host=None, room=None, **headers):
        """Status, headers and body; ``_`` in names of headers is a dash; the path is below the page's own."""
        own = {"host": host or f"127.0.0.1:{self.port}", "cookie": self.cookie, "x-whyconv-token": self.token}
        own |= {name.replace("_", "-"): value for name, value in headers.items()}
        wire = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        place = (self.room if room is None else room) + path
        wire.putrequest(method, place, skip_host=True, skip_accept_encoding=True)
        for name, value in own.items():
            if name not in without:
                wire.putheader(name, value)
        content = json.dumps(body).encode() if isinstance(body, dict) else body or b""
        wire.putheader("content-length", str(len(content)))
        wire.endheaders(content)
        answer = wire.getresponse()
        found = answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
        wire.close()
        return found

    def json(self, method, path, body=None):
        status, _, content = self.ask(method, path, body)
        return status, json.loads(content) if content else None

    def events(self, run):
        """All events of a run until it is over, as (kind, data)."""
        wire = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        wire.request("GET", f"{self.room}/api/runs/{run}/events", headers={"cookie": self.cookie})
        answer, kind, found = wire.getresponse(), "", []
        while text := answer.readline().decode():
            name, _, value = text.strip().partition(": ")
            if name == "event":
                kind = value
            if name == "data":
                found.append((kind, json.loads(value)))
                if kind == "over":
                    break
        wire.close()
        return found

    def children(self):
        """The processes that the server has started."""
        found = []
        for folder in Path("/proc").iterdir():
            if folder.name.isdigit():
                try:
                    stat = (folder / "stat").read_text().rpartition(")")[2].split()
                except OSError:
                    continue
                if int(stat[1]) == self.process.pid and stat[0] != "Z":
                    found.append(int(folder.name))
        return found

    def end(self, how=signal.SIGINT):
        self.process.send_signal(how)
        code = self.process.wait(60)
        assert self.process.stdout is not None
        self.left = self.process.stdout.read()
        self.process.stdout.close()
        return code


def gone(pids, seconds=15):
    """Whether these processes end within some seconds."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if not any(alive(pid) for pid in pids):
            return True
        time.sleep(0.1)
    return False


def alive(pid):
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
