"""The command line as a person meets it: what it says, what it returns, what it refuses."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from command_line import line, process

from whyconv import registry, system
from whyconv.runner import journal

EXAMPLE = Path(__file__).parents[2] / "examples" / "top_two_pooling.py"
TINY = [
    "run", "brutzkus.fig3a", "--set", "m=40,80", "--seeds", "2", "--workers", "2",
    "--set", "task.pattern_dim=6", "--set", "task.patterns=6", "--set", "task.positions=3",
    "--set", "test_size=200",
]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the rows of one small run."""
    place = tmp_path_factory.mktemp("runs")
    done = process(*TINY, "--out", "rows", cwd=place)
    assert done.returncode == 0, done.stderr
    return place


@pytest.fixture
def there(folder, monkeypatch):
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def until_rows(folder, count, running):
    """Wait for so many acknowledged rows, or for the end of the process."""
    file = folder / journal.FILE
    while (not file.exists() or file.read_bytes().count(b"\n") < count) and running.poll() is None:
        time.sleep(0.02)


def test_a_run_says_what_it_does_and_the_same_command_reuses_everything(there, whyconv):
    again = whyconv(*TINY, "--out", "rows")
    assert again.returncode == 0
    assert "16 trials: 16 reused." in again.stderr
    assert "brutzkus.fig3a" in again.stdout and "ConvPool" in again.stdout
    assert "control" in again.stdout
    shutil.copytree("rows", "more")
    more = whyconv(*TINY, "--workers", "1", "--seeds", "3", "--out", "more", "--json")
    assert "24 trials: 16 reused; 8 new" in more.stderr
    told = json.loads(more.stdout)
    assert told["study"] == "brutzkus.fig3a" and {line["count"] for line in told["means"]} == {3}


@pytest.mark.long
def test_real_trials_give_the_same_bytes_with_one_worker_or_two_and_when_killed(
    folder, tmp_path, whyconv, monkeypatch
):
    """The other folder was filled by two workers without a disturbance."""
    command = [*TINY, "--workers", "1", "--out", "rows"]
    for rows in (1, 7):
        running = subprocess.Popen(
            line(*command), cwd=tmp_path, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
        )
        until_rows(tmp_path / "rows", rows, running)
        running.kill()
        assert running.wait() == -signal.SIGKILL
    assert process(*command, cwd=tmp_path).returncode == 0
    exported = {}
    for place in (folder, tmp_path):
        monkeypatch.chdir(place)
        assert whyconv(*TINY, "--out", "rows").returncode == 0
        files = whyconv("export", "rows").stdout.split()
        exported[place] = {
            Path(file).name: (place / file).read_bytes() for file in files if "durations" not in file
        }
    assert exported[folder] == exported[tmp_path]


def test_ctrl_c_stops_cleanly_and_the_same_command_goes_on(tmp_path):
    running = subprocess.Popen(
        line(*TINY, "--out", "rows"),
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    until_rows(tmp_path / "rows", 1, running)
    os.killpg(running.pid, signal.SIGINT)
    _, said = running.communicate(timeout=30)
    assert running.returncode == 130
    assert said.strip().splitlines()[-1].startswith("whyconv: interrupted: ")
    assert "run the same command again" in said and "Traceback" not in said
    assert process("verify", "rows", cwd=tmp_path).returncode == 0


def test_the_report_is_one_file_with_everything(there, whyconv):
    done = whyconv("report", "rows", "--check", "brutzkus.prop6.1")
    assert done.returncode == 0, done.stderr
    page = (there / "rows" / "report.html").read_text()
    for words in ("brutzkus.fig3a", "brutzkus.prop6.1", "whyconv run brutzkus.fig3a", "jax", "<svg"):
        assert words in page
    assert "brutzkus.prop6.1" in done.stdout and "Report: rows/report.html" in done.stdout
    nowhere = whyconv("report", "rows", "--out", "no/such/page.html")
    complaints = [line for line in nowhere.stderr.splitlines() if not line.startswith("planning: ")]
    assert nowhere.returncode == 2 and len(complaints) == 1 and "no/such/page.html" in complaints[0]


def test_export_and_verify(there, whyconv):
    done = whyconv("export", "rows", "--csv")
    files = [there / line for line in done.stdout.split()]
    assert done.returncode == 0 and all(file.is_file() for file in files)
    parquet = whyconv("export", "rows", "--parquet")
    assert parquet.returncode == 0 and ".parquet" in parquet.stdout
    verified = whyconv("verify", "rows")
    assert verified.returncode == 0 and "all intact" in verified.stdout


@pytest.mark.long
def test_a_file_of_ones_own_works_also_in_workers(here, whyconv):
    load = ["--load", EXAMPLE]
    small = ["--set", "m=[40]", "--seeds", "1", "--workers", "1"]
    done = whyconv("run", "own.top-two", *small, *load, "--out", "rows")
    assert done.returncode == 0, done.stderr
    assert "top two" in done.stdout and "consistent" in done.stdout
    assert "control: loses its advantage, as it must" in done.stdout
    checked = whyconv("check", "own.counts-repeats", *load, "--json")
    assert checked.returncode == 0
    assert json.loads(checked.stdout)[0]["control_verdict"] == "fails"
    assert "own.top-two" in whyconv("list", *load).stdout
    assert whyconv("report", "rows").returncode == 0


def test_list_names_everything_without_importing_jax(whyconv):
    done = whyconv("list")
    for name in ("brutzkus.fig3a", "brutzkus.lemma5.2", "detection", "conv-pool", "svm", "Figure 3a"):
        assert name in done.stdout
    code = (
        "import sys; from whyconv import registry; from whyconv.cli import listing; "
        "listing.text(registry.everything()); "
        "listing.study('brutzkus.fig4'); print([m for m in ('jax', 'sklearn', 'pandas') if m in sys.modules])"
    )
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert output.strip() == "[]"
    told = json.loads(whyconv("list", "brutzkus.fig3a", "--json").stdout)
    assert told["presets"]["paper"]["trials"] > 100 and told["presets"]["paper"]["seconds"] > 0
    assert told["presets"]["paper"]["memory_bytes"] > 1e8


def test_check_speaks_json_and_fails_when_a_verdict_is_not_the_recorded_one(here, whyconv):
    done = whyconv("check", "brutzkus.prop6.1", "--json")
    keys = "claim paper statement source verdict expected control control_verdict numbers rows seconds "
    keys += "reference provenance erratum traceback controls"
    assert done.returncode == 0
    assert list(json.loads(done.stdout)[0]) == keys.split()
    own = here / "mine.py"
    text = EXAMPLE.read_text()
    own.write_text(text.replace('expected: ClassVar[Any] = "holds"', 'expected: ClassVar[Any] = "vacuous"'))
    assert whyconv("check", "own.counts-repeats", "--load", own).returncode == 1
    own.write_text(text.replace("score(2 if broken else 1)", "score(1)"))
    unmoved = whyconv("check", "own.counts-repeats", "--load", own)
    assert unmoved.returncode == 1 and "unexpected" in unmoved.stdout
    own.write_text(
        text.replace("        gap = ", "        if broken:\n            return None\n        gap = ")
    )
    empty = whyconv("check", "own.counts-repeats", "--load", own)
    assert empty.returncode == 1 and "control returned None" in " ".join(empty.stdout.split())
    assert "Traceback" not in empty.stderr and "0 of 1 claim as recorded." in empty.stdout


BAD = {
    "unknown study": (["run", "brutzkus.fig9"], "no study 'brutzkus.fig9'"),
    "unknown key": (["run", "brutzkus.fig3a", "--set", "task.colour=3"], "no setting 'task.colour'"),
    "too few patterns": (["run", "brutzkus.fig3a", "--set", "task.patterns=2"], "greater than or equal to 3"),
    "too many patterns": (["run", "brutzkus.fig3a", "--set", "task.patterns=50"], "patterns <= pattern_dim"),
    "negative sizes": (["run", "brutzkus.fig3a", "--set", "task.positions=-3"], "greater than or equal to 1"),
    "no such preset": (["run", "brutzkus.fig3a", "--preset", "huge"], "choose one of quick, paper"),
    "no seeds": (["run", "brutzkus.fig3a", "--seeds", "0"], "greater than or equal to 1"),
    "no workers": (["run", "brutzkus.fig3a", "--workers", "0"], "from 1 to 1,000"),
    "no limit": (["run", "brutzkus.fig3a", "--limit", "0"], "from 1 up"),
    "words for numbers": (["run", "brutzkus.fig3a", "--seeds", "many"], "valid integer"),
    "nothing of that name": (["list", "k-patern"], "nearest: k-pattern, "),
    "unknown claim": (["check", "brutzkus.lemma9.9"], "no claim 'brutzkus.lemma9.9'"),
    "unknown paper": (["check", "nobody"], "choose a claim, a paper (brutzkus, lahoti, malach) or all."),
    "near claim": (["check", "lema6"], "no claim 'lema6'; nearest: malach.lemma6, "),
    "neither claim nor study": (["cite", "lema6"], "no claim and no study 'lema6'; nearest: malach.lemma6, "),
    "window too wide": (["run", "malach.natural-init", "--set", "task.k_window=17"], "k_window <= n_bits"),
    "no window": (["run", "malach.natural-init", "--set", "task.k_window=0"], "greater than or equal to 1"),
    "short truth table": (
        ["run", "malach.natural-init", "--set", 'task={"name": "k-pattern", "k_window": 2, '
         '"target": "table", "table": [1, 1]}'], "needs 2^k = 4"
    ),
    "data that are no signs": (
        ["run", "malach.natural-init", "--set", 'task={"name": "k-pattern", "n_bits": 2, "k_window": 1, '
         '"law": "file", "file": "bits"}'], "holds 3.0 in input 2, entry 1"
    ),
    "too many bits to list": (
        ["run", "malach.natural-init", "--set", "task.law=all", "--set", "task.n_bits=40"], "n_bits <= 20"
    ),
    "no rates": (["run", "malach.separation", "--set", "rates=[]"], "list of different step sizes"),
    "enumeration of many bits": (
        ["exact", "gradient", "--n", "64", "--k", "6", "--engine", "enumeration"], "n <= 20"
    ),
    "trapezoid of a kink": (
        ["exact", "gradient", "--n", "64", "--k", "6", "--activation", "relu", "--engine", "trapezoid"],
        "relu",
    ),
    "sizes of too wide a window": (["exact", "sizes", "--n", "4", "--k", "5"], "k"),
    "unknown command": (["dance"], "No such command 'dance'"),
    "unknown option": (["run", "brutzkus.fig3a", "--louder"], "--louder"),
    "no file to load": (["list", "--load", "nothing.py"], "there is no such file"),
    "broken file to load": (["list", "--load", "broken.py"], "could not be loaded: NameError"),
    "out is a file": (["run", "brutzkus.fig3a", "--out", "file"], "file"),
    "no rows to report": (["report", "nowhere"], "nowhere"),
    "no rows to verify": (["verify", "empty"], "empty"),
    "both formats": (["export", "empty", "--csv", "--parquet"], "choose one"),
    "damaged store": (["run", "brutzkus.fig3a", "--out", "damaged"], "damaged"),
    "unknown optimiser": (
        ["run", "brutzkus.fig3a", "--set", "arms.MLP.learner.optimiser=a-dam"], "no Optax optimiser"
    ),
    "misspelt optimiser": (
        ["run", "brutzkus.fig3a", "--set", "arms.MLP.learner.optimiser=adamm"], "no Optax optimiser 'adamm'"
    ),
    "sample beyond the limit": (["run", "brutzkus.fig3a", "--set", "m=20000000"], "m = 20000000 was given"),
    "no network": (["run", "brutzkus.fig3a", "--set", "arms.MLP.network=null"], "none was given"),
    "no example": (["run", "brutzkus.sample-complexity", "--set", "m=0,4"], "m = [0, 4] was given"),
    "wrong network": (["run", "brutzkus.layerwise", "--set", "arms.Layerwise.network=mlp"], "conv-pool only"),
    "matches nobody": (["run", "brutzkus.fig3a", "--set", "arms.MLP.matches=nobody"], "not an arm with"),
    "missing arm": (["run", "brutzkus.fig4", "--set", 'arms={"MLP": {"learner": "svm"}}'], "is missing"),
    "no arms": (["run", "brutzkus.sample-complexity", "--set", "arms={}"], "is missing"),
    "a name too long": (["run", "brutzkus.fig3a", "--out", "x" * 300], "name too long"),
    "exiting file": (["list", "--load", "exits.py"], "SystemExit"),
    "piece without words": (["list", "--load", "wordless.py"], "lacks a docstring"),
    "half a claim": (["list", "--load", "half.py"], "lacks decide, expected, broken"),
    "noise below nothing": (
        ["run", "lahoti.vary-k", "--set", "task.sigma=-0.1"], "sigma = -0.1 was given: input should be"
    ),
    "target below the oracle": (
        ["run", "lahoti.vary-k", "--set", "target=0.01"],
        "target = 0.01 was given, but at k = 10 the oracle's risk is 0.03288; take a larger one",
    ),
    "empty grid of step sizes": (
        ["run", "lahoti.vary-k", "--set", "arms.CNN.learner.rates=[]"],
        "rates = [] was given: give one or more different step sizes from 0 to 1e6",
    ),
    "sizes reversed": (
        ["run", "lahoti.vary-k", "--set", "sizes.low=500", "--set", "sizes.cap=100"],
        "low = 500 and cap = 100 were given, but a search goes from low up to cap; take low < cap",
    ),
    "task without an oracle": (
        ["run", "lahoti.fcn", "--set", "task=detection"], "this study needs the task signal"
    ),
    "values not increasing": (
        ["run", "lahoti.vary-d", "--set", "values=[30,10]"],
        "values = [30, 10] was given: values must be a list of two or more increasing numbers",
    ),
    "place beyond the patches": (
        ["run", "lahoti.vary-k", "--set", "task.place=15"],
        "place = 15 was given, but there are patches = 10; take 1 to 10",
    ),
    "stride past the window": (
        ["run", "brutzkus.fig3a", "--set", "arms.ConvPool.network.stride=50"], "stride <= 20"
    ),
}  # fmt: skip


@pytest.fixture
def clutter(here):
    """A folder with what bad input refers to; nothing in it may change."""
    (here / "file").write_text("precious")
    (here / "bits").write_text("1 -1\n3 1\n")
    (here / "empty").mkdir()
    (here / "damaged").mkdir()
    (here / "damaged" / "whyconv.sqlite").write_bytes(b"not a database at all" * 100)
    (here / "broken.py").write_text("nonsense_name\n")
    (here / "exits.py").write_text("raise SystemExit(3)\n")
    (here / "wordless.py").write_text(
        "from whyconv.networks.dense import MLP\n\n\nclass Mute(MLP, name='mute'):\n    __doc__ = None\n"
    )
    (here / "half.py").write_text(
        "from whyconv.claims import Claim\n\n\nclass Half(Claim, name='half'):\n    'A half.'\n"
    )
    before = {path: path.read_bytes() for path in here.rglob("*") if path.is_file()}
    yield here
    after = {path: path.read_bytes() for path in here.rglob("*") if path.is_file() and path.name != "lock"}
    assert after == before


@pytest.mark.parametrize(("arguments", "words"), BAD.values(), ids=BAD)
def test_bad_input_is_answered_with_one_sentence_and_touches_nothing(arguments, words, clutter, whyconv):
    one_sentence(whyconv(*arguments), words)


@pytest.mark.parametrize("case", ["unknown study", "unknown option", "exiting file"])
def test_bad_input_is_answered_so_in_a_shell_too(case, clutter):
    one_sentence(process(*BAD[case][0], cwd=clutter), BAD[case][1])


def one_sentence(done, words):
    assert done.returncode == 2, done.stderr
    assert words in done.stderr
    assert done.stderr.startswith("whyconv: ") and len(done.stderr.strip().splitlines()) == 1
    assert done.stdout == ""


def test_any_piece_tells_its_settings(whyconv):
    told = json.loads(whyconv("list", "k-pattern", "--json").stdout)
    assert told["settings"]["k_window"] == {"default": 4, "allowed": "whole number >= 1 and <= 20"}
    assert "majority" in told["settings"]["target"]["allowed"]
    paper = json.loads(whyconv("list", "malach", "--json").stdout)
    for kind, plural in (("claim", "claims"), ("study", "studies")):
        names = [piece.name for piece in registry.pieces(kind) if piece.name.startswith("malach.")]
        assert [each["name"] for each in paper[plural]] == names and len(names) > 5
    assert not paper["tasks"]
    assert "CLAIMS" in whyconv("list", "malach").stdout
    lcn = whyconv("list", "lcn").stdout
    assert "Definition 11" in lcn and "Lemma 6" in lcn and "stride: whole number" in lcn


def test_every_command_explains_itself_with_an_example(whyconv):
    for command in ("list", "run", "check", "report", "export", "verify"):
        done = whyconv(command, "--help")
        assert done.returncode == 0 and f"whyconv {command}" in done.stdout and "Example" in done.stdout


REFUSED = {
    "workers beyond all": (["--workers", str(2**63)], f"workers = {2**63} was given; give a whole number"),
    "more workers than cores": (["--workers", "999"], "one for every core, or run it anyway with --force."),
    "more memory than there is": (["--set", "m=[10000000]", "--workers", "1"], "too little for even one; "),
    "no time": (["--limit", "1e-320"], "a limit of 1e-320 seconds was given; give a number from 1 up"),
    "time that is no number": (["--limit", "nan"], "a limit of nan seconds was given"),
    "time without end": (["--limit", "inf"], "a limit of inf seconds was given"),
    "time below zero": (["--limit", "-3"], "a limit of -3.0 seconds was given"),
    "truth for examples": (["--set", "m=[true]"], "m = [true] was given, but true and false are not numbers"),
    "truth for seeds": (
        ["--set", "seeds=true"],
        "seeds = true was given, but true and false are not numbers",
    ),
    "no seeds": (["--seeds", "0"], "seeds = 0 was given"),
}


@pytest.mark.parametrize(("arguments", "said"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_run_is_refused_before_it_starts(arguments, said, here, whyconv, monkeypatch):
    monkeypatch.setattr(system, "free_memory", lambda: 23e9)
    done = whyconv("run", "brutzkus.fig3a", "--out", here / "out", *arguments)
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and said in done.stderr
    assert not list(here.iterdir())
