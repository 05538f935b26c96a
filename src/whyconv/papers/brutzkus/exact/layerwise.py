"""One run of LW_CNN for the claims: the sample, the start, and both first-layer trajectories."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property

from whyconv.exact import pattern_sets
from whyconv.lazy import Flags, Floats, Ints, np
from whyconv.papers.brutzkus.exact import bounds, first_layer, max_pooling


@dataclass(frozen=True)
class Run:
    """S_1 and S_2 as pattern indices with labels, the start, and lazily the two trajectories.

    ``filters`` comes from vectors in a random orthonormal basis, ``scores`` from pattern sets; they share
    the start and the sample, but no code. ``disagreement`` is their largest distance, in units of eta_1.
    """

    positions: int
    schedule: first_layer.Schedule
    basis: Floats
    first: tuple[Ints, Ints]
    second: tuple[Ints, Ints]
    start: Floats
    readout: Floats
    copies: Floats | float = 1.0
    """How many equal filters each one stands for."""

    @property
    def patterns(self) -> int:
        """l, the number of patterns."""
        return len(self.basis)

    @property
    def pattern_dim(self) -> int:
        """d, the dimension of the patterns."""
        return self.basis.shape[1]

    @property
    def inputs(self) -> Floats:
        """S_1 as vectors."""
        return max_pooling.embed(self.first[0], self.basis)

    @cached_property
    def filters(self) -> Floats:
        """W^(t), t = 0..T_1, on vectors; shape (steps + 1, channels, pattern_dim)."""
        return first_layer.descend_on_inputs(
            self.inputs, self.first[1], self.start, self.readout, self.schedule, self.copies
        )

    @cached_property
    def scores(self) -> Floats:
        """W^(t) O^T, t = 0..T_1, on pattern sets; shape (steps + 1, channels, patterns)."""
        counts = pattern_sets.count(*self.first, self.patterns)
        return first_layer.descend_on_sets(
            counts, self.start @ self.basis.T, self.readout, self.schedule, self.copies
        )

    @cached_property
    def lucky(self) -> tuple[Flags, Flags]:
        """Masks of the positively and the negatively lucky filters at the start."""
        return first_layer.lucky(self.start @ self.basis.T, self.readout)

    @property
    def disagreement(self) -> float:
        """max |filters O^T - scores| / eta_1 over all steps, channels and patterns."""
        return float(np.abs(self.filters @ self.basis.T - self.scores).max() / self.schedule.step)

    @property
    def class_share(self) -> float:
        """The smaller of |S_1^+| / m_1 and |S_1^-| / m_1; Eq. 14 requires a third."""
        return float(min(np.mean(self.first[1] == 1), np.mean(self.first[1] == -1)))


@cache
def run(
    pattern_dim: int,
    patterns: int,
    positions: int,
    *,
    half: int = 60,
    steps: int = 20,
    seed: int = 0,
    step_factor: float = 1.0,
    radius_factor: float = 1.0,
    positive_share: float | None = None,
) -> Run:
    """A run at the largest step and radius that Theorem 5.1 allows, times the two factors.

    ``half`` = |S_1| = |S_2|, ``steps`` = T_1. ``positive_share`` fixes the share of positive examples in
    S_1 instead of drawing labels. The draws do not depend on the two factors, so a run that breaks the
    theorem's conditions differs from the original in nothing else.
    """
    rng = np.random.default_rng([seed, pattern_dim, patterns, positions])
    theorem = first_layer.Schedule.of_theorem(pattern_dim, steps)
    step = theorem.step * step_factor
    radius = bounds.largest_radius(step) * radius_factor
    schedule = first_layer.Schedule(theorem.channels, steps, step, radius)
    basis = max_pooling.random_patterns(rng, patterns, pattern_dim)
    start, readout = first_layer.initial(rng, schedule, pattern_dim)
    second = max_pooling.sample(rng, half, positions, patterns)
    if positive_share is None:
        first = max_pooling.sample(rng, half, positions, patterns)
    else:
        labels = np.where(np.arange(half) < positive_share * half, 1, -1)
        first = max_pooling.sample_given(rng, labels, positions, patterns), labels
    return Run(positions, schedule, basis, first, second, start, readout)


def support_rows(scores: Floats, positions: int) -> Floats:
    """y z(x) for every pattern set of positive probability, which a readout must separate on all of D."""
    possible = pattern_sets.law(positions, scores.shape[1]) > 0
    positive, negative = pattern_sets.features(scores)[:, possible]
    return np.concatenate([positive, -negative])
