"""The server as whoever can reach it sees it: who may ask for what, runs with events, and its end."""

import signal
import socket
import time
from pathlib import Path
from urllib.parse import urlencode

import pytest

pytest.importorskip("starlette", reason="the page needs whyconv[page]")

from page_server import Served, alive, gone

from whyconv.page import assets

linux = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads /proc")
SMALL = {"task": "bits", "m": "400", "n": "10", "k": "2", "seeds": "3"}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    served = Served(tmp_path_factory.mktemp("page") / "rows")
    yield served
    if served.process.poll() is None:
        served.end(signal.SIGKILL)


@pytest.fixture(scope="module")
def other(server):
    """The server of another user, in the same folder."""
    served = Served(server.out)
    yield served
    if served.process.poll() is None:
        served.end(signal.SIGKILL)


def test_the_address_is_printed_at_once_with_a_token_of_256_bits(server):
    assert server.address.startswith(f"http://127.0.0.1:{server.port}/?token=")
    assert len(server.token) >= 43


def test_the_token_becomes_a_cookie_and_leaves_the_address(server):
    path = f"/?token={server.token}&tab=break&task=bits"
    status, headers, _ = server.ask("GET", path, without=("cookie", "x-whyconv-token"), room="")
    assert status == 303 and headers["location"] == f"{server.room}/?tab=break&task=bits"
    cookie = headers["set-cookie"]
    assert cookie.startswith(f"whyconv-{server.port}={server.token};")
    assert f"; Path={server.room}/;" in cookie and len(server.room) >= 22
    assert "HttpOnly" in cookie and "samesite=strict" in cookie.lower() and "domain" not in cookie.lower()


def test_it_listens_on_the_loopback_address_alone(server):
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.2", server.port), 1).close()


@pytest.mark.parametrize("host", ["127.0.0.1", "evil.example", "127.0.0.1:1", "localhost", "[::1]:80", ""])
def test_a_foreign_name_or_port_is_misdirected(server, host):
    host = host if host else "evil.example:" + str(server.port)
    assert server.ask("GET", "/", host=host)[0] == 421
    assert server.ask("GET", "/", without=("host",))[0] in (400, 421)
    assert server.ask("GET", "/", host=f"localhost:{server.port}")[0] == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1", "http://127.0.0.1:1"])
def test_another_site_is_refused(server, origin):
    assert server.ask("GET", "/api/questions", origin=origin)[0] == 403
    assert server.ask("POST", "/api/runs", SMALL, origin=origin)[0] == 403
    assert server.ask("GET", "/api/questions", origin=f"http://127.0.0.1:{server.port}")[0] == 200


@pytest.mark.parametrize(
    "site, status", [("cross-site", 403), ("same-site", 403), ("same-origin", 200), ("none", 200)]
)
def test_what_the_browser_says_of_the_site_counts(server, site, status):
    assert server.ask("GET", "/", sec_fetch_site=site)[0] == status


@pytest.mark.parametrize(
    "path", ["/", "/api/questions", "/assets/main.js", "/api/spec", "/api/saved", "/nowhere"]
)
def test_nothing_without_the_cookie(server, path):
    assert server.ask("GET", path, without=("cookie",))[0] == 401
    assert server.ask("GET", path, cookie=f"whyconv-{server.port}={server.token}x")[0] == 401
    assert server.ask("GET", path, cookie=f"whyconv-1={server.token}")[0] == 401
    wrong = server.ask("GET", "/?token=" + server.token[:-1], without=("cookie",), room="")
    assert wrong[0] == 401 and "set-cookie" not in wrong[1]


def test_the_cookie_opens_nothing_outside_of_its_path(server):
    for room in ("", "/", server.room[:-1], server.room + "x"):
        for path in ("/", "/api/questions", "/nowhere"):
            status, headers, _ = server.ask("GET", path, room=room)
            assert status == 401 and "location" not in headers
        assert server.ask("POST", "/api/runs", SMALL, room=room)[0] == 401
    assert server.ask("HEAD", f"/?token={server.token}", without=("cookie",), room="")[0] == 401


def test_odd_cookies_of_other_applications_do_not_hide_ours(server):
    for odd in ('prefs={"a":1}', "a:b=1", "x[y]=1", "a=b c", "foo", "", f"whyconv-{server.port}=x"):
        for cookies in (f"{odd}; {server.cookie}", f"{server.cookie}; {odd}", f"{odd};{server.cookie}"):
            assert server.ask("GET", "/", cookie=cookies)[0] == 200, cookies


def test_what_changes_something_needs_the_token_of_the_page_as_well(server):
    for method, path in (("POST", "/api/runs"), ("POST", "/api/data?kind=csv"), ("DELETE", "/api/runs/1")):
        assert server.ask(method, path, SMALL, without=("x-whyconv-token",))[0] == 403
        assert server.ask(method, path, SMALL, x_whyconv_token=server.token[:-1])[0] == 403


@pytest.mark.parametrize("path, status", [("/", 200), ("/api/spec?m=1", 400), ("/nowhere", 404)])
def test_headers_forbid_frames_and_everything_from_elsewhere(server, path, status):
    found, headers, _ = server.ask("GET", path)
    assert found == status
    rules = dict(rule.strip().split(" ", 1) for rule in headers["content-security-policy"].split(";"))
    assert rules["default-src"] == rules["frame-ancestors"] == rules["base-uri"] == "'none'"
    assert rules["script-src"] == "'self'" and "http" not in headers["content-security-policy"]
    assert headers["x-frame-options"] == "DENY" and headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer" and headers["cache-control"] == "no-store"
    assert "access-control-allow-origin" not in headers


@pytest.mark.parametrize(
    "query",
    [
        "task=../../etc", "task=bits&load=/x.py", "task=bits&out=/x", "task=bits&m=10000000",
        "task=bits&m=401", "task=bits&seeds=31", "task=bits&seeds=2", "task=bits&seeds=1e1",
        "task=bits&seeds=%D9%A5", "task=bits&n=17", "task=bits&permuted=1", "task=bits&world=x",
        "task=bits&arms=x", "task=bits&test_size=9", "tab=x", "task=", "task=bits&first_seed=7",
        "task=bits&__class__=x",
    ],
)  # fmt: skip
def test_an_address_holds_choices_and_nothing_else(server, query):
    status, said = server.json("GET", f"/api/spec?{query}")
    assert status == 400 and said["error"].endswith(".") and said["error"].count("\n") == 0
    settings = dict(part.split("=", 1) for part in query.split("&"))
    assert server.json("POST", "/api/runs", settings)[0] == 400


def test_a_sentence_stays_short_whatever_was_given(server):
    for query in ("task=" + "x" * 9000, "x" * 9000 + "=1", "task=bits&m=" + "?" * 9000):
        status, said = server.json("GET", f"/api/spec?{query}")
        assert status == 400 and 500 < len(said["error"]) < 700


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b"7", b"x" * 10_001, b"[" * 9000])
def test_a_body_that_is_no_small_object_is_refused(server, body):
    assert server.ask("POST", "/api/runs", body)[0] == 400


def test_files_of_the_package_alone_are_served_compressed(server):
    for name in ("..%2Fapp.py", "page.html", "%2Fetc%2Fpasswd", "vega.js.map"):
        assert server.ask("GET", f"/assets/{name}")[0] == 404
    total = 0
    for name in ("page.css", "vega.js", *assets.MODULES):
        status, headers, content = server.ask("GET", f"/assets/{name}", accept_encoding="gzip")
        assert status == 200 and headers["content-encoding"] == "gzip"
        assert server.ask("GET", f"/assets/{name}", if_none_match=headers["etag"])[0] == 304
        total += len(content)
    for path in ("/", "/api/questions", "/api/spec"):
        status, headers, content = server.ask("GET", path, accept_encoding="gzip")
        assert status == 200 and (path == "/") == ("content-encoding" not in headers)
        total += len(content)
    assert total < 340_000, "the goal is 400,000, with rows"


def test_a_run_tells_its_points_as_they_come_and_its_rows_stay(server):
    begin = server.json("GET", f"/api/spec?{urlencode(SMALL)}")[1]
    assert begin["done"] == 0 and begin["headline"][0]["worth"] == "needs more seeds"
    status, run = server.json("POST", "/api/runs", SMALL)
    assert status == 201
    events = server.events(run["id"])
    done = [data["done"] for kind, data in events if kind == "view"]
    assert done == sorted(done) and done[-1] == begin["total"] == 36
    assert events[-1][0] == "over" and events[-2][1]["status"] == "ended"
    rows = events[-2][1]["chart"]["data"]
    assert len(rows["runs"]) == 36 and {row["arm"] for row in rows["means"]} == {"FCN", "LCN", "CNN"}
    again = server.json("GET", f"/api/spec?{urlencode(SMALL)}")[1]
    assert again["chart"]["data"] == rows and again["done"] == 36
    assert server.events(run["id"])[-1][0] == "over", "a tab that comes later hears the end at once"


def test_two_tabs_ask_at_once_and_both_are_answered(server):
    runs = [server.json("POST", "/api/runs", SMALL | {"seeds": seeds})[1]["id"] for seeds in ("4", "5")]
    ends = [server.events(run)[-2][1] for run in runs]
    assert [end["status"] for end in ends] == ["ended", "ended"]
    assert [end["done"] for end in ends] == [48, 60]
    worths = server.json("GET", "/api/worths")[1]
    assert [run["study"] for run in worths["runs"]] == ["page.bits"], (
        "more seeds of one question are one line"
    )
    number = worths["runs"][0]["number"]
    assert server.json("GET", f"/api/worths/{number}")[1]["figures"][0]["panels"]
    assert server.json("GET", f"/api/compare?first={number}&second={number}")[1]["lines"]
    assert b"<svg" in server.ask("GET", f"/api/worths/{number}/0.svg")[2]
    for place in ("1", "-1", "00", "x", "9" * 5000):
        status, said = server.json("GET", f"/api/worths/{number}/{place}.svg")
        assert status == 400 and said["error"].endswith("it has 1.") and len(said["error"]) < 200
    assert server.json("GET", f"/api/worths/{5000 * 'x'}/0.svg")[0] == 400
    assert server.json("GET", "/api/worths/99")[0] == 400
    assert server.json("GET", "/api/compare?first=..&second=1")[0] == 400


def test_a_run_is_stopped_and_the_next_one_runs(server):
    long = SMALL | {"m": "1600", "n": "24", "k": "4", "seeds": "30"}
    run = server.json("POST", "/api/runs", long)[1]["id"]
    time.sleep(0.5)
    began = time.monotonic()
    assert server.ask("DELETE", f"/api/runs/{run}")[0] == 204
    assert server.events(run)[-2][1]["status"] == "stopped"
    assert time.monotonic() - began < 5
    run = server.json("POST", "/api/runs", SMALL | {"seeds": "6"})[1]["id"]
    assert server.events(run)[-2][1]["done"] == 72
    assert server.ask("DELETE", "/api/runs/none")[0] == 404


def test_two_users_of_one_folder_keep_their_own(server, other):
    assert other.ask("GET", "/api/questions", cookie=server.cookie)[0] == 401
    borrowed = f"whyconv-{other.port}={server.token}"
    assert other.ask("GET", "/api/questions", cookie=borrowed)[0] == 401
    long = SMALL | {"m": "1600", "n": "24", "seeds": "30"}
    run = server.json("POST", "/api/runs", long)[1]["id"]
    while not server.json("GET", f"/api/spec?{urlencode(long)}")[1]["done"]:
        time.sleep(0.1)
    assert other.ask("DELETE", f"/api/runs/{run}")[0] == 404, "a run is its server's"
    mine = other.json("POST", "/api/runs", SMALL | {"seeds": "7"})[1]["id"]
    end = other.events(mine)[-2][1]
    assert end["status"] == "refused" and "\n" not in end["sentence"], end
    server.ask("DELETE", f"/api/runs/{run}")
    assert server.events(run)[-2][1]["status"] == "stopped"
    mine = other.json("POST", "/api/runs", SMALL | {"seeds": "7"})[1]["id"]
    assert other.events(mine)[-2][1]["status"] == "ended", "the folder is free again"


@linux
def test_a_killed_server_leaves_no_worker(server):
    server.json("POST", "/api/runs", SMALL | {"m": "1600", "n": "24", "seeds": "30"})
    time.sleep(1)
    workers = server.children()
    assert workers and all(map(alive, workers))
    server.end(signal.SIGKILL)
    assert gone(workers)


@linux
def test_ctrl_c_ends_cleanly(other):
    run = other.json("POST", "/api/runs", SMALL | {"m": "1600", "n": "24", "k": "4", "seeds": "30"})[1]["id"]
    listening = socket.create_connection(("127.0.0.1", other.port))
    asked = f"GET {other.room}/api/runs/{run}/events HTTP/1.1\r\nHost: 127.0.0.1:{other.port}\r\n"
    listening.sendall(f"{asked}Cookie: {other.cookie}\r\n\r\n".encode())
    assert b"200 OK" in listening.recv(1000), "somebody follows a run"
    workers = other.children()
    assert other.end(signal.SIGINT) == 0
    assert other.left == "", "nothing more is said"
    assert gone(workers, 5)
    listening.close()
