"""Who may ask the page's server for what: checked before any route, for every request.

The server listens on the loopback address alone, but every web page in the user's browser and every other
user of the machine can reach that. So a request must name this server (a foreign name that resolves to
127.0.0.1 does not), must not come from another site, and must bring the token that only the line printed in
the terminal has. A browser sends a cookie to every port of a host, so the page lies below a random path, and
its cookie is sent nowhere else.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs

Message = MutableMapping[str, Any]
App = Callable[
    [Message, Callable[[], Awaitable[Message]], Callable[[Message], Awaitable[None]]], Awaitable[None]
]

LOOPBACK = "127.0.0.1"
SAFE_METHODS = ("GET", "HEAD")
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""Nothing is loaded from elsewhere and no text becomes code: Vega runs its interpreter of expressions."""
REPORT_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; "
    "img-src data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "sandbox allow-scripts allow-downloads"
)
"""For a report, which brings its scripts along: it runs in an origin of its own and can ask nothing here."""
HEADERS = {
    "x-frame-options": "DENY",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


@dataclass(frozen=True)
class Pass:
    """What opens the page: the port, a token of 256 bits and a path of 128, new for every start."""

    port: int
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    once: list[str] = field(default_factory=lambda: [secrets.token_urlsafe(32)])
    """A code for one first visit, until it is used: a browser is started with it, and other users of the
    machine can read how programs were started."""
    room: str = field(default_factory=lambda: secrets.token_urlsafe(16))
    """The first part of every path: a server on another port sees no request for it, hence no cookie."""

    @property
    def cookie(self) -> str:
        """The cookie's name."""
        return f"whyconv-{self.port}"

    @property
    def path(self) -> str:
        """Where the page lies, and the path of its cookie."""
        return f"/{self.room}/"

    @property
    def hosts(self) -> tuple[str, str]:
        return f"{LOOPBACK}:{self.port}", f"localhost:{self.port}"

    @property
    def address(self) -> str:
        return f"http://{LOOPBACK}:{self.port}/?token={self.token}"

    @property
    def first_visit(self) -> str:
        """An address that opens the page one single time."""
        return f"http://{LOOPBACK}:{self.port}/?token={self.once[0]}"

    def fits(self, given: str) -> bool:
        """Compared in constant time."""
        return _equal(given, self.token)

    def admits(self, given: str) -> bool:
        """Whether this opens the page: the token, or the code for one first visit, which is then used."""
        if self.once and _equal(given, self.once[0]):
            self.once.clear()
            return True
        return self.fits(given)

    def refusal(self, method: str, path: str, query: str, headers: list[tuple[str, str]]) -> tuple[int, str]:
        """A status and a sentence; 200 if the request may pass."""
        found = dict(headers)
        if [value for name, value in headers if name == "host"] not in [[host] for host in self.hosts]:
            return 421, "This server answers to its own address alone; use the one that whyconv page printed."
        allowed = {
            "origin": [f"http://{host}" for host in self.hosts],
            "sec-fetch-site": ["same-origin", "none"],
        }
        if any(value not in allowed.get(name, [value]) for name, value in headers):
            return 403, "The request comes from another site; type or paste the address instead."
        if method == "GET" and path == "/" and any(map(self.admits, parse_qs(query).get("token", ()))):
            return 200, ""
        known = any(map(self.fits, cookie_values(found.get("cookie", ""), self.cookie)))
        if not known or not _equal(path[: len(self.path)], self.path):
            return 401, "Open the address that whyconv page printed; it holds a token that this one lacks."
        if method not in SAFE_METHODS and not self.fits(found.get("x-whyconv-token", "")):
            return 403, "The request lacks the page's token; reload the page."
        return 200, ""


def _equal(given: str, kept: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "replace"), kept.encode())


def cookie_values(header: str, name: str) -> list[str]:
    """The values of the cookies of this name; what other applications have set may be odd."""
    pairs = (part.strip().partition("=") for part in header.split(";"))
    return [value for key, _, value in pairs if key == name]


class Guard:
    """Wraps an application: refuses what :class:`Pass` refuses, and adds headers to every answer."""

    def __init__(self, app: App, given: Pass) -> None:
        self._app, self._pass = app, given

    async def __call__(self, scope: Message, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        headers = [
            (name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in scope["headers"]
        ]
        query = scope.get("query_string", b"").decode("latin-1")
        status, sentence = self._pass.refusal(scope["method"], scope["path"], query, headers)
        if status != 200:
            await _answer(send, status, sentence)
            return
        await self._app(scope, receive, _with_headers(send))


def _with_headers(send: Any) -> Any:
    """``send`` with :data:`HEADERS`; a route may set a policy or a rule for caches of its own."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            own = {name.lower() for name, _ in message["headers"]}
            rules = {**HEADERS, "content-security-policy": POLICY}
            more = [(n.encode(), v.encode()) for n, v in rules.items() if n.encode() not in own]
            message = {**message, "headers": [*message["headers"], *more]}
        await send(message)

    return sending


async def _answer(send: Any, status: int, sentence: str) -> None:
    sending = _with_headers(send)
    headers = [(b"content-type", b"text/plain; charset=utf-8")]
    await sending({"type": "http.response.start", "status": status, "headers": headers})
    await sending({"type": "http.response.body", "body": sentence.encode()})
