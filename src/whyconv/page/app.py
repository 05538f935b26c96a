"""The routes of the page. Every request has passed :class:`whyconv.page.safety.Guard` before."""

from __future__ import annotations

import asyncio
import gzip
import json
import threading
import time
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any
from urllib.parse import urlencode

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Mount, Route

from whyconv.errors import UserError, one_sentence, said
from whyconv.page import assets, audits, catalogue, folder, saving, uploads
from whyconv.page.desk import Asked, Desk
from whyconv.page.known import Known
from whyconv.page.question import LONGEST_COUNT, Question
from whyconv.page.safety import REPORT_POLICY, Guard, Pass
from whyconv.page.shown import planned, shown

LARGEST_BODY = 10_000
"""Bytes of a request that is not a file."""
LONGEST_SENTENCE = 600
"""Letters of a sentence that says what is wrong."""
QUICKLY = 4
"""How hard answers are compressed: in a millisecond or two."""
PAUSE, HEARTBEAT = 0.02, 10.0
"""Seconds between looks at a run, and between signs of life on a quiet connection."""
SLOWEST, LEISURE = 0.15, 4.0
"""Seconds between two views of the same run: more are not seen; and how often the time that one takes, since
the workers need the processor."""


class Server:
    """What the routes share: the rows, the desk, and who may come in."""

    def __init__(self, known: Known, desk: Desk, given: Pass) -> None:
        self.known, self.desk, self.given = known, desk, given
        self.folder = folder.Folder(known.folder)

    def application(self) -> Any:
        inside = [
            Route("/", self.page),
            Route("/assets/{name}", self.asset),
            Route("/api/questions", self.questions),
            Route("/api/spec", self.spec),
            Route("/api/runs", self.ask, methods=["POST"]),
            Route("/api/runs/{id}", self.stop, methods=["DELETE"]),
            Route("/api/runs/{id}/events", self.events),
            Route("/api/worths", self.worths),
            Route("/api/worths/{number}", self.figure),
            Route("/api/worths/{number}/{place}.svg", self.drawing),
            Route("/api/compare", self.compare),
            Route("/api/data", self.upload, methods=["POST"]),
            Route("/api/audits/{id}/report", self.report),
            Route("/api/saved", self.saved),
        ]
        routes = [Route("/", self.enter), Mount(f"/{self.given.room}", routes=inside)]
        handlers: Mapping[Any, Any] = {UserError: _refused, Exception: _failed}
        return Guard(
            Starlette(routes=routes, exception_handlers=handlers, lifespan=self._lifespan), self.given
        )

    @asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncIterator[None]:
        yield
        await run_in_threadpool(self.desk.close)

    # -- the page ----------------------------------------------------------------------------------

    async def enter(self, request: Request) -> Response:
        """Lead on to the page; the token becomes a cookie of its path and leaves the address."""
        rest = [(name, value) for name, value in request.query_params.multi_items() if name != "token"]
        given = self.given
        answer = RedirectResponse(given.path + (f"?{urlencode(rest)}" if rest else ""), 303)
        answer.set_cookie(given.cookie, given.token, httponly=True, samesite="strict", path=given.path)
        return answer

    async def page(self, _: Request) -> Response:
        return Response(assets.page(self.given.token), media_type="text/html; charset=utf-8")

    async def asset(self, request: Request) -> Response:
        """A script or style sheet of ours, compressed if the browser can read that."""
        found = await run_in_threadpool(assets.asset, request.path_params["name"])
        if found is None:
            return Response("There is no such file.", 404)
        headers = {"etag": found.tag, "cache-control": "private, no-cache", "vary": "accept-encoding"}
        if request.headers.get("if-none-match") == found.tag:
            return Response(status_code=304, headers=headers)
        if _unpacks(request):
            return Response(
                found.packed, headers={**headers, "content-encoding": "gzip"}, media_type=found.kind
            )
        return Response(found.content, headers=headers, media_type=found.kind)

    # -- break the prior ---------------------------------------------------------------------------

    async def questions(self, request: Request) -> Response:
        return _json(request, await run_in_threadpool(catalogue.questions))

    async def spec(self, request: Request) -> Response:
        """What is known of a question: figure, headline, numbers, command, picture."""
        question = catalogue.asked(dict(request.query_params))
        return _json(request, await run_in_threadpool(self._view, question, True))

    async def ask(self, request: Request) -> Response:
        """Begin to run what is missing."""
        given = await _small(request)
        question = catalogue.asked({str(name): str(value) for name, value in given.items()})
        return JSONResponse({"id": self.desk.ask(question).id}, 201)

    async def stop(self, request: Request) -> Response:
        if (asked := self.desk.asked.get(request.path_params["id"])) is None:
            return _missing()
        self.desk.stop(asked)
        return Response(status_code=204)

    async def events(self, request: Request) -> Response:
        """Server-sent events of a run; every view has the whole state, so none can be missed.

        ``done`` in the address is how many rows the reader has: what is on the page is not told again.
        """
        if (asked := self.desk.asked.get(request.path_params["id"])) is None:
            return _missing()
        has = request.query_params.get("done", "")
        known = int(has) if len(has) <= LONGEST_COUNT and has.isascii() and has.isdecimal() else -1
        view = audits.progress if asked.question is None else self._progress
        return StreamingResponse(_stream(asked, view, known), media_type="text/event-stream")

    def _refresh(self) -> None:
        """Read what other processes have written; not while rows of our own are being added."""
        if not self.desk.busy:
            self.known.refresh()

    def _view(self, question: Question, whole: bool) -> dict[str, Any]:
        self._refresh()
        found = shown(question, self.known.rows, self.known.folder)
        return {**found, "picture": question.example()} if whole else found

    def _progress(self, asked: Asked) -> dict[str, Any]:
        """The same without the chart's definition, which the reader has."""
        found = shown(asked.question, self.known.rows, self.known.folder)
        found["chart"] = {name: found["chart"][name] for name in ("id", "data")}
        return found

    # -- what is it worth --------------------------------------------------------------------------

    async def worths(self, request: Request) -> Response:
        return _json(request, await run_in_threadpool(self.folder.worths))

    async def figure(self, request: Request) -> Response:
        return _json(request, await run_in_threadpool(self.folder.figures, request.path_params["number"]))

    async def drawing(self, request: Request) -> Response:
        found = await run_in_threadpool(self.folder.drawing, **request.path_params)
        headers = {"content-disposition": 'attachment; filename="whyconv.svg"'}
        return Response(found, headers=headers, media_type="image/svg+xml")

    async def compare(self, request: Request) -> Response:
        pair = [request.query_params.get(name, "") for name in ("first", "second")]
        return _json(request, await run_in_threadpool(self.folder.compared, *pair))

    # -- audit mine --------------------------------------------------------------------------------

    async def upload(self, request: Request) -> Response:
        """Take a file in, within caps, and begin its audit."""
        asked = uploads.Wanted.of(request.query_params)
        self.desk.require_room()
        room = await uploads.received(request.stream(), asked, self.known.folder)
        try:
            work = await _aside(audits.prepared, room, asked)
            begun = self.desk.ask(None, work)
            begun.more["title"] = asked.name
        except BaseException:
            uploads.forget(room)
            raise
        return JSONResponse({"id": begun.id}, 201)

    async def report(self, request: Request) -> Response:
        asked = self.desk.asked.get(request.path_params["id"])
        if asked is None or "report" not in asked.more:
            return _missing()
        headers = {"content-security-policy": REPORT_POLICY}
        return Response(asked.more["report"], headers=headers, media_type="text/html; charset=utf-8")

    # -- to take away ------------------------------------------------------------------------------

    async def saved(self, request: Request) -> Response:
        """The page as one file with all questions whose rows are at hand."""
        question = catalogue.asked(dict(request.query_params))
        await run_in_threadpool(self._refresh)
        content = await run_in_threadpool(saving.saved, question, self.known)
        headers = {"content-disposition": 'attachment; filename="whyconv.html"'}
        return Response(content, headers=headers, media_type="text/html; charset=utf-8")

    def preheat(self) -> None:
        """Load what the first view needs: plotting, plans, the script that draws."""
        assets.asset("vega.js")
        question = catalogue.asked({})
        planned(question)
        self._view(question, True)


async def _stream(
    asked: Asked, view: Callable[[Asked], dict[str, Any]], known: int = -1
) -> AsyncIterator[str]:
    """The run as events: ``view`` whenever something has changed, and how it ended.

    Until there are more rows than the ``known`` ones only the status is told: a view takes the processor that
    the first new row needs.
    """
    seen, due, heard = -1, 0.0, time.monotonic()
    while True:
        now, version, over = time.monotonic(), asked.version, asked.over
        if version != seen and (over or now >= due):
            seen, heard, data = version, now, {}
            if over or asked.question is None or asked.done > known:
                data = await run_in_threadpool(view, asked)
                due = now + max(SLOWEST, LEISURE * (time.monotonic() - now))
            data |= {"status": asked.status, "sentence": asked.sentence}
            yield f"id: {version}\nevent: view\ndata: {json.dumps(data, allow_nan=False)}\n\n"
        elif over:
            yield "event: over\ndata: {}\n\n"
            return
        elif now - heard > HEARTBEAT:
            heard = now
            yield ": still here\n\n"
        await asyncio.sleep(PAUSE)


async def _aside(work: Callable[..., Any], *given: Any) -> Any:
    """The result of ``work`` from a thread that holds up no Ctrl-C, for what may take minutes."""
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[Any] = loop.create_future()

    def tell(set_it: Callable[[Any], None], found: Any) -> None:
        if not ended.cancelled():
            set_it(found)

    def run() -> None:
        try:
            told = ended.set_result, work(*given)
        except Exception as error:
            told = ended.set_exception, error
        with suppress(RuntimeError):  # the server has ended meanwhile
            loop.call_soon_threadsafe(tell, *told)

    threading.Thread(target=run, name="aside", daemon=True).start()
    return await ended


async def _small(request: Request) -> dict[str, Any]:
    """The JSON object of a request, which must be small."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > LARGEST_BODY:
            raise UserError(f"more than {LARGEST_BODY:,} bytes were sent; send the settings alone.")
    try:
        given = json.loads(body)
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict):
        raise UserError("something else than a JSON object was sent; send the settings by name.")
    return given


def _json(request: Request, data: Any) -> Response:
    """Compressed, if the browser can read that: a picture and rows take a tenth of their size then."""
    content = json.dumps(data, allow_nan=False).encode()
    if not _unpacks(request):
        return Response(content, media_type="application/json")
    headers = {"content-encoding": "gzip"}
    return Response(gzip.compress(content, QUICKLY), headers=headers, media_type="application/json")


def _unpacks(request: Request) -> bool:
    return "gzip" in request.headers.get("accept-encoding", "")


def _missing() -> Response:
    return JSONResponse({"error": "There is no such run; it may be of an earlier start."}, 404)


def _failed(_: Request, error: Exception) -> Response:
    """For a fault of ours, too, a sentence; the terminal has the traceback."""
    traceback.print_exception(error)
    return JSONResponse({"error": one_sentence(f"this is a fault of ours: {said(error)}")}, 500)


def _refused(_: Request, error: Exception) -> Awaitable[Response] | Response:
    """What was given is part of the sentence, and may be of any length."""
    sentence = one_sentence(str(error))
    if len(sentence) > LONGEST_SENTENCE:
        sentence = f"{sentence[:LONGEST_SENTENCE]} …"
    return JSONResponse({"error": sentence}, 400)
