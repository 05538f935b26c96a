"""Bad and odd command lines, one for every number: over every command and option that there is.

``line(i)`` depends on ``i`` alone. Commands and options come from the command line itself, settings from the
studies, so new ones are tried without a change here.
"""

import json
import random
from functools import cache
from typing import Any, NamedTuple

import typer
from odd_places import OWN, TABLES

VALUES = {
    "wrong type": ["true", "false", "null", "{}", "[]", "[[]]", '"7"', "abc", "3.7", '[1, "a"]', "[true]",
                   '{"name": 3}', '{"a": 1, "a": 2}', "True", "yes", "0x10", "1_000", "07", "+3", ".5", "5."],
    "out of range": ["0", "-1", "-0.0", "1e-9", "2", "101", "10001", "2147483648", "-5,3", "3,2,1", "1,1"],
    "huge": ["1e308", "1e309", "1e15", str(2**63), str(2**64), "9" * 4000, "9" * 5000, "1e999999999"],
    "not finite": ["nan", "NaN", "inf", "-inf", "Infinity", "-Infinity", "1e999", "[NaN]", "[1, Infinity]"],
    "denormal": ["1e-320", "5e-324", "-1e-320", "1e-400", "1e-999999999"],
    "empty": ["", " ", "\t", "\n", " \n ", ",", ",,", "=", "==", ".", "..", "''"],
    "unicode": ["\xe9", "\u540d\u524d", "\u0661\u0662", "\xbd", "\u202etxt", "\u200b", "a\u0301",
                "\U0001f642", "\u2167", "\xa05", "\uff11\uff12", "\u2212" + "1", "m\u0430x"],
    "not UTF-8": ["\udcff", "a\ud800b", "q\udcffz", "[\udcff]", '"\\ud800"', '{"\\udfff": 1}'],
    "control": ["\0", "a\0b", "\x1b[31mred", "a\nb", "a\rb", "\x7f", "\x08", '"\\u0000"', '"a\\nb"'],
    "nested": ["[" * 30 + "]" * 30, "[" * 900 + "]" * 900, "[" * 2000, "[" * 100_000,
               '{"a":' * 50 + "1" + "}" * 50, '{"a":' * 20_000],
    "long": ["x" * 300, "x" * 5000, "a." * 3000, "x" * 1_000_000, "1," * 50_000 + "1",
             "[" + "0.1," * 9000 + "1]"],
    "path": [".", "..", "/proc/x", "/dev/null/x", "/sys/x", "file", "file/x", "empty", "fifo", "fifo/x",
             "loop", "loop/x", "dangling", "damaged", "x" * 256, "a/" * 3000, "-", "--", "~", "~root/x",
             "two words", "-rf", "rows/lock", "rows/../rows", "new", "new/below/it", "\xe9", "own.py",
             "huge.py", "folder.py"],
    "another's name": ["mlp", "brutzkus", "all", "quick", "paper", "brutzkus.fig3a", "svm", "detection",
                       "digits", "malach.thm4", "mnist", "tanh", "signs", "enumeration", "own.top-two"],
    "sign": ["-h", "--help", "--json", "-1", "--", "-", "--set", "*", "?", "$HOME", "`id`", "$(id)", "a;b",
             "%s", "{}"],
}  # fmt: skip
ABSOLUTE = ("/proc/x", "/dev/null/x", "/sys/x")
"""The only places outside of the scratch folder that are named: nothing can be made there."""

GOOD = [
    ["list"],
    ["list", "brutzkus"],
    ["list", "k-pattern", "--json"],
    ["list", "malach.natural-init"],
    ["list", "--load", "own.py"],
    ["run", "brutzkus.fig3a", "--out", "new"],
    ["run", "lahoti.vary-k", "--set", "task.sigma=0.5", "--seeds", "2", "--out", "new"],
    ["run", "malach.natural-init", "--preset", "paper", "--workers", "1", "--limit", "5", "--out", "new"],
    ["run", "brutzkus.fig3c", "--set", "task.images=digits", "--out", "new", "--json"],
    ["run", "own.top-two", "--load", "own.py", "--set", "m=[40]", "--out", "new", "--fail-fast"],
    ["check", "brutzkus.prop6.1"],
    ["check", "malach", "--json"],
    ["report", "rows"],
    ["report", "rows", "--out", "page.html", "--check", "brutzkus.prop6.1"],
    ["export", "rows", "--csv"],
    ["export", "rows", "--parquet"],
    ["verify", "rows"],
    ["data", "list", "--json"],
    ["data", "fetch", "mnist"],
    ["data", "verify", "digits"],
    ["exact", "gradient", "--n", "64", "--k", "3"],
    [
        "exact",
        "gradient",
        "--n",
        "32",
        "--k",
        "3",
        "--activation",
        "relu",
        "--weights",
        "signs",
        "--scale",
        "1/9",
    ],
    ["exact", "gradient", "--n", "40", "--k", "3", "--activation", "relu", "--den", "64", "--bias", "-8/9"],
    ["exact", "sizes", "--n", "32", "--k", "5", "--eps", "0.1", "--delta", "0.1"],
]
VARIABLES = ["WHYCONV_DATA", "WHYCONV_CACHE", "XDG_CACHE_HOME", "HOME", "COLUMNS", "LINES", "TERM",
             "NO_COLOR", "FORCE_COLOR", "TMPDIR", "JAX_PLATFORMS", "LANG"]  # fmt: skip


class Line(NamedTuple):
    """A command line: what is odd about it, its words, and environment variables."""

    kind: str
    words: list[str]
    environment: dict[str, str]


def line(index: int) -> Line:
    """The command line of this number."""
    rng = random.Random(f"whyconv {index}")
    makers = [_good, _option, _argument, _setting, _table, _load, _mutated, _variable]
    make = rng.choices(makers, [2, 12, 6, 16, 1, 4, 6, 3])[0]
    kind, words, environment = make(rng)
    return Line(kind, [_kept_inside(word) for word in words], environment)


def _good(rng: random.Random) -> Line:
    return Line("good", list(rng.choice(GOOD)), {})


def _option(rng: random.Random) -> Line:
    """A good line with one more option, or one that it has, with a value of some kind."""
    words = list(rng.choice(GOOD))
    options = options_of(words)
    name = rng.choice([*options, "--" + "x" * rng.randint(0, 3)])
    if not options.get(name, True):
        return Line("option: switch", [*words, name] * rng.choice([1, 1, 2]), {})
    kind, value = _value(rng)
    if name in words and rng.random() < 0.8:
        words[words.index(name) + 1] = value
    else:
        words += [f"{name}={value}"] if rng.random() < 0.3 else [name, value]
    return Line(f"option: {kind}", words, {})


def _argument(rng: random.Random) -> Line:
    """A good line whose command, subcommand or argument is replaced, left out, or followed by another."""
    words = list(rng.choice(GOOD))
    kind, value = _value(rng)
    place = rng.randint(0, min(2, len(words) - 1))
    how = rng.choice(["replaced", "left out", "more"])
    words[place : place + (how != "more")] = [] if how == "left out" else [value]
    return Line(f"argument: {kind if how != 'left out' else how}", words, {})


def _setting(rng: random.Random) -> Line:
    """A run with one to three settings, most of them real ones."""
    study = rng.choice(sorted(settings()))
    words, kinds = ["run", study, "--out", "new"], []
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        kind, value = _value(rng)
        name = rng.choice(settings()[study])
        if rng.random() < 0.15:
            kind, name = (
                "name",
                rng.choice([f"{name}.{value}", f"{value}.{name}", value, f"{name}.", f".{name}", ""]),
            )
        elif rng.random() < 0.3:
            value = json.dumps(rng.choice([[value], {"name": value}, {value: value}, [[value], [value]]]))
        words += ["--set", f"{name}={value}"]
        kinds.append(kind)
    return Line(f"setting: {kinds[0]}", words, {})


def _table(rng: random.Random) -> Line:
    """A run on inputs from a file, which is odd."""
    file = rng.choice(
        [*TABLES, "fifo", "loop", "dangling", "huge.py", "folder.py", "/dev/zero", "", "own.py"]
    )
    task = {"name": "k-pattern", "n_bits": 2, "k_window": 1, "law": "file", "file": file}
    return Line(
        "table", ["run", "malach.natural-init", "--set", f"task={json.dumps(task)}", "--out", "new"], {}
    )


def _load(rng: random.Random) -> Line:
    """A line with files of one's own, which are odd."""
    words = list(
        rng.choice([each for each in GOOD if each[0] in ("list", "run", "check", "report", "export")])
    )
    files = rng.choices(
        [*OWN, "huge.py", "folder.py", "fifo", "loop", "dangling", "own.py", "rows"], k=rng.choice([1, 1, 2])
    )
    return Line("load", words + [word for file in files for word in ("--load", file)], {})


def _mutated(rng: random.Random) -> Line:
    """A good line with words swapped, doubled or dropped, and characters changed."""
    words = list(rng.choice(GOOD))
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(words))
        how = rng.choice(["swap", "double", "drop", "change", "insert", "cut"])
        word = words[at]
        spot = rng.randrange(len(word) + 1)
        if how == "swap":
            other = rng.randrange(len(words))
            words[at], words[other] = words[other], words[at]
        elif how == "double":
            words.insert(at, word)
        elif how == "drop" and len(words) > 1:
            del words[at]
        elif how == "cut":
            words[at] = word[:spot]
        else:
            extra = rng.choice("aZ9-=.,_ []{}\"'\\\n\t\0\x1b\xe9\u202e\udcff")
            words[at] = word[:spot] + extra + word[spot + (how == "change") :]
    return Line("mutated", words, {})


def _variable(rng: random.Random) -> Line:
    """A good line with an environment variable of nonsense; none can hold a NUL, nor a megabyte."""
    kind, value = _value(rng)
    value = value.replace("\0", "").replace("\ud800", "")[:5000]
    return Line(f"variable: {kind}", list(rng.choice(GOOD)), {rng.choice(VARIABLES): value})


def _value(rng: random.Random) -> tuple[str, str]:
    kind = rng.choice(list(VALUES))
    return kind, rng.choice(VALUES[kind])


def _kept_inside(word: str) -> str:
    """The word, made to name no place outside of the scratch folder."""
    if word not in ABSOLUTE and (word.startswith("/") or "=/" in word or word.count("..") > 1):
        return word.replace("/", "_")
    return word


@cache
def _tree() -> dict[tuple[str, ...], dict[str, bool]]:
    """For every command its options, and whether each takes a value."""
    from whyconv.cli.main import app

    def walk(command: Any, path: tuple[str, ...]) -> None:
        for name, inner in getattr(command, "commands", {}).items():
            walk(inner, (*path, name))
        named = [each for each in command.params if each.param_type_name == "option"]
        found[path] = {option: not each.is_flag for each in named for option in each.opts}

    found: dict[tuple[str, ...], dict[str, bool]] = {}
    walk(typer.main.get_command(app), ())
    return found


def options_of(words: list[str]) -> dict[str, bool]:
    """The options of the command that these words begin with."""
    return _tree().get(tuple(words[:2])) or _tree().get(tuple(words[:1])) or {}


@cache
def settings() -> dict[str, list[str]]:
    """The names of all settings of every study, as ``--set`` takes them."""
    from whyconv import registry
    from whyconv.spec import Spec

    def names(value: Any, path: str) -> list[str]:
        if isinstance(value, Spec):
            inner = {name: getattr(value, name) for name in type(value).model_fields}
        elif isinstance(value, dict):
            inner = value
        else:
            return [path]
        return [
            path,
            *(each for name, item in inner.items() for each in names(item, f"{path}.{name}".lstrip("."))),
        ]

    return {study.name: [each for each in names(study(), "") if each] for study in registry.pieces("study")}
