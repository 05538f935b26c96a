"""Lahoti et al., lower bounds: which rotations of the data each network and optimiser does not notice.

An algorithm A is equivariant under a group of orthogonal maps U if A trained on U S predicts on U x what A
trained on S predicts on x, in law over its random start. Here k = 5 patches of d = 4, 200 examples, 200 steps
of the project's learner *projected* in double precision, projected to the unit ball, the threshold trained.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

from whyconv.claims import Claim, Instance
from whyconv.claims.seeds import draw_seeds, generator, offset
from whyconv.lazy import NDArray, jax, linalg, np
from whyconv.learners import Job
from whyconv.measure.intervals import median_interval
from whyconv.papers.lahoti.exact.oracle_descent import Network, descend, scores
from whyconv.papers.lahoti.exact.oracle_signal import draw
from whyconv.spec import build, once
from whyconv.tasks import Sample
from whyconv.verdict import Evidence, Verdict

if TYPE_CHECKING:
    from whyconv.measure.intervals import Interval

PATCHES, PATCH_DIM, SIGMA = 5, 4, 0.2
TRAINED, TESTED = 200, 1024
"""Examples to train on (of 256 rows; the others must not count) and to predict."""
STEPS, RATE, BIAS_RATE, BIAS = 200, 0.1, 0.01, 0.05
"""Steps, the rate of the weights (a fifth of it for Adam), that of the threshold, and the threshold's start.

CNN and LCN raise the threshold, FCNs lower it, some to 0.
"""
ROUNDS, MIXED = 24, 1e-3
"""Worlds in which runs are coupled; the angle of the control's rotation that mixes patches."""
STARTS = 40
"""Random starts on either side of a comparison of distributions."""
TRIES = 5
"""Starts that are tried for a run until one learns."""
EQUAL, DIFFERENT, SAME_ROUTE = 1e-10, 1e-5, 1e-9
"""Largest deviation called equal, least one called different, largest one between learner and NumPy."""

Kind = Literal["fcn", "lcn", "cnn"]


@dataclass(frozen=True)
class _World:
    """Training and test examples, (examples, k, d)."""

    x: NDArray
    y: NDArray
    seen: NDArray
    answers: NDArray

    def turned(self, matrix: NDArray) -> _World:
        """Every input x replaced by U x, U = ``matrix`` (k d, k d)."""
        turn = [(part.reshape(len(part), -1) @ matrix.T).reshape(part.shape) for part in (self.x, self.seen)]
        return _World(turn[0], self.y, turn[1], self.answers)


@dataclass(frozen=True)
class _Run:
    """One run: scores of the test inputs before and after, the weights' relative change, what came out."""

    before: NDArray
    scores: NDArray
    moved: float
    w: NDArray
    b: float

    def risk(self, answers: NDArray) -> float:
        """The mean of (y - f)^2 on the test inputs."""
        return float(((answers - self.scores) ** 2).mean())

    def alive(self, answers: NDArray) -> bool:
        """Whether it learned at all: weights moved, predictions vary, the risk fell."""
        fell = self.risk(answers) < 0.9 * float(((answers - self.before) ** 2).mean())
        return self.moved > 1e-2 and float(self.scores.std()) > 0.1 and fell


class Equivariance(Claim, name="lahoti.equivariance"):
    """GD cannot notice rotations: FCN any of O(kd), LCN O(d)^k, CNN a common O(d); Adam notices O(kd).

    LCN and CNN do not notice an exchange of patches either; Adam on an FCN is blind only to signed
    permutations. Proof by coupling: from the start W_0 U^T on data U x every step is the step from W_0 on x
    times U^T, and the start's law (Gaussian, scaled into the ball) is that of W_0 U^T. Check, for 24 worlds
    with rotations and starts of their own: the predictions of both runs differ by rounding only, but for
    Adam under O(kd) by far more in every world. A dead run (|z| < b everywhere) would pass, so every run
    must have moved, vary in its predictions and have lowered the risk. A start that does not learn is
    replaced by the next one drawn, before its twin is run; if five in a row do not, *undecided*. That CNN
    and LCN notice rotations outside their groups is shown by distributions, not by a coupling: medians of
    the test risk over 40 starts on rotated and on original data have disjoint intervals (medians, since a
    few starts stay behind). Second route: descent in NumPy.
    """

    reference: ClassVar[str] = "Lahoti et al., equivariant algorithms (coupling argument, ours)"
    provenance: ClassVar = "derived"
    expected: ClassVar[Verdict] = "holds"
    broken: ClassVar = {
        "adam": "Adam in place of gradient descent for the FCN under O(kd)",
        "mixed": "local rotations followed by one of 1/1000 radian that mixes two patches",
        "steps": "the twin takes one step less of the 200",
    }

    def decide(self, broken: str) -> Evidence:
        rounds = [_round(np.random.default_rng([3, seed]), broken) for seed in draw_seeds(ROUNDS)]
        cnn, lcn, gap = _beside(BIAS, RATE, offset())
        fcn, local, adam = (max(getattr(each, name) for each in rounds) for name in ("fcn", "local", "adam"))
        noticed = min(each.noticed for each in rounds)
        alive = all(each.alive for each in rounds)
        verdict: Verdict = "holds"
        if max(fcn, local, adam) > EQUAL or gap > SAME_ROUTE:
            verdict = "fails"
        elif not alive or noticed <= DIFFERENT or any(new.low <= old.high for old, new in (cnn, lcn)):
            verdict = "undecided"
        return Evidence(
            verdict,
            {
                "worlds, with a start and rotations each": len(rounds),
                "FCN under O(kd): predictions differ by": fcn,
                "LCN under O(d)^k, CNN under O(d), both under exchange": local,
                "FCN + Adam under signed permutations": adam,
                "FCN + Adam under O(kd), to differ, least": noticed,
                "starts that did not learn, replaced": sum(each.replaced for each in rounds),
                "CNN: median risk on data as they are": cnn[0],
                "CNN: median risk on data rotated by O(d)^k": cnn[1],
                "LCN: median risk on data as they are": lcn[0],
                "LCN: median risk on data rotated by O(kd)": lcn[1],
                "least relative change of the weights": min(each.moved for each in rounds),
                "NumPy's descent and the learner's differ by": gap,
            },
        )

    def stress(self, seed: int) -> Mapping[str, Instance]:
        """A world that no check draws, with its rotations and starts."""
        world = _round(np.random.default_rng([3, 10**9 + seed]), "")
        if not world.alive:  # nothing was learned that rotations could change
            return {}
        pairs = {
            "FCN under O(kd): predictions apart": world.fcn,
            "LCN and CNN under their groups: predictions apart": world.local,
            "FCN + Adam under signed permutations: predictions apart": world.adam,
        }
        found = {name: Instance(apart / EQUAL, {"world": seed}) for name, apart in pairs.items()}
        noticed = Instance(DIFFERENT / max(world.noticed, EQUAL), {"world": seed})
        return {f"{name} / rounding": case for name, case in found.items()} | {
            "least called different / FCN + Adam under O(kd)": noticed
        }


@once
def _beside(
    bias: float, rate: float, moved: int
) -> tuple[tuple[Interval, Interval], tuple[Interval, Interval], float]:
    """What no control changes: risks on original and rotated data of CNN and LCN; the gap to NumPy's descent.

    ``bias``, ``rate`` and how far seeds are ``moved`` are those in force, for the cache alone.
    """
    del bias, rate, moved
    world, _, own, every = _drawn(generator(3))
    gap = max(_by_numpy(kind, world) for kind in ("fcn", "lcn", "cnn"))
    return _laws("cnn", world, own), _laws("lcn", world, every), gap


class _Round(NamedTuple):
    """One world: how far the predictions of coupled runs are apart, by network; whether all runs learned.

    ``replaced``: starts that did not.
    """

    fcn: float
    local: float
    adam: float
    noticed: float
    moved: float
    alive: bool
    replaced: int


def _drawn(rng: Any) -> tuple[_World, NDArray, NDArray, NDArray]:
    """A world; a rotation common to its patches, one of its own for each, and one of the whole input."""
    world, d, k = _world(rng), PATCH_DIM, PATCHES
    own = linalg.block_diag(*(_orthogonal(rng, d) for _ in range(k)))
    return world, np.kron(np.eye(k), _orthogonal(rng, d)), own, _orthogonal(rng, k * d)


def _round(rng: Any, broken: str) -> _Round:
    """Coupled runs in one world; ``broken`` as in :class:`Equivariance`."""
    world, common, own, every = _drawn(rng)
    d, k = PATCH_DIM, PATCHES
    exchange = np.kron(np.eye(k)[rng.permutation(k)], np.eye(d))
    signed = np.eye(k * d)[rng.permutation(k * d)] * rng.choice([-1.0, 1.0], k * d)
    if broken == "mixed":
        common, own = _mixing(MIXED) @ common, _mixing(MIXED) @ own
    runs: list[_Run] = []
    tried = 0

    def apart(kind: Kind, optimiser: str, *matrices: NDArray) -> float:
        nonlocal tried
        size = RATE if optimiser == "gd" else RATE / 5
        start, plain = _learning(kind, world, optimiser, size, rng)
        tried += len(plain)
        runs.append(plain[-1])
        steps = STEPS - (broken == "steps")
        twins = [
            _train(kind, _coupled(kind, start, turn), world.turned(turn), optimiser, size, steps)
            for turn in matrices
        ]
        return max(float(np.abs(plain[-1].scores - twin.scores).max()) for twin in twins)

    fcn = apart("fcn", "adam" if broken == "adam" else "gd", every)
    local = max(apart("lcn", "gd", own, exchange), apart("cnn", "gd", common, exchange))
    adam, noticed = apart("fcn", "adam", signed), apart("fcn", "adam", every)
    alive = all(run.alive(world.answers) for run in runs)
    return _Round(fcn, local, adam, noticed, min(run.moved for run in runs), alive, tried - len(runs))


def _mixing(angle: float) -> NDArray:
    """The rotation by ``angle`` in the plane of the first coordinates of the first two patches."""
    matrix = np.eye(PATCHES * PATCH_DIM)
    plane = np.ix_((0, PATCH_DIM), (0, PATCH_DIM))
    matrix[plane] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
    return matrix


def _world(rng: Any) -> _World:
    """One signal, examples to train on and to test."""
    signal = rng.standard_normal(PATCH_DIM)
    signal /= np.linalg.norm(signal)
    x, y = draw(signal, PATCHES, SIGMA, TRAINED, rng)
    return _World(x, y, *draw(signal, PATCHES, SIGMA, TESTED, rng))


def _orthogonal(rng: Any, size: int) -> NDArray:
    """A random orthogonal matrix, uniform."""
    q, r = np.linalg.qr(rng.standard_normal((size, size)))
    return q * np.sign(np.diag(r))


def _start(kind: Kind, rng: Any) -> NDArray:
    """Gaussian filters of length about 1, scaled into the ball: FCN (k, k d), LCN (k, d), CNN (d,)."""
    k, d = PATCHES, PATCH_DIM
    shape = {"fcn": (k, k * d), "lcn": (k, d), "cnn": (d,)}[kind]
    w = rng.standard_normal(shape) / shape[-1] ** 0.5
    return w / np.maximum(1.0, np.linalg.norm(w, axis=-1, keepdims=True))


def _coupled(kind: Kind, w: NDArray, matrix: NDArray) -> NDArray:
    """W U^T; of local filters, the one that ends up in each patch."""
    k, d = PATCHES, PATCH_DIM
    if kind == "fcn":
        return w @ matrix.T
    spread = np.zeros((k, k, d))
    spread[np.arange(k), np.arange(k)] = w
    turned = (spread.reshape(k, k * d) @ matrix.T).sum(axis=0).reshape(k, d)
    return turned[0] if kind == "cnn" else turned


def _train(
    kind: Kind, start: NDArray, world: _World, optimiser: str, rate: float, steps: int = STEPS
) -> _Run:
    """The project's learner from a given start."""
    k, d = PATCHES, PATCH_DIM
    shape = {"fcn": (1, k, k * d), "lcn": (k, 1, d), "cnn": (1, 1, d)}[kind]
    settings = {"rates": (rate,), "bias_rates": (BIAS_RATE,), "steps": steps}
    learner = build("learner", {"name": "projected", "optimiser": optimiser, **settings})
    padded = np.ones((256, k, d)), np.ones(256)
    padded[0][:TRAINED], padded[1][:TRAINED] = world.x, world.y
    with jax.enable_x64(True):
        key = jax.random.key(0)
        sample = Sample(*(jax.numpy.asarray(part) for part in padded))
        job = Job(build("network", f"lsa-{kind}"), sample, TRAINED, key, key)
        first = {"w": jax.numpy.asarray(start.reshape(shape)), "b": jax.numpy.asarray(BIAS, float)}
        state = learner.begin(job, first)
        seen = jax.numpy.asarray(world.seen)
        before = learner.finish(job, state).scores(seen)
        while learner.progress(state) < 1:
            state = learner.advance(job, state, STEPS)
        fit = learner.finish(job, state)
        scores = fit.scores(seen)
        w, b = np.asarray(fit.params["w"]).reshape(start.shape), float(fit.params["b"])
    moved = float(np.linalg.norm(w - start) / np.linalg.norm(start))
    return _Run(before, scores, moved, w, b)


def _learning(kind: Kind, world: _World, optimiser: str, rate: float, rng: Any) -> tuple[NDArray, list[_Run]]:
    """The first start of ``TRIES`` that learns, or else the last, and the runs until then."""
    runs: list[_Run] = []
    while True:
        start = _start(kind, rng)
        runs.append(_train(kind, start, world, optimiser, rate))
        if len(runs) == TRIES or runs[-1].alive(world.answers):
            return start, runs


def _laws(kind: Kind, world: _World, matrix: NDArray) -> tuple[Interval, Interval]:
    """Test risks over starts on the original and on the rotated data."""
    found = []
    for data in (world, world.turned(matrix)):
        rng = generator(5)
        trained = [_train(kind, _start(kind, rng), data, "gd", RATE) for _ in range(STARTS)]
        found.append(median_interval(run.risk(data.answers) for run in trained))
    return found[0], found[1]


def _by_numpy(kind: Kind, world: _World) -> float:
    """How far the learner's weights, threshold and predictions are from those of a descent in NumPy."""
    start = _start(kind, generator(1))
    ours = _train(kind, start, world, "gd", RATE)
    plain = descend(Network(start, BIAS), world.x, world.y, RATE, BIAS_RATE, STEPS)
    gaps = [ours.w - plain.w, np.array([ours.b - plain.b]), ours.scores - scores(plain, world.seen)]
    return max(float(np.abs(part).max()) for part in gaps)
