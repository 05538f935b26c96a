"""Breaks the code on purpose, one place at a time, and expects a test to turn red.

    make mutants        (or: python tests/mutants.py 3 7   for some of them)
    python tests/mutants.py planted [3 7]   errors of planted.py, which ``whyconv check`` alone must notice
    make planted        the same, and writes docs/planted.md

Works on copies, so the checkout is left alone, as many at a time as there are cores to use. Not part of ``make test``:
it takes a while. A test that does not turn red, or takes longer than ``LIMIT`` seconds, has not noticed.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

from planted import NOTICED_BEFORE, PLANTED, REPORTED
from whyconv.system import cores

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "whyconv"
LIMIT = 900
N, L, T, P = "tests/networks", "tests/learners", "tests/tasks", "tests/papers"
GRID, DEEP, WINDOW, POOLING = (
    f"{T}/test_digit_grid.py",
    *(f"{N}/test_{name}.py" for name in ("deep", "window", "pooling")),
)
GRADIENT, LAYERWISE, PROJECTED, TARGET = (
    f"{L}/test_{name}.py" for name in ("gradient", "layerwise", "projected", "steps_to_target")
)
STORE, STRANGERS, REPAIR, PLACES = (
    f"tests/runner/test_runner_{name}.py" for name in ("store", "strangers", "repair", "places")
)
FUNCTIONS = "tests/test_functions.py"
PAGE = "tests/page"
MARGINS = "tests/exact/test_margin_proofs.py"
JUDGING, VERDICT = "tests/studies/test_judging.py", "tests/studies/test_verdict_helpers.py"
SIGNALS = f"{P}/lahoti/test_lahoti_judging.py"
RIVALS = f"{P}/lahoti/test_rival_rates.py"

MUTANTS = [
    # file below src/whyconv, what stands there, what to put, the tests that must notice
    ("report/html.py", "autoescape=True", "autoescape=False", "tests/report/test_html_report.py"),
    ("report/notation.py", "_mathematics(escape(part))", "_mathematics(part)", "tests/report/test_html_report.py"),
    ("page/app.py", "asked.done > known", "asked.done >= known", f"{PAGE}/test_run_events.py"),
    ("page/app.py", "daemon=True", "daemon=False", f"{PAGE}/test_uploads.py"),
    ("page/shown.py", "story.point == step.prior", "True", f"{PAGE}/test_stories.py"),
    ("page/safety.py", "allowed.get(name, [value])", "allowed.get(name.upper(), [value])", f"{PAGE}/test_questions.py"),
    ("progress.py", "max(event.total, len(event.outlook))", "event.total", "tests/cli/test_terminal.py"),
    ("progress.py", "trial.key not in planned", "True", "tests/cli/test_terminal.py"),
    ("runner/planning.py", "    @cached_property", "    @property", "tests/runner/test_runner_planning.py"),
    ("paths.py", 'environ.get("XDG_CACHE_HOME")', "None", "tests/test_paths.py"),
    ("networks/pooling.py", "scores.max(axis=0)", "scores.min(axis=0)", POOLING),
    ("networks/pooling.py", "winner == index", "winner == index + 1", POOLING),
    ("networks/pooling.py", "self.windows(shape)[1] + 1)", "self.windows(shape)[1])", POOLING),
    ("networks/dense.py", "(2 / inputs) ** 0.5", "(1 / inputs) ** 0.5", "tests/test_golden_rows.py"),
    ("tasks/detection.py", "jnp.where(positive, 0, 1))", "jnp.where(positive, 1, 0))", f"{T}/test_detection.py"),
    ("tasks/detection.py", "words[1] % positions", "words[1] % (positions - 1)", f"{T}/test_detection.py"),
    ("tasks/noise_laws.py", "** (1 / pattern_dim)", "** (1 / (pattern_dim + 1))", f"{T}/test_detection.py"),
    ("tasks/detection.py", "surjections(draws, size)", "surjections(draws + 1, size)", f"{T}/test_detection.py"),
    ("learners/losses.py", "jax.nn.softplus(-y * f)", "jax.nn.softplus(y * f)", GRADIENT),
    ("learners/_training.py", "look & (loss <= self.learner.tolerance)", "look", GRADIENT),
    ("learners/_training.py", "inside / inside.sum()", "inside / size", GRADIENT),
    ("learners/layerwise.py", "channels * (self.first_steps + 1)", "channels * self.first_steps", LAYERWISE),
    ("learners/layerwise.py", "half = -(-job.m // 2)", "half = job.m // 2", LAYERWISE),
    ("trial.py", "if not each.ours]", "if False]", FUNCTIONS),
    ("registry.py", "            forget()", "            pass", FUNCTIONS),
    ("functions.py", "<= set(model.model_fields)", "<= {*self.settings}", FUNCTIONS),
    ("networks/_patches.py", "h[:, at : at + size] for at", "h[:, at : at + 1] for at", FUNCTIONS),
    ("learners/margin.py", "y[:, None] * x).vector", "x).vector", f"{L}/test_margin.py"),
    ("runner/seal.py", "if digest(texts) != stored", "if False", STORE),
    ("runner/seal.py", 'sealed("runs", *record[:-1])[-1] != stored', "False", STRANGERS),
    ("runner/seal.py", 'or sealed("durations", *record[:-1])[-1] == stored', "or True", STRANGERS),
    ("runner/journal.py", "key not in forms or", "False or", STORE),
    ("runner/journal.py", "forms[key][1] < attempt", "False", REPAIR),
    ("runner/carve.py", "(size - least) % (PAGE - 4)", "(size - least) % PAGE", REPAIR),
    ("runner/carve.py", "images[number].insert(0, page)", "images[number].append(page)", REPAIR),
    ("runner/carve.py", "range(_WAL_HEADER, len(log)", "range(0, len(log)", REPAIR),
    ("runner/salvage.py", "for end in database.BESIDE", "for end in ()", REPAIR),
    ("runner/salvage.py", "each[-1][:16] == start", "False", REPAIR),
    ("runner/database.py", "sqlite3.SQLITE_CORRUPT,", "", STORE),
    ("runner/ownership.py", "table == header and table >", "table >", STORE),
    ("runner/store.py", "if _place(self.folder) != self._place", "if False", "tests/runner/test_runner_elsewhere.py"),
    ("runner/backlog.py", "own or self._fresh or self._waiting", "self._waiting", "tests/runner/test_runner_backlog.py"),
    ("runner/backlog.py", "if kind in compiled - others", "if False", "tests/runner/test_runner_backlog.py"),
    ("runner/pool.py", "if not same or worker.death():", "if worker.death():", PLACES),
    ("runner/pool.py", "worker.job is not None or not worker.ready", "not worker.begun", PLACES),
    ("runner/places.py", "after_in_child=_keeper.disown", "after_in_child=int", PLACES),
    ("runner/worker.py", "with _printing_to(job[\"log\"]):", "if True:", PLACES),
    ("runner/planning.py", "if keys != self._made_from:", "if True:", "tests/runner/test_runner_planning.py"),
    ("deciding.py", "or claim.origin in origins", "or claim.origin", "tests/test_deciding.py"),
    ("deciding.py", "not claim.trials and", "", "tests/test_deciding.py"),
    ("runner/opened.py", "digest not in given", "False", STRANGERS),
    ("runner/export.py", "cell.startswith(FORMULA)", "cell.startswith('=')", STRANGERS),
    ("runner/folder.py", "    if not good:", "    if False:", STRANGERS),
    ("runner/recompute.py", "to_json(then.get(name)) != to_json(now.get(name))", "False", "tests/runner/test_runner_recompute.py"),
    ("runner/environment.py", '"blas": _kernels()', '"blas": {}', STRANGERS),
    ("settings.py", 'if seeds or path != "seeds"', "if seeds", STRANGERS),
    ("tasks/__init__.py", "(scores > 0, 1, -1)", "(scores >= 0, 1, -1)", "tests/test_execution.py"),
    ("streams.py", "lineage(), trial.seed", "lineage(), 0", "tests/test_execution.py"),
    ("streams.py", 'stream("batches", seed)', 'stream("batches", network, seed)', GRADIENT),
    ("measure/intervals.py", "/ math.sqrt(", "/ (", "tests/measure/test_intervals.py"),
    ("verdict.py", "interval.low > threshold", "interval.high > threshold", VERDICT),
    ("papers/brutzkus/studies/fig4.py", 'self.thresholds["share of a rise"] * self._rise(', "2 * self._rise(", JUDGING),
    ("exact/pattern_sets.py", "(-1) ** (target - j)", "(-1) ** j", "tests/exact/test_pattern_sets.py"),
    ("papers/brutzkus/exact/lucky_filters.py", "2 * (patterns - 1)", "2 * patterns", f"{P}/brutzkus/test_lucky_filters.py"),
    ("tasks/bits.py", "jnp.arange(self.k_window)[::-1]", "jnp.arange(self.k_window)", f"{T}/test_bits.py"),
    ("tasks/bits.py", "self.position - 1", "self.position", f"{T}/test_bits.py"),
    ("tasks/bits.py", '"ones": (1 + self.mean)', '"ones": (1 - self.mean)', f"{T}/test_bits.py"),
    ("networks/window.py", "// self.step + 1", "// self.step", WINDOW),
    ("networks/window.py", "1 / k - 1", "1 / k + 1", WINDOW),
    ("networks/window.py", "(windows) // self.group_size", "(windows) % self.group_size", WINDOW),
    ("networks/tables.py", "gzs\", grad, u)", "gzs\", grad, u * counts[:, None])", WINDOW),
    ("networks/tables.py", "u * counts[:, None], table", "u, table", WINDOW),
    ("networks/tables.py", "before = i * self", "before = (i + 1) % self.block * self", WINDOW),
    ("networks/tables.py", "(span - 1 - t)", "t", WINDOW),
    ("networks/embedding.py", '["u"].reshape(1, -1)', '["u"].T.reshape(1, -1)', WINDOW),
    ("learners/losses.py", "jnp.where(y * f < 1,", "jnp.where(y * f <= 1,", TARGET),
    ("learners/_training.py", "(data.x, data.y, data.m,", "(data.x, data.y, data.m - 1,", TARGET),
    ("learners/order_search.py", "loss <= state.loss", "loss >= state.loss", f"{L}/test_order_search.py"),
    ("studies/tuned.py", "return missed, steps, round", "return steps, missed, round", f"{P}/malach/test_malach_judging.py"),
    ("papers/malach/studies/separation.py", "\"probability of success\": 2 / 3", "\"probability of success\": 1 / 3", f"{P}/malach/test_malach_judging.py"),
    ("papers/malach/exact/window_descent.py", "by_readout = pull @", "by_readout = copies * pull @", f"{P}/malach/test_window_descent.py"),
    ("exact/fourier/trapezoid.py", "[orders % 4]", "[(orders + 1) % 4]", "tests/exact/test_fourier_engines.py"),
    ("papers/malach/exact/k_patterns.py", "return n_bits - k_window + 1", "return n_bits - k_window", f"{P}/malach/test_k_patterns.py"),
    ("papers/malach/exact/initial_gradient.py", "k_window + 1) * below", "k_window) * below", f"{P}/malach/test_initial_gradient.py"),
    ("networks/threshold.py", "beyond = jnp.abs(z) >", "beyond = jnp.abs(z) >=", f"{N}/test_threshold.py"),
    ("networks/threshold.py", "keepdims=True), 1.0)", "keepdims=True), 2.0)", f"{N}/test_threshold.py"),
    ("networks/threshold.py", "(blocks) // self.group_size", "(blocks) % self.group_size",
     f"{N}/test_threshold.py"),
    ("learners/projected.py", "bias_rate if bias else rate", "rate", PROJECTED),
    ("learners/projected.py", "(count) < data.m", "(count) <= data.m", PROJECTED),
    ("learners/two_step.py", "(job.m - half, job.m)", "(0, half)", PROJECTED),
    ("execution.py", 'keys["validation"], trial', 'keys["test"], trial', "tests/test_risk_rows.py"),
    ("execution.py", "if isinstance(leaf, jax.Array) else array", "", "tests/learners/test_gradient.py"),
    ("execution.py", "steps / max(seconds", "steps * max(seconds", "tests/learners/test_gradient.py"),
    ("tasks/detection.py", "not isinstance(view, RowSet) or", "", "tests/tasks/test_detection.py"),
    ("execution.py", "int(np.argmin(np.where", "int(np.argmax(np.where", "tests/test_risk_rows.py"),
    ("studies/complexity.py", "if any(point.trial.key not in rows", "if all(point.trial.key not in rows", SIGNALS),
    ("studies/complexity.py", "rows = good(rows)", "rows = dict(rows)", SIGNALS),
    ("papers/lahoti/studies/signal_study.py", "<= TELLING * known", "<= known", SIGNALS),
    ("papers/lahoti/studies/signal_study.py", "([1, -1, -1, 1]", "([1, -1, 1, -1]", SIGNALS),
    ("papers/lahoti/studies/rivals.py", "below(most + tolerance", "below(most - tolerance", RIVALS),
    ("papers/lahoti/studies/rivals.py", "above(least - tolerance", "above(most - tolerance", RIVALS),
    ("papers/lahoti/studies/rivals.py", '"k and d": (1, 1)', '"k and d": (1, 0)', RIVALS),
    ("papers/lahoti/exact/rates.py", "if self.logarithm else 0.0", "if False else 0.0", RIVALS),
    ("measure/scaling.py", "max(high, value + reach)", "high", "tests/measure/test_scaling.py"),
    ("measure/scaling.py", "math.sqrt(rest / spare)", "math.sqrt(rest)", "tests/measure/test_scaling.py"),
    ("spec.py", "if value != default}", "if value == default}", "tests/runner/test_runner_identity.py"),
    ("tasks/_image_task.py", "(self.shift, 0), (0, 0)))", "(self.shift + 1, 0), (0, 0)))", f"{T}/test_image_classes.py"),
    ("tasks/_image_task.py", "if self.permuted:", "if not self.permuted:", GRID),
    ("tasks/digit_grid.py", "jnp.where(positive, 1, -1)", "jnp.where(positive, -1, 1)", GRID),
    ("tasks/digit_grid.py", "lots[:, 1] % self.side**2", "lots[:, 1] % self.side", GRID),
    ("tasks/sequence.py", "(self.digits - self.counted) // 2", "0", f"{T}/test_sequence.py"),
    ("tasks/sequence.py", "epoch if self.reshuffled else 0", "0", f"{T}/test_sequence.py"),
    ("tasks/sequence.py", "(1 - 2 * (labels", "(2 * (labels", f"{T}/test_sequence.py"),
    ("tasks/images/files.py", "if md5(data) != file.md5:", "if False:", f"{T}/images/test_damage.py"),
    ("tasks/images/files.py", "if found[0] != file.items:", "if False:", f"{T}/images/test_damage.py"),
    ("pixels.py", "rows, columns, colours).swapaxes(-4, -3)", "rows, columns, colours)", GRID),
    ("networks/dense.py", "w = w[grid_order(shape)]", "w = w[::-1]", f"{L}/test_streaming.py"),
    ("networks/deep.py", "2 / inputs[i]", "1 / inputs[i]", DEEP),
    ("networks/deep.py", "[:, pixel_order(shape)]", "[:, ::-1]", DEEP),
    ("networks/_patches.py", "kernel - size, 0) // 2, count", "kernel - size, 0), count", DEEP),
    ("networks/_patches.py", "- self.before[axis]", "+ self.before[axis]", DEEP),
    ("networks/deep_embedding.py", "u / positions, positions", "u, positions", f"{N}/test_deep_embedding.py"),
    ("learners/_adadelta.py", "(1 - rho) * r * g * g", "(1 - rho) * g * g", f"{L}/test_adadelta.py"),
    ("exact/margins/margin_path.py", "- s * moved) @ moved)", "+ s * moved) @ moved)", "tests/exact/test_margin_path.py"),
    ("verdict.py", '(verdict, expected, "error")', "(verdict, expected)", "tests/test_api.py"),
    ("verdict.py", '(verdict, expected, "error")', '(verdict, "error")', "tests/report/test_html_report.py"),
    ("verdict.py", 'control == "undecided" or', "", "tests/test_api.py"),
    ("claims/__init__.py", "self.decide(word)", 'self.decide("")', "tests/test_claims.py"),
    ("deciding.py", "not isinstance(found, Evidence) or", "", "tests/test_api.py"),
    ("exact/margins/max_margin.py", "/ proof.lower - 1) <= GAP", "/ proof.lower - 1) <= 1e-2", MARGINS),
    ("exact/margins/max_margin.py", "proof.length <= VANISHES", "proof.length <= 1", MARGINS),
    ("exact/margins/max_margin.py", "- self._error[1] *", "+ self._error[1] *", MARGINS),
    ("exact/margins/max_margin.py", "+ self._error[0] *", "- self._error[0] *", MARGINS),
    ("exact/margins/max_margin.py", "np.maximum(multipliers, 0.0))", "multipliers)", MARGINS),
    ("exact/margins/margin_routes.py", "for patient in (False, True)", "for patient in (False,)", MARGINS),
    ("exact/margins/margin_routes.py", "pair = vector, multipliers / sides", "pair = vector, multipliers", MARGINS),
    ("exact/margins/margin_routes.py", "(exact, np.zeros_like(exact))", "(exact,)", MARGINS),
    ("learners/margin.py", "<= NO_SCORE * possible, 0.0", "<= -1.0, 0.0", f"{L}/test_margin.py"),
    ("learners/__init__.py", "np.asarray(value) <= value.dtype.type(limit)", "float(value) <= limit",
     TARGET),
    ("learners/margin.py", "if unknown.separable:", "if not unknown.separable:", f"{L}/test_margin.py"),
    ("measure/locality.py", "width**2 - 2) / 6", "width**2) / 6", "tests/measure/test_locality.py"),
    ("verdict.py", "of - slack, of + slack", "of - slack, of + 2 * slack", VERDICT),
    ("studies/worth.py", "ratio(more, less)", "ratio(less, more)", f"{P}/lahoti/test_lahoti_cifar.py"),
    ("papers/malach/studies/fig1.py", "above(\n                    self.thresholds[\"clear\"]", "above(\n                    0.0", f"{P}/malach/test_malach_fig1.py"),
    ("papers/malach/studies/fig1.py", "-self.thresholds[\"clear\"]", "-0.3", f"{P}/malach/test_malach_fig1.py"),
    ("papers/brutzkus/studies/fig3c.py", "(0.5, f", "(1.0, f", f"{P}/brutzkus/test_brutzkus_fig3c.py"),
    ("registry.py", 'PAPERS = ("whyconv.papers", "whyconv_papers")', 'PAPERS = ("whyconv.papers",)', f"{P}/test_a_fourth_paper.py"),
    ("registry.py", "isinstance(error, UserError) or shelf == PAPERS[0]", "True", f"{P}/test_a_fourth_paper.py"),
    ("studies/images.py", "if arm == connected else", "if False else", "tests/papers/malach/test_malach_sequences.py"),
    ("studies/__init__.py", '"m": self.m}', '"m": self.m + 1}', "tests/studies/test_plans.py"),
    ("studies/tuned.py", "< merits[neighbour][:2]", "> merits[neighbour][:2]", "tests/studies/test_plans.py"),
    ("papers/lahoti/studies/cifar.py", "float(errors.min())", "float(errors.max())", f"{P}/lahoti/test_lahoti_cifar.py"),
    ("papers/lahoti/studies/cifar_unpooled.py", "(FCN, LCN, CNN)", "(FCN, LCN)", f"{P}/lahoti/test_lahoti_cifar.py"),
    ("papers/malach/studies/lcn_advantage.py", "{\"clear\": 0.05}", "{\"clear\": 0.0}", f"{P}/malach/test_malach_sequences.py"),
    ("papers/malach/studies/architecture_search.py", "{\"factor\": 2.0}", "{\"factor\": 4.0}", f"{P}/malach/test_malach_judging.py"),
    ("papers/malach/studies/separation.py", " // network.flops(task.shape)", " // self.arms[FCN].flops(task.shape)", f"{P}/malach/test_malach_judging.py"),
    ("papers/malach/studies/separation.py", "_windowed(arms[CNN], k - 1)", "_windowed(arms[CNN], k)", f"{P}/malach/test_malach_judging.py"),
    ("papers/malach/studies/natural_init.py", "\"probability of success\": 2 / 3", "\"probability of success\": 1 / 3", f"{P}/malach/test_malach_judging.py"),
    ("papers/brutzkus/studies/layerwise.py", "{\"margin\": 0.05}", "{\"margin\": 0.2}", "tests/studies/test_judging.py"),
    ("papers/brutzkus/studies/open_problem.py", "{\"test error\": 0.05}", "{\"test error\": 0.4}", "tests/studies/test_judging.py"),
    ("papers/brutzkus/studies/sample_complexity.py", "POSITIONS: 0.25", "POSITIONS: 0.75", "tests/studies/test_judging.py"),
    ("studies/controls.py", "failing if evidence", "passing if evidence", "tests/studies/test_judging.py"),
    ("studies/controls.py", "Evidence(\"undecided\", found.numbers,", "Evidence(\"fails\", found.numbers,", f"{P}/malach/test_malach_fig1.py"),
    ("studies/tuned.py", "where(table[\"reached\"], budgets)", "where(table[\"reached\"], 1)", f"{P}/malach/test_malach_judging.py"),
    ("papers/lahoti/studies/cifar.py", "Search(*ends, inf, ends)", "Search(*ends, 1.0, ends)", "tests/papers/lahoti/test_lahoti_cifar.py"),
    ("measure/complexity.py", "self.first or (round", "(round", "tests/measure/test_complexity.py"),
    ("exact/pattern_sets.py", "chances[wrong | open_]", "chances[wrong]", "tests/exact/test_pattern_sets.py"),
    ("exact/pattern_sets.py", "(doubt + rounding) *", "doubt *", "tests/exact/test_pattern_sets.py"),
    ("exact/margins/max_margin.py", "max(1 - lower / upper, 0.0)", "max(1 - upper / lower, 0.0)", "tests/exact/test_max_margin.py"),
    ("measure/intervals.py", "float(array[rank - 1])", "float(array[rank])", "tests/measure/test_intervals.py"),
    ("papers/lahoti/claims/equivariance.py", "or runs[-1].alive(world.answers)", "or True", f"{P}/lahoti/test_lahoti_claims.py"),
    ("seeds.py", "if claim.name not in decided]", "]", "tests/test_seeds.py"),
    ("verdict.py", "rate.high >= promised, rate", "rate.low >= promised, rate", VERDICT),
    ("papers/malach/claims/failure.py", "Fraction(k, comb(n, k - 1))", "Fraction(1, comb(n, k - 1))", f"{P}/malach/test_malach_negative_claims.py"),
    ("papers/malach/exact/initial_gradient.py", ".sum() * 2 / 3)", ".sum() / 3)", f"{P}/malach/test_initial_gradient.py"),
    ("papers/lahoti/exact/equivariant_floor.py", ".low <= risk", ".high <= risk", f"{P}/lahoti/test_equivariant_floor.py"),
    ("papers/lahoti/exact/rates.py", "((1, 1),)),\n    \"fcn", "((1, 0),)),\n    \"fcn", f"{P}/lahoti/test_lahoti_rates_claims.py"),
]  # fmt: skip


DECIDE = (
    "import sys; from whyconv import api; "
    "sys.exit(int(not all(api.as_expected(each) for name in sys.argv[1:] for each in api.check(name))))"
)


@dataclass(frozen=True)
class Mutant:
    """A change of one file, and the command that must end with an exit code other than 0."""

    file: str
    old: str
    new: str
    noticed_by: str
    """A test file, or claims."""
    word: str = ""

    @property
    def command(self) -> list[str]:
        if self.word:
            return [sys.executable, "-c", DECIDE, *self.noticed_by.split()]
        return [
            sys.executable,
            "-m",
            "pytest",
            "-n0",
            "-x",
            "-q",
            "-p",
            "no:cacheprovider",
            "-m",
            "",
            self.noticed_by,
        ]

    def verdict(self, copies: SimpleQueue[Path], cache: Path) -> str:
        """What becomes of it: *red*, or why nothing noticed it."""
        text = (PACKAGE / self.file).read_text("utf-8")
        if text.count(self.old) != 1:
            return f"{self.old!r} stands there {text.count(self.old)} times; mend this list"
        copy = copies.get()
        file = copy / "src" / "whyconv" / self.file
        file.write_text(text.replace(self.old, self.new), "utf-8")
        programs = {
            "JAX_COMPILATION_CACHE_DIR": str(cache), "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
            "PYTHONPATH": str(copy / "src"), "OPENBLAS_NUM_THREADS": "1",
        }  # fmt: skip
        try:
            code = subprocess.run(
                self.command, cwd=copy, env={**os.environ, **programs}, capture_output=True, check=False,
                timeout=LIMIT,
            ).returncode  # fmt: skip
        except subprocess.TimeoutExpired:
            return "TOO SLOW"
        finally:
            file.write_text(text, "utf-8")
            copies.put(copy)
        return {0: "SURVIVED", 1: "red", 2: "red"}.get(code, f"it ended with {code}")


TESTED = [Mutant(*each) for each in MUTANTS]
CHECKED = [Mutant(*rest, word=word) for word, *rest in PLANTED]


Found = dict[Mutant, tuple[str, float]]


def tried(mutants: list[Mutant]) -> Found:
    """What becomes of each mutant, and the seconds it took."""
    beside = ("*.egg-info", ".venv", ".git", "whyconv-runs", "build", "__pycache__")
    found: Found = {}
    with tempfile.TemporaryDirectory() as place:
        copies: SimpleQueue[Path] = SimpleQueue()
        for index in range(min(cores(), len(mutants))):
            copy = Path(place) / f"copy-{index}"
            copies.put(shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(*beside)))

        def attempt(mutant: Mutant) -> None:
            begin = time.monotonic()
            found[mutant] = mutant.verdict(copies, Path(place) / "programs"), time.monotonic() - begin
            count = f"{len(found)} of {len(mutants)}"
            print(f"{count}: {found[mutant][0]}: {mutant.word or mutant.file}", file=sys.stderr, flush=True)

        with ThreadPoolExecutor(copies.qsize()) as threads:
            list(threads.map(attempt, mutants))
    return found


def main(mutants: list[Mutant]) -> int:
    """Try the mutants; the exit code is 1 if one was not noticed."""
    found = tried(mutants)
    for mutant in mutants:
        what, seconds = found[mutant]
        name = mutant.word or f"{mutant.file}: {mutant.old!r} -> {mutant.new!r}"
        print(f"{what:8}  {seconds:4.0f} s  {name}  ({mutant.noticed_by})")
    red = sum(what == "red" for what, _ in found.values())
    print(f"{red} of {len(mutants)} mutants were noticed")
    return int(red < len(mutants))


def page(found: Mapping[Mutant, tuple[str, float]]) -> str:
    """docs/planted.md."""
    survive = [mutant.word for mutant, (what, _) in found.items() if what != "red"]
    noticed = sum(mutant.word in NOTICED_BEFORE for mutant in found)
    lines = [
        "# Errors planted in the mathematics", "",
        "Made by `make planted`. Each error changes one bound, schedule, sampler or route in a copy of the code, "
        "where `whyconv check` alone, without a test, decides the claims named; *red*: at least one verdict is "
        "no longer the recorded one. *Reported*: errors that a review had found to survive; *new*: written "
        "before the present claims. *Before*: what the claims noticed at commit d79ee18, the last one before "
        "they were made anew (the same errors, tried again there; five that concern all claims of Brutzkus & "
        "Globerson are as the review has them, and the two rates of Lahoti et al. were decided on rows kept "
        "for tests). Not every error can be seen: a bound that is merely weaker stays true.", "",
        f"Noticed: {len(found) - len(survive)} of {len(found)}, {noticed} before. "
        + (f"Not noticed: {'; '.join(survive)}." if survive else "None survives."), "",
        "| planted error | list | before | now | decided by |", "|---|---|---|---|---|",
    ]  # fmt: skip
    reported = {word for word, *_ in REPORTED}
    for mutant, (what, _) in found.items():
        part = "reported" if mutant.word in reported else "new"
        claims = ", ".join(f"`{name}`" for name in mutant.noticed_by.split())
        before = "red" if mutant.word in NOTICED_BEFORE else "survived"
        now = what if what == "red" else f"**{what}**"
        lines.append(f"| {mutant.word} | {part} | {before} | {now} | {claims} |")
    return "\n".join(lines) + "\n"


def chosen(words: list[str]) -> list[Mutant]:
    """All mutants, or those of the given numbers; *planted* stands for the errors of planted.py."""
    every = CHECKED if words[:1] == ["planted"] else TESTED if words else [*TESTED, *CHECKED]
    numbers = [int(word) for word in words if word != "planted"]
    return [every[number] for number in numbers] or every


if __name__ == "__main__":
    if sys.argv[1:] == ["page"]:
        outcome = tried(CHECKED)
        print(page({mutant: outcome[mutant] for mutant in CHECKED}), end="")
    else:
        sys.exit(main(chosen(sys.argv[1:])))
