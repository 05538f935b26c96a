"""A small world for command lines to be tried in: a working folder with odd files, a home, nothing else."""

import os
import shutil
from pathlib import Path

EXAMPLE = Path(__file__).parents[2] / "examples" / "top_two_pooling.py"
NETWORK = b"from whyconv.networks.dense import MLP\n\n\nclass M(MLP, name=%s):\n    'M.'\n\n\n"
OWN = {
    "keyboard.py": b"raise KeyboardInterrupt\n",
    "exit.py": b"raise SystemExit(0)\n",
    "generator.py": b"raise GeneratorExit\n",
    "base.py": b"class Odd(BaseException):\n    pass\n\n\nraise Odd('x' * 5000)\n",
    "silent.py": b"class Odd(Exception):\n    def __str__(self):\n        raise self\n\n\nraise Odd\n",
    "lines.py": b"raise ValueError('one\\ntwo\\x1b[31m\\udcff')\n",
    "syntax.py": b"def broken(:\n",
    "nul.py": b"x = '\0'\n",
    "latin.py": b"x = '\xff'\n",
    "deep.py": b"def down():\n    down()\n\n\ndown()\n",
    "brackets.py": b"(" * 5000,
    "minus.py": b"-" * 50_000 + b"1\n",
    "builtin.py": NETWORK % b"'mlp'",
    "number.py": NETWORK % b"3",
    "blank.py": NETWORK % b"'a\\nb'",
    "first.py": NETWORK % b"'own'" + b"1 / 0\n",
    "half.py": b"from whyconv.claims import Claim\n\n\nclass Half(Claim, name='half'):\n    'A half.'\n",
    "empty.py": b"",
}
"""Files of one's own that cannot be loaded, and one that has nothing in it."""

HEADER = b"{'descr': '<f8', 'fortran_order': False, 'shape': %s, }\n"
TABLES = {
    "bits": b"1 -1\n3 1\n",
    "signs": b"1 -1\n-1 1\n",
    "ragged": b"1 -1\n1\n",
    "bytes": b"\xff\xfe\0",
    "nan": b"1 nan\n",
    "huge.npy": HEADER % b"(1000000000, 1000000)",
    "deep.npy": HEADER % (b"(" * 300 + b")" * 300),
}
"""Files of inputs, all but one of them wrong; those in NumPy's format promise what they do not hold."""


def build(root: Path, rows: dict[str, bytes]) -> Path:
    """Make the world anew; its working folder. ``rows`` are the files of a folder of rows."""
    shutil.rmtree(root, ignore_errors=True)
    work = root / "above" / "work"
    for folder in (
        "empty",
        "damaged",
        "rows",
        "folder.py",
        "two words",
        "\N{LATIN SMALL LETTER E WITH ACUTE}",
    ):
        (work / folder).mkdir(parents=True)
    (root / "home").mkdir()
    (root / "tmp").mkdir()
    (work / "file").write_text("precious")
    for name, content in TABLES.items():
        start = b"\x93NUMPY\x01\0" + len(content).to_bytes(2, "little") if name.endswith(".npy") else b""
        (work / name).write_bytes(start + content)
    (work / "damaged" / "whyconv.sqlite").write_bytes(b"not a database at all" * 100)
    (work / "own.py").write_bytes(EXAMPLE.read_bytes())
    os.mkfifo(work / "fifo")
    (work / "loop").symlink_to("loop")
    (work / "dangling").symlink_to("nothing")
    with (work / "huge.py").open("wb") as file:
        file.truncate(20 << 30)
    for name, content in OWN.items():
        (work / name).write_bytes(content)
    for name, content in rows.items():
        (work / "rows" / name).write_bytes(content)
    return work


def seen(root: Path) -> dict[str, tuple[int, int, int]]:
    """Everything there is below a folder: its kind, and for files its size and time."""
    found = {}
    for folder, folders, files in os.walk(root):
        for name in (*folders, *files):
            path = os.path.join(folder, name)
            about = os.lstat(path)
            plain = name in files
            found[os.path.relpath(path, root)] = (
                about.st_mode,
                about.st_size if plain else 0,
                about.st_mtime_ns if plain else 0,
            )
    return found


def small_rows(folder: Path) -> dict[str, bytes]:
    """The files of a store with a few rows of a study, none of which was trained for."""
    from whyconv.runner import environment
    from whyconv.runner.store import Store
    from whyconv.settings import configure
    from whyconv.trial import Row

    sets = ["m=40", "task.pattern_dim=6", "task.patterns=6", "task.positions=3", "test_size=200"]
    study = configure("brutzkus.fig3a", "quick", sets, seeds=2)
    with Store.open(folder) as store:
        store.record_run(study, "quick", [], "whyconv run brutzkus.fig3a")
        here = environment.describe()
        store.record_environment(here)
        for point in study.plan({}):
            trial, result = point.trial, {"test_error": 0.25, "train_error": 0.0}
            row = Row(
                key=trial.key,
                stem=trial.stem,
                spec=trial.canonical(),
                versions=trial.versions,
                status="ok",
                result=result,
                environment=environment.identity(here),
            )
            store.put(row, 1.0)
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
