"""Files that visitors send: by our names, within caps, without pickles, and nothing stays behind."""

import asyncio
import io
import os
import subprocess
import sys
import threading
import zipfile
from contextlib import suppress
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from PIL import Image

pytest.importorskip("starlette", reason="the page needs whyconv[page]")

from whyconv.errors import UserError
from whyconv.page import app, audits, uploads
from whyconv.page.desk import Asked
from whyconv.page.known import Known
from whyconv.page.safety import Pass
from whyconv.page.uploads import Wanted


def sent(content, kind, out, label=None, parts=3):
    async def stream():
        size = max(1, len(content) // parts)
        for begin in range(0, len(content), size):
            yield content[begin : begin + size]

    return asyncio.run(uploads.received(stream(), Wanted(kind, f"mine.{kind}", label, 1.0), out))


def zipped(members):
    """An archive that has the same bytes whenever it is made."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in members.items():
            made.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return file.getvalue()


def left(out):
    return [path for path in out.rglob("*") if path.is_file()]


def test_an_archive_is_unpacked_under_names_of_ours(tmp_path):
    members = {"top/cats/a.png": b"1", "top/dogs/b.PNG": b"2", "__MACOSX/x/._a": b"", "top/.DS": b""}
    room = sent(zipped(members), "zip", tmp_path)
    found = sorted(str(path.relative_to(room / "images")) for path in left(room))
    assert found == ["cats/000000.png", "dogs/000001.png"]
    assert room.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(
    "name",
    ["../../evil/a.png", "/etc/a.png", "a/../b.png", "..\\..\\x\\a.png", "C:\\x\\a.png", "cats/$(x)/a.png"],
)
def test_names_in_an_archive_lead_nowhere_else(tmp_path, name):
    out = tmp_path / "in"
    with suppress(UserError):
        sent(zipped({name: b"1"}), "zip", out)
    assert all(path.is_relative_to(out) for path in left(tmp_path))
    assert all(path.suffix == ".png" and path.stem.isdigit() for path in left(tmp_path))


@pytest.mark.parametrize(
    "kind, content, says",
    [
        ("zip", b"no archive", "cannot be opened"),
        ("npz", b"no archive", "cannot be opened"),
        ("zip", zipped({"a.png": b""}), "a folder of images per class"),
        ("zip", zipped({"cats/readme.txt": b""}), "a folder of images per class"),
        ("zip", zipped({}), "no images"),
        ("zip", zipped({"cats/a.png": b"x" * 5000})[:-40], "cannot be opened"),
        ("csv", b"", "empty"),
    ],
    ids=["zip", "npz", "flat zip", "zip of texts", "empty zip", "cut zip", "empty csv"],
)
def test_what_cannot_be_taken_is_said_and_forgotten(tmp_path, kind, content, says):
    with pytest.raises(UserError, match=says):
        sent(content, kind, tmp_path)
    assert not left(tmp_path)


def test_caps_hold_for_bytes_members_and_what_is_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr(uploads, "LARGEST", 1000)
    with pytest.raises(UserError, match="more than 1,000 bytes"):
        sent(b"1,2\n" * 300, "csv", tmp_path)
    monkeypatch.setattr(uploads, "MEMBERS", 3)
    many = zipped({f"a/{n}.png": b"" for n in range(4)})
    end = many.rindex(b"PK\5\6") + 8
    lie = many[:end] + 2 * (1).to_bytes(2, "little") + many[end + 4 :]
    with monkeypatch.context() as unread:
        unread.setattr(uploads.zipfile, "ZipFile", lambda _: pytest.fail("the list is read"))
        for content in (many, lie):
            with pytest.raises(UserError, match="4 files"):
                sent(content, "zip", tmp_path)
    uploads.forget(sent(zipped({f"a/{n}.png": b"" for n in range(3)}), "zip", tmp_path))
    monkeypatch.setattr(uploads, "UNPACKED", 50_000)
    bomb = zipped({"a/1.png": bytes(60_000)})
    assert len(bomb) < 1000
    with pytest.raises(UserError, match="unpacks to more"):
        sent(bomb, "zip", tmp_path)
    with pytest.raises(UserError, match="unpacks to more"):
        sent(zipped({"X.npy": bytes(60_000)}), "npz", tmp_path)
    assert not left(tmp_path)


def test_sizes_that_an_archive_announces_are_not_believed(tmp_path, monkeypatch):
    monkeypatch.setattr(uploads, "UNPACKED", 50_000)
    content = zipped({"a/1.png": bytes(60_000)})
    lie = content.replace((60_000).to_bytes(4, "little"), (10).to_bytes(4, "little"))
    assert lie != content
    with pytest.raises(UserError):
        sent(lie, "zip", tmp_path)
    assert sum(path.stat().st_size for path in left(tmp_path)) == 0


def test_reading_ends_at_the_cap_whatever_was_announced(tmp_path, monkeypatch):
    monkeypatch.setattr(uploads, "UNPACKED", 50_000)
    monkeypatch.setattr(uploads, "check_archive", lambda file, name: None)
    monkeypatch.setattr(uploads, "CHUNK", 1000)
    written = []
    monkeypatch.setattr(uploads, "forget", lambda room: written.extend(left(room)))
    with pytest.raises(UserError, match="unpacks to more than 50,000 bytes"):
        sent(zipped({"a/1.png": bytes(40_000), "a/2.png": bytes(40_000)}), "zip", tmp_path)
    images = [path.stat().st_size for path in written if path.suffix == ".png"]
    assert sum(images) == 50_000


def test_odd_names_and_a_damaged_member_of_another_compression(tmp_path):
    room = sent(zipped({"./cats/a.png": b"1", "\\": b"2", "/": b"3"}), "zip", tmp_path)
    assert [str(path.relative_to(room / "images")) for path in left(room)] == ["cats/000000.png"]
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_LZMA) as made:
        made.writestr("cats/a.png", os.urandom(5000))
    content = bytearray(file.getvalue())
    start = 30 + len("cats/a.png") + 9
    content[start : start + 2000] = b"\xff" * 2000
    with pytest.raises(UserError, match=r"damaged or locked"):
        sent(bytes(content), "zip", tmp_path / "in")
    assert not left(tmp_path / "in")


def test_a_folder_that_takes_no_file_is_said_in_a_sentence(tmp_path):
    (tmp_path / "out").write_text("a file")
    with pytest.raises(UserError, match=r"mine.csv cannot be kept in .*; free some space, or start the page"):
        sent(b"a,label\n1,0\n", "csv", tmp_path / "out")


def test_a_fault_of_ours_is_a_sentence_and_the_terminal_has_its_traceback(capsys):
    answer = app._failed(cast(Any, None), KeyError("x"))
    assert answer.status_code == 500 and b"this is a fault of ours: KeyError" in answer.body
    assert "KeyError: 'x'" in capsys.readouterr().err


def test_a_file_that_takes_long_to_read_does_not_hold_up_the_end():
    free, begun, ended = threading.Event(), threading.Event(), threading.Event()

    def slow(word):
        begun.set()
        free.wait(60)
        ended.set()
        return word

    async def leave():
        reading = asyncio.ensure_future(app._aside(slow, "x"))
        while not begun.is_set():
            await asyncio.sleep(0.01)
        reading.cancel()

    asyncio.run(leave())
    assert all(each.daemon for each in threading.enumerate() if each.name == "aside"), (
        "Python waits for others"
    )
    free.set()
    assert ended.wait(60)
    assert asyncio.run(app._aside(slow, "found")) == "found"
    with pytest.raises(UserError, match="not today"):
        asyncio.run(app._aside(refuse))


def refuse():
    raise UserError("not today.")


def test_a_full_line_leaves_nothing_of_a_file(tmp_path):
    def full(*_):
        raise UserError("8 questions wait already; stop one, or ask again later.")

    async def stream():
        yield arrays(X=np.random.default_rng(0).normal(size=(200, 12)), y=np.arange(200) % 2)

    desk = SimpleNamespace(require_room=lambda: None, ask=full)
    server = app.Server(Known(tmp_path), cast(Any, desk), Pass(1))
    request = SimpleNamespace(query_params={"kind": "npz"}, stream=stream)
    with pytest.raises(UserError, match="questions wait"):
        asyncio.run(server.upload(cast(Any, request)))
    assert not left(tmp_path)


@pytest.mark.skipif(sys.platform == "win32", reason="asks whether a process lives")
def test_what_a_killed_server_left_is_deleted_at_the_next_start(tmp_path):
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    place = tmp_path / uploads.FOLDER
    rooms = [place / f"{pid}-{16 * 'a'}" for pid in (gone.pid, os.getppid())]
    other = place / "mine"
    for room in (*rooms, other):
        room.mkdir(parents=True)
        (room / "data").write_text("x")
    uploads.sweep(tmp_path)
    assert sorted(path.parent for path in left(tmp_path)) == sorted([rooms[1], other])
    room = sent(b"a,b\n1,2\n", "csv", tmp_path)
    assert uploads.ROOM.fullmatch(room.name) and room.name.startswith(f"{os.getpid()}-")
    uploads.sweep(tmp_path)
    assert not room.exists(), "a number that is used again is no other server's"


def test_sentences_name_no_path_and_no_option_of_the_command_line(tmp_path):
    content = arrays(X=np.zeros((40, 3, 7, 3)), y=np.arange(40) % 2)
    for wanted, said in (
        (Wanted("npz", "mine.npz", None, 1.0), "use whyconv audit, which has options for it"),
        (Wanted("npz", "mine.npz", "nothing", 1.0), "name it with “Labels are in”"),
    ):
        with pytest.raises(UserError) as refused:
            audits.prepared(sent(content, "npz", tmp_path), wanted)
        sentence = str(refused.value)
        assert said in sentence and "--" not in sentence and str(tmp_path) not in sentence
    images = sent(zipped({"images/a.png": b"no image", "images/b.png": b"neither"}), "zip", tmp_path)
    with pytest.raises(UserError) as refused:
        audits.prepared(images, Wanted("zip", "mine.zip", None, 1.0))
    assert "images/00000" in str(refused.value) and str(tmp_path) not in str(refused.value)


@pytest.mark.parametrize(
    "given",
    [
        {"kind": "pkl"}, {"kind": "../x"}, {}, {"kind": "csv", "minutes": "9"},
        {"kind": "csv", "label": "x" * 101}, {"kind": "csv", "name": "a\nb"}, {"kind": "csv", "out": "/tmp"},
        {"kind": "csv", "minutes": "nan"},
    ],
)  # fmt: skip
def test_what_an_upload_says_of_itself_is_checked(given):
    with pytest.raises(UserError):
        Wanted.of(given)


def arrays(**named):
    file = io.BytesIO()
    np.savez(file, **named)
    return file.getvalue()


@pytest.mark.parametrize(
    "kind, content",
    [
        ("npz", arrays(X=np.array([{"a": 1}] * 40, dtype=object), y=np.arange(40) % 2)),
        ("npz", arrays(X=np.zeros((40, 3)))),
        ("npz", arrays(X=np.full((40, 3), np.nan), y=np.arange(40) % 2)),
        ("csv", b"a,b\n1\n2,3,4\n"),
        ("zip", zipped({"cats/a.png": b"no image", "dogs/b.png": b"neither"})),
    ],
    ids=["objects", "no labels", "no numbers", "ragged", "no images"],
)
def test_five_bad_files_are_refused_in_a_sentence(tmp_path, kind, content):
    wanted = Wanted(kind, f"mine.{kind}", None, 1.0)
    room = sent(content, kind, tmp_path)
    with pytest.raises(UserError) as refused:
        audits.prepared(room, wanted)
    assert "\n" not in str(refused.value) and "data." not in str(refused.value)


def png(number):
    """An image of 6 x 6 pixels that no other number has."""
    file = io.BytesIO()
    pixels = np.random.default_rng(number).integers(0, 256, (6, 6), dtype=np.uint8)
    Image.fromarray(pixels).save(file, "PNG")
    return file.getvalue()


def good(kind):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 12)), np.arange(60) % 2
    if kind == "npz":
        return arrays(X=X, y=y)
    if kind == "zip":
        return zipped(
            {f"{'cats' if number % 2 else 'dogs'}/{number}.png": png(number) for number in range(60)}
        )
    lines = [",".join([*(f"f{place}" for place in range(12)), "label"])]
    lines += [",".join([*map(str, values), f"class {label}"]) for values, label in zip(X, y, strict=True)]
    return "\n".join(lines).encode()


@pytest.mark.parametrize("kind", uploads.KINDS)
def test_a_good_file_is_read_before_the_audit_begins(tmp_path, kind, monkeypatch):
    room = sent(good(kind), kind, tmp_path)
    audited = []
    monkeypatch.setattr(audits, "audit", lambda data, **_: audited.append(data))
    monkeypatch.setattr(audits, "render", lambda found: "the report")
    asked = Asked(None)
    audits.prepared(room, Wanted(kind, f"mine.{kind}", None, 1.0))(asked)
    (data,) = audited
    assert data.name == f"mine.{kind}" and len(data.y) == 60 and len(set(data.y)) == 2
    assert asked.more["report"] == "the report"
    assert not left(tmp_path)
