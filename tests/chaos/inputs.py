"""Bad and odd command lines by the thousand, in this process, each judged.

    python tests/chaos/inputs.py --count 5000 --state build/inputs.json    (the same again goes on)
    python tests/chaos/inputs.py --show 17                                 (what number 17 is, and its answer)

No trial is run, no claim decided, nothing downloaded: an input that is accepted costs next to nothing.
"""

import argparse
import contextlib
import io
import json
import os
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

sys.path.insert(0, str(Path(__file__).parent))

from bad_words import Line, line
from odd_places import build, seen, small_rows

SECONDS = 20
LONGEST = 620
BAD = ("traceback", "hang", "odd exit", "ill told", "left behind", "warning")
KEPT = 400
"""Accepted inputs of which the words are kept, to be read through."""


class Hang(BaseException):
    """An input took too long."""


class Answer(NamedTuple):
    """What a command line came to."""

    code: Any
    out: str
    err: str
    raised: str
    hung: bool
    seconds: float


def run(count: int, first: int = 0, state: Path | None = None) -> dict[str, Any]:
    """Try inputs ``first`` to ``first + count - 1``; counts, and what was bad about those that were.

    With a ``state`` file the numbers go up to ``count - 1`` in all, however often this is stopped.
    """
    found: dict[str, Any] = {"next": first, "counts": {}, "accepted": {}, "bad": [], "read": []}
    state = state and state.resolve()  # inputs are tried in another folder
    if state is not None and state.exists():
        found = json.loads(state.read_text())
    counts, accepted = Counter(found["counts"]), Counter(found["accepted"])
    with World() as world:
        for index in range(found["next"], first + count):
            given = line(index)
            answer, problems = world.judge(given)
            counts["inputs"] += 1
            counts[f"exit {answer.code}"] += 1
            counts.update(dict.fromkeys(BAD, 0) | Counter(name for name, _ in problems))
            found["bad"] += [[index, name, why, _shown(given.words)] for name, why in problems]
            if answer.code == 0:
                accepted[given.kind] += 1
                if given.kind != "good" and len(found["read"]) < KEPT:
                    found["read"].append([index, given.kind, _shown(given.words), given.environment])
            found |= {"next": index + 1, "counts": dict(counts), "accepted": dict(sorted(accepted.items()))}
            if state is not None and (index % 20 == 0 or index == first + count - 1):
                _write(state, found)
    return found


class World:
    """A scratch folder, the command line without its costly parts, and the judge."""

    def __enter__(self) -> "World":
        self._stack = contextlib.ExitStack()
        root = self._stack.enter_context(tempfile.TemporaryDirectory(prefix="whyconv-inputs-"))
        self.root = Path(root).resolve() / "world"
        self._rows = small_rows(Path(root) / "rows")
        self._stack.enter_context(_costless())
        self._stack.callback(os.chdir, Path.cwd())
        self._renew()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _renew(self) -> None:
        os.chdir("/")
        self._work = build(self.root, self._rows)
        os.chdir(self._work)
        self._before = seen(self.root)

    def judge(self, given: Line) -> tuple[Answer, list[tuple[str, str]]]:
        """The answer to a command line, and what is bad about it: pairs of a word of BAD and the reason."""
        answer = self.call(given)
        after = seen(self.root)
        changed = sorted(
            name for name in {*self._before, *after} if self._before.get(name) != after.get(name)
        )
        if changed:
            self._renew()
        problems = []
        if answer.hung:
            problems.append(("hang", f"{answer.seconds:.0f} s"))
        if answer.raised:
            problems.append(("traceback", answer.raised))
        elif answer.code not in (0, 1, 2):
            problems.append(("odd exit", str(answer.code)))
        if "Warning" in answer.err:
            problems.append(("warning", answer.err[-300:]))
        if answer.code == 2:
            problems += [
                ("ill told", why) for why in _ill_told(answer.err, many=given.words[:2] == ["data", "verify"])
            ]
            problems += [("left behind", ", ".join(changed))] if changed else []
        elif outside := [name for name in changed if not _asked_for(name, given.words)]:
            problems.append(("left behind", ", ".join(outside)))
        return answer, problems

    def call(self, given: Line) -> Answer:
        """Run the command line here; all that it sets in this process is put back."""
        from whyconv import registry
        from whyconv.cli import main as cli

        home = {name: str(self.root / place) for name, place in (("HOME", "home"), ("TMPDIR", "tmp"))}
        surroundings = {**os.environ, **home, "COLUMNS": "80", **given.environment}
        for name in {"WHYCONV_DATA", "WHYCONV_CACHE", "XDG_CACHE_HOME"} - given.environment.keys():
            surroundings.pop(name, None)
        pieces, modules = dict(registry._pieces), set(sys.modules)
        out, err, code, raised = io.StringIO(), io.StringIO(), None, ""
        begin = time.monotonic()
        with (
            mock.patch.dict(os.environ, surroundings, clear=True),
            mock.patch.object(sys, "argv", ["whyconv", *given.words]),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            _limit(SECONDS) as hung,
        ):
            try:
                cli.main()
            except SystemExit as end:
                code = end.code
            except BaseException as error:
                raised = "".join(traceback.format_exception(error))[-1500:]
        registry._pieces.clear()
        registry._pieces.update(pieces)
        for name in set(sys.modules) - modules:
            if name.startswith("whyconv_user_"):
                del sys.modules[name]
        return Answer(code, out.getvalue(), err.getvalue(), raised, bool(hung), time.monotonic() - begin)


def _ill_told(err: str, many: bool) -> list[str]:
    """What is wrong with the sentence of a refusal; ``data verify`` may have one for every file."""
    lines = err.removesuffix("\n").split("\n")
    if len(lines) != 1 and not many:
        return [f"{len(lines)} lines: {err[:300]!r}"]
    return [
        repr(each)
        for each in lines
        if not (
            each.startswith("whyconv: ")
            and each.endswith(".")
            and each.isprintable()
            and len(each) <= LONGEST
        )
    ]


def _asked_for(name: str, words: list[str]) -> bool:
    """Whether a file that is new or changed lies where the command line said."""
    path = Path(name).relative_to("above/work") if name.startswith("above/work/") else Path("..") / name
    places = [word.partition("=")[2] if word.startswith("--out=") else word for word in words]
    clean = [os.path.normpath(place) for place in places if place and "\0" not in place and len(place) < 2000]
    return any(
        place in (str(path), *map(str, path.parents), ".") or Path(place).is_relative_to(path)
        for place in clean
    )


@contextlib.contextmanager
def _limit(seconds: int) -> Iterator[list[bool]]:
    """Interrupt what takes longer; the list is no longer empty then, whoever caught the exception."""
    hung: list[bool] = []

    def stop(*_: object) -> None:
        hung.append(True)
        raise Hang

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield hung
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@contextlib.contextmanager
def _costless() -> Iterator[None]:
    """Replace what would cost time: trials, claims, drawings, downloads, the longest of the exact sums."""
    import typer

    from whyconv import api, deciding, progress
    from whyconv.cli import main
    from whyconv.cli import stress as cli_stress
    from whyconv.errors import UserError
    from whyconv.exact.fourier import lattice, meet, trapezoid
    from whyconv.runner import recompute
    from whyconv.runner.store import Store
    from whyconv.tasks.images import download
    from whyconv.verdict import Evidence

    def complete(study: Any, out: Any, options: Any, watch: Any, place: Any) -> Any:
        """As far as the store: whatever would be refused later would have left a folder behind."""
        if not _few(study).plan({}):
            raise UserError("no trial is planned.")
        options.command.encode()
        Store.open(out).close()
        raise typer.Exit(0)

    class Progress(contextlib.nullcontext[Any]):
        def __init__(self, *_: object) -> None:
            super().__init__(self)

        def watch(self, event: object) -> None:
            pass

    def fetch(name: str) -> Path:
        raise UserError(f"{name} is not downloaded here.")

    with contextlib.ExitStack() as stack:
        for place, name, fake in [
            (api, "complete", complete),
            (recompute, "_outcomes", lambda *given: ()),
            (progress, "Progress", Progress),
            (download, "fetch", fetch),
            (deciding, "_evidence", lambda claim, part, *word: (Evidence("holds"), "")),
            (deciding, "_is_found", lambda claim, origins: False),
            (main, "runs_of", lambda found: []),
            (cli_stress, "search", lambda *given: {}),
            (trapezoid, "MOST_WORK", 1e7),
            (lattice, "MOST_WORK", 1e9),
            (meet, "MOST_BITS", 30),
        ]:
            stack.enter_context(mock.patch.object(place, name, fake))
        yield


def _few(study: Any) -> Any:
    """The study with fewer repetitions: too many are refused by their number, and planning takes its time."""
    changes: dict[str, Any] = {"seeds": min(study.seeds, 2)}
    arms = getattr(study, "arms", None)
    if isinstance(arms, dict) and any(getattr(arm, "seeds", None) for arm in arms.values()):
        changes["arms"] = {name: arm.model_copy(update={"seeds": 2}) for name, arm in arms.items()}
    return study.model_copy(update=changes)


def _shown(words: list[str]) -> list[str]:
    return [word if len(word) <= 200 else f"{word[:200]}... ({len(word):,} characters)" for word in words]


def _write(state: Path, found: dict[str, Any]) -> None:
    state.parent.mkdir(parents=True, exist_ok=True)
    part = state.with_name(state.name + ".part")
    part.write_text(json.dumps(found, indent=1))
    part.replace(state)


def main() -> None:
    """The long form."""
    options = argparse.ArgumentParser(description="Bad and odd command lines, judged.")
    options.add_argument("--count", type=int, default=5000)
    options.add_argument("--state", type=Path, help="where to go on from")
    options.add_argument("--show", type=int, help="one input and its answer")
    given = options.parse_args()
    if given.show is not None:
        with World() as world:
            print(line(given.show), *world.judge(line(given.show)), sep="\n")
        return
    found = run(given.count, state=given.state)
    for index, name, why, words in found["bad"]:
        print(f"{index}: {name}: {why}\n  {words}")
    print(json.dumps({"counts": found["counts"], "accepted": found["accepted"]}, indent=1))
    sys.exit(1 if found["bad"] else 0)


if __name__ == "__main__":
    main()
