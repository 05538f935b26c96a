"""Breaks the code on purpose, one place at a time, and expects a test to turn red.

    make mutants        (or: python tests/mutants.py 3 7   for some of them)

Works on a copy, so the checkout is left alone. Not part of ``make test``: it takes minutes.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
N, L, S, T = "tests/networks", "tests/learners", "tests/studies", "tests/tasks"
GRID, DEEP = f"{T}/test_digit_grid.py", f"{N}/test_deep.py"
STORE, STRANGERS, REPAIR = (
    f"tests/runner/test_runner_{name}.py" for name in ("store", "strangers", "repair")
)
MARGINS = "tests/exact/test_margin_proofs.py"

MUTANTS = [
    # file below src/whyconv, what stands there, what to put, the tests that must notice
    ("networks/pooling.py", "wins = score > best", "wins = score < best", "tests/networks"),
    ("networks/pooling.py", "winner == index", "winner == index + 1", "tests/networks"),
    ("networks/pooling.py", "self.windows(shape)[1] + 1)", "self.windows(shape)[1])", "tests/networks"),
    ("networks/dense.py", "(2 / inputs) ** 0.5", "(1 / inputs) ** 0.5", "tests/test_golden_rows.py"),
    ("tasks/detection.py", "jnp.where(positive, 0, 1))", "jnp.where(positive, 1, 0))", "tests/tasks"),
    ("tasks/detection.py", "words[1] % positions", "words[1] % (positions - 1)", "tests/tasks"),
    ("tasks/detection.py", "** (1 / self.pattern_dim)", "** (1 / (self.pattern_dim + 1))", "tests/tasks"),
    ("tasks/detection.py", "surjections(draws, size)", "surjections(draws + 1, size)", "tests/tasks"),
    ("learners/_training.py", "jax.nn.softplus(-y * f)", "jax.nn.softplus(y * f)", "tests/learners"),
    ("learners/_training.py", "look & (loss <= self.learner.tolerance)", "look", "tests/learners"),
    ("learners/_training.py", "inside / inside.sum()", "inside / size", "tests/learners"),
    ("learners/layerwise.py", "(self.first_steps + 1)", "self.first_steps", "tests/learners"),
    ("learners/layerwise.py", "half = -(-job.m // 2)", "half = job.m // 2", "tests/learners"),
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
    ("runner/store.py", "if _place(self.folder) != self._place", "if False", "tests/runner"),
    ("runner/opened.py", "digest not in given", "False", STRANGERS),
    ("runner/export.py", "cell.startswith(FORMULA)", "cell.startswith('=')", STRANGERS),
    ("runner/folder.py", "    if not good:", "    if False:", STRANGERS),
    ("runner/recompute.py", "to_json(then.get(name)) != to_json(now.get(name))", "False", "tests/runner"),
    ("runner/environment.py", '"blas": _kernels()', '"blas": {}', STRANGERS),
    ("settings.py", 'if path != "seeds"', "if False", STRANGERS),
    ("execution.py", "(scores > 0, 1, -1)", "(scores >= 0, 1, -1)", "tests/test_execution.py"),
    ("streams.py", "lineage(), trial.seed", "lineage(), 0", "tests/test_golden_rows.py"),
    ("streams.py", 'stream("batches", seed)', 'stream("batches", network, seed)', "tests/learners"),
    ("measure/intervals.py", "/ math.sqrt(", "/ (", "tests/measure"),
    ("studies/grid.py", "interval.low > threshold", "interval.high > threshold", "tests/studies"),
    ("papers/brutzkus/studies/fig4.py", "rise(arm) / 2", "rise(arm) * 2", "tests/papers/brutzkus"),
    ("exact/pattern_sets.py", "(-1) ** (target - j)", "(-1) ** j", "tests/exact"),
    ("papers/brutzkus/exact/lucky_filters.py", "2 * (patterns - 1)", "2 * patterns", "tests/papers/brutzkus"),
    ("tasks/bits.py", "jnp.arange(self.k_window)[::-1]", "jnp.arange(self.k_window)", "tests/tasks"),
    ("tasks/bits.py", "self.position - 1", "self.position", "tests/tasks"),
    ("tasks/bits.py", "(1 + self.mean) / 2).astype", "(1 - self.mean) / 2).astype", "tests/tasks"),
    ("networks/window.py", "// self.step + 1", "// self.step", "tests/networks"),
    ("networks/window.py", "1 / k - 1", "1 / k + 1", "tests/networks"),
    ("networks/window.py", "(windows) // self.group_size", "(windows) % self.group_size", "tests/networks"),
    ("networks/tables.py", "gzs\", grad, u)", "gzs\", grad, u * counts[:, None])", "tests/networks"),
    ("networks/tables.py", "u * counts[:, None], table", "u, table", "tests/networks"),
    ("networks/tables.py", "before = i * self", "before = (i + 1) % self.block * self", "tests/networks"),
    ("networks/tables.py", "(span - 1 - t)", "t", "tests/networks"),
    ("networks/embedding.py", '["u"].reshape(1, -1)', '["u"].T.reshape(1, -1)', "tests/networks"),
    ("learners/_training.py", "jnp.where(y * f < 1,", "jnp.where(y * f <= 1,", "tests/learners"),
    ("learners/_training.py", "(data.x, data.y, data.m,", "(data.x, data.y, data.m - 1,", "tests/learners"),
    ("learners/order_search.py", "loss <= state.loss", "loss >= state.loss", "tests/learners"),
    ("studies/tuned.py", "return missed, steps, round", "return steps, missed, round", "tests/studies"),
    ("papers/malach/studies/separation.py", "error.low > CHANCE", "error.high > CHANCE", "tests/papers/malach"),
    ("papers/malach/exact/window_descent.py", "by_readout = pull @", "by_readout = copies * pull @", "tests/papers/malach"),
    ("exact/fourier/trapezoid.py", "[orders % 4]", "[(orders + 1) % 4]", "tests/exact"),
    ("papers/malach/exact/k_patterns.py", "return n_bits - k_window + 1", "return n_bits - k_window", "tests/papers/malach"),
    ("papers/malach/exact/initial_gradient.py", "k_window + 1) * below", "k_window) * below", "tests/papers/malach"),
    ("networks/threshold.py", "beyond = jnp.abs(z) >", "beyond = jnp.abs(z) >=", f"{N}/test_threshold.py"),
    ("networks/threshold.py", "keepdims=True), 1.0)", "keepdims=True), 2.0)", f"{N}/test_threshold.py"),
    ("networks/threshold.py", "(blocks) // self.group_size", "(blocks) % self.group_size",
     f"{N}/test_threshold.py"),
    ("learners/projected.py", "bias_rate if bias else rate", "rate", f"{L}/test_projected.py"),
    ("learners/projected.py", "(count) < data.m", "(count) <= data.m", f"{L}/test_projected.py"),
    ("learners/two_step.py", "(job.m - half, job.m)", "(0, half)", f"{L}/test_projected.py"),
    ("execution.py", 'keys["validation"], trial', 'keys["test"], trial', "tests/test_risk_rows.py"),
    ("execution.py", "if isinstance(leaf, jax.Array) else array", "", "tests/learners/test_gradient.py"),
    ("execution.py", "steps / max(seconds", "steps * max(seconds", "tests/learners/test_gradient.py"),
    ("tasks/detection.py", "not isinstance(view, RowSet) or", "", "tests/tasks/test_detection.py"),
    ("execution.py", "int(np.argmin([risk", "int(np.argmax([risk", "tests/test_risk_rows.py"),
    ("studies/complexity.py", "or len(found) < len(new)", "or not found", "tests/papers/lahoti/test_lahoti_judging.py"),
    ("studies/complexity.py", '== "ok" else inf', '== "ok" else 0.0', "tests/papers/lahoti/test_lahoti_judging.py"),
    ("studies/complexity.py", "<= TELLING * known", "<= known", "tests/papers/lahoti/test_lahoti_judging.py"),
    ("papers/lahoti/studies/signal_study.py", "([1, -1, -1, 1]", "([1, -1, 1, -1]", "tests/papers/lahoti/test_lahoti_judging.py"),
    ("spec.py", "!= _default(field)", "== _default(field)", "tests/runner/test_runner_identity.py"),
    ("tasks/_image_task.py", "(self.shift, 0), (0, 0)))", "(self.shift + 1, 0), (0, 0)))", T),
    ("tasks/_image_task.py", "if self.permuted:", "if not self.permuted:", GRID),
    ("tasks/digit_grid.py", "jnp.where(positive, 1, -1)", "jnp.where(positive, -1, 1)", GRID),
    ("tasks/digit_grid.py", "lots[:, 1] % self.side**2", "lots[:, 1] % self.side", GRID),
    ("tasks/sequence.py", "(self.digits - self.counted) // 2", "0", f"{T}/test_sequence.py"),
    ("tasks/sequence.py", "epoch if self.reshuffled else 0", "0", f"{T}/test_sequence.py"),
    ("tasks/sequence.py", "(1 - 2 * (labels", "(2 * (labels", f"{T}/test_sequence.py"),
    ("tasks/images/files.py", "if md5(data) != file.md5:", "if False:", f"{T}/images"),
    ("tasks/images/files.py", "if found[0] != file.items:", "if False:", f"{T}/images"),
    ("pixels.py", "rows, columns, colours).swapaxes(-4, -3)", "rows, columns, colours)", GRID),
    ("networks/dense.py", "w = w[grid_order(shape)]", "w = w[::-1]", f"{L}/test_streaming.py"),
    ("networks/deep.py", "2 / inputs[i]", "1 / inputs[i]", DEEP),
    ("networks/deep.py", "[:, pixel_order(shape)]", "[:, ::-1]", DEEP),
    ("networks/_patches.py", "kernel - size, 0) // 2, count", "kernel - size, 0), count", DEEP),
    ("networks/_patches.py", "- self.before[axis]", "+ self.before[axis]", DEEP),
    ("networks/deep_embedding.py", "u / positions, positions", "u, positions", N),
    ("learners/_adadelta.py", "(1 - rho) * r * g * g", "(1 - rho) * g * g", f"{L}/test_adadelta.py"),
    ("exact/margins/margin_path.py", "- s * moved) @ moved)", "+ s * moved) @ moved)", "tests/exact"),
    ("api.py", '"undecided", "error")', '"undecided")', "tests/test_api.py"),
    ("api.py", "not isinstance(found, Evidence) or", "", "tests/test_api.py"),
    ("exact/margins/max_margin.py", "/ proof.lower - 1) <= GAP", "/ proof.lower - 1) <= 1e-2", MARGINS),
    ("exact/margins/max_margin.py", "proof.length <= VANISHES", "proof.length <= 1", MARGINS),
    ("exact/margins/max_margin.py", "- self._error[1] *", "+ self._error[1] *", MARGINS),
    ("exact/margins/max_margin.py", "+ self._error[0] *", "- self._error[0] *", MARGINS),
    ("exact/margins/max_margin.py", "np.maximum(multipliers, 0.0))", "multipliers)", MARGINS),
    ("exact/margins/margin_routes.py", "for patient in (False, True)", "for patient in (False,)", MARGINS),
    ("exact/margins/margin_routes.py", "pair = vector, multipliers / sides", "pair = vector, multipliers", MARGINS),
    ("exact/margins/margin_routes.py", "(exact, np.zeros_like(exact))", "(exact,)", MARGINS),
    ("learners/margin.py", "<= NO_SCORE * possible, 0.0", "<= -1.0, 0.0", f"{L}/test_margin.py"),
    ("learners/__init__.py", "value <= value.dtype.type(limit)", "float(value) <= limit",
     f"{L}/test_steps_to_target.py"),
    ("learners/margin.py", "if unknown.separable:", "if not unknown.separable:", f"{L}/test_margin.py"),
    ("measure/locality.py", "width**2 - 2) / 6", "width**2) / 6", "tests/measure"),
    ("studies/complexity.py", "of - slack, of + slack", "of - slack, of + 2 * slack", S),
    ("studies/worth.py", "ratio(more, less)", "ratio(less, more)", "tests/papers/lahoti/test_lahoti_cifar.py"),
    ("papers/malach/studies/fig1.py", "AHEAD = 0.05", "AHEAD = 0.0", "tests/papers/malach/test_malach_fig1.py"),
    ("papers/malach/studies/fig1.py", "HARM = 0.03", "HARM = 0.3", "tests/papers/malach/test_malach_fig1.py"),
    ("papers/brutzkus/studies/fig3c.py", "(0.5, f", "(1.0, f", "tests/papers/brutzkus/test_brutzkus_fig3c.py"),
    ("papers/malach/studies/sequence_study.py", "coupled=arm == FCN", "coupled=False", "tests/papers/malach/test_malach_sequences.py"),
]  # fmt: skip


def main(numbers: list[int]) -> int:
    """Try the mutants; the exit code is the number of survivors."""
    survivors = 0
    with tempfile.TemporaryDirectory() as place:
        copy = Path(place) / "copy"
        shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(".venv", ".git", "whyconv-runs", "build"))
        environment = {**os.environ, "PYTHONPATH": str(copy / "src")}
        for number in numbers:
            name, old, new, tests = MUTANTS[number]
            file = copy / "src" / "whyconv" / name
            text = file.read_text()
            if old not in text:
                print(f"{number:3} {name}: {old!r} is not there any more; mend this list")
                survivors += 1
                continue
            file.write_text(text.replace(old, new))
            command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", tests]
            red = subprocess.run(
                command, cwd=copy, env=environment, capture_output=True, check=False
            ).returncode
            file.write_text(text)
            survivors += not red
            print(f"{number:3} {name}: {old!r} -> {new!r}: {'red' if red else 'SURVIVED'}", flush=True)
    print(f"{len(numbers) - survivors} of {len(numbers)} mutants turned a test red")
    return survivors


if __name__ == "__main__":
    sys.exit(main([int(word) for word in sys.argv[1:]] or list(range(len(MUTANTS)))))
