"""Errors at the end of a command: the user's and the machine's in one sentence, a bug with its traceback."""

import errno
import os
import subprocess
import sys

import pytest
from pydantic import Field

from whyconv import registry
from whyconv.cli import main as cli
from whyconv.cli.errors import sentence_for
from whyconv.errors import LONGEST, UserError, one_sentence, said
from whyconv.paths import given_path
from whyconv.spec import Spec, checked


class Numbers(Spec):
    """One field of each kind."""

    whole: int = 1
    real: float = 1.0
    switch: bool = False
    word: str = "a"
    several: tuple[int, ...] = ()
    either: int | str = 1
    named: dict[str, float] = Field(default_factory=dict)


@pytest.fixture
def failing(monkeypatch):
    """Runs ``whyconv list``, which ends with the exception given."""

    def run(error):
        def fail():
            raise error

        monkeypatch.setattr(registry, "everything", fail)
        monkeypatch.setattr(sys, "argv", ["whyconv", "list"])
        cli.main()

    return run


@pytest.mark.parametrize("stream", ["> /dev/full", ">&-"])
def test_an_output_that_cannot_be_written_is_reported(stream):
    command = f'"{sys.executable}" -c "from whyconv.cli.main import main; main()" list {stream}'
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("whyconv: ") and done.stderr.count("\n") == 1
    assert "standard output" in done.stderr and "None" not in done.stderr


def test_a_reader_that_leaves_is_no_error():
    command = f'"{sys.executable}" -c "from whyconv.cli.main import main; main()" list | head -n 1'
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert done.stdout == "STUDIES\n" and done.stderr == ""


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), "free some space"),
        (OSError(errno.EMFILE, os.strerror(errno.EMFILE)), "the system refused: Too many open files"),
        (OSError("without a number"), "the system refused: OSError: without a number"),
        (FileNotFoundError(errno.ENOENT, "No such file or directory", "x"), "x: No such file or directory"),
        (MemoryError(), "not enough memory"),
        (UserError("so it is."), "so it is."),
    ],
)
def test_errors_of_user_and_system_are_reported(error, words, failing, capsys):
    with pytest.raises(SystemExit) as end:
        failing(error)
    assert end.value.code == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize(
    "error", [KeyError("a"), RecursionError(), OverflowError(), UnicodeError(), ValueError()]
)
def test_a_bug_keeps_its_traceback(error, failing):
    assert sentence_for(error, "") is None
    with pytest.raises(type(error)):
        failing(error)


def test_a_sentence_is_one_printable_line():
    assert one_sentence("a\nb\x1b\udcff") == "a\\nb\\x1b\\udcff."
    assert one_sentence("all is said.") == "all is said."
    for text in ("x" * 10_000, "\udcff" * 10_000):
        assert len(one_sentence(text)) <= LONGEST + 1 and " ... " in one_sentence(text)


def test_an_exception_that_cannot_speak_is_named():
    class Mute(Exception):
        def __str__(self):
            raise self

    assert said(Mute()) == "Mute"
    assert said(SystemExit()) == "SystemExit"
    assert said(ValueError("words.")) == "ValueError: words"


@pytest.mark.parametrize("name", ["", " ", "a\nb", "q\udcff", "\0", "-x", "\u202etxt"])
def test_names_of_files_that_cannot_be_typed_again_are_refused(name):
    with pytest.raises(UserError, match="was given for a file or folder"):
        given_path(name)
    assert str(given_path("two words/\xe9")) == "two words/\xe9"


@pytest.mark.parametrize(
    "values",
    [
        {"whole": True}, {"whole": "7"}, {"real": "7"}, {"real": False}, {"switch": 1}, {"switch": "true"},
        {"several": [1, True]}, {"several": ["1"]}, {"either": True}, {"named": {"a": "1"}},
        {"named": {"a": True}},
    ],
)  # fmt: skip
def test_a_value_of_another_kind_is_refused(values):
    with pytest.raises(UserError, match=r"was given, but (true and|a text|only true)"):
        checked(Numbers, values, "numbers")


def test_values_of_their_kind_are_taken_as_before():
    values = {"whole": 7.0, "real": 7, "switch": True, "several": [1, 2.0], "either": "7", "named": {"a": 1}}
    made = checked(Numbers, values, "numbers")
    assert made == Numbers(whole=7, real=7.0, switch=True, several=(1, 2), either="7", named={"a": 1.0})
    assert made.canonical()["several"] == [1, 2]


@pytest.mark.parametrize("end", ["1 / 0", "raise KeyboardInterrupt", "raise GeneratorExit"])
def test_a_half_loaded_file_leaves_no_piece(end, tmp_path):
    file = tmp_path / "half.py"
    file.write_text(
        f"from whyconv.networks.dense import MLP\n\n\nclass Half(MLP, name='half'):\n    'H.'\n\n\n{end}\n"
    )
    before = registry.pieces("network")
    with pytest.raises(UserError, match=r"half\.py could not be loaded"):
        registry.load(file)
    assert registry.pieces("network") == before
