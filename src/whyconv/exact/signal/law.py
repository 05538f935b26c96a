"""The law of signals among noise (Lahoti et al. 2024, and its variations) as plain numbers, for NumPy.

The paper's full text was not available; the model is reconstructed from its abstract, a summary and the
authors' own notes. An input has k patches of d coordinates. Patch i holds noise sigma_i eps_i alone, or noise
and s times its signal u_i, s = +1 or -1, |u_i| = 1, the signal possibly rolled. The *scene* says which
patches hold a signal, how it is rolled and with which signs; given the scene patches are independent.
"""

from __future__ import annotations

from dataclasses import dataclass

from whyconv import registry
from whyconv.lazy import Floats, NDArray, np


@dataclass(frozen=True)
class SignalLaw:
    """The law of :class:`whyconv.tasks.signal.Signal` given its world (before any rotation).

    ``table[rho, i]`` = the signal u_i of patch i, rolled by rho; all rolls are equally likely, and
    independent between holders. ``sigmas[i]`` = sigma_i; ``live[i, j]``: whether coordinate j of patch i has
    noise. ``place`` = the only holder, from 1, or None for ``signals`` different random ones with the same
    sign y. With ``product`` two different random patches have independent signs, and y is their product.
    Without ``noisy_signal`` the holders have no noise.
    """

    table: Floats
    sigmas: Floats
    live: NDArray[np.bool_]
    noise_law: str = "gaussian"
    noisy_signal: bool = True
    place: int | None = None
    signals: int = 1
    product: bool = False

    @property
    def patches(self) -> int:
        """k."""
        return self.table.shape[1]

    @property
    def holders(self) -> int:
        return 2 if self.product else self.signals

    @property
    def share(self) -> Floats:
        """P(patch i holds a signal): r/k for r holders; 1 or 0 if the place is fixed."""
        if self.place is not None:
            return (np.arange(1, self.patches + 1) == self.place).astype(float)
        return np.full(self.patches, self.holders / self.patches)

    @property
    def pair(self) -> float:
        """E[s_i s_j] for i != j, with s = 0 without a signal: r(r-1) / (k(k-1)); 0 for a product."""
        if self.product or self.signals == 1:
            return 0.0
        return self.signals * (self.signals - 1) / (self.patches * (self.patches - 1))


def simulate(law: SignalLaw, count: int, seed: int) -> tuple[Floats, NDArray[np.int64]]:
    """Inputs (count, k, d) and labels, drawn with NumPy independently of the task's sampler."""
    rng = np.random.default_rng(seed)
    rolls, patches, dim = law.table.shape
    first, second = rng.choice([-1, 1], (2, count))
    if law.place is not None:
        seats = np.full((count, 1), law.place - 1)
    else:
        seats = np.argsort(rng.random((count, patches)), axis=1)[:, : law.holders]
    signs = np.stack([first, second], axis=1) if law.product else np.repeat(first[:, None], law.holders, 1)
    held = np.zeros((count, patches))
    np.put_along_axis(held, seats, signs, axis=1)
    size = (count, patches, dim)
    named = registry.find("noise law", law.noise_law)
    draw = named.companions["draw"]
    noise = draw(rng, size) if draw else np.asarray(named.function(rng.uniform(-1, 1, size)), float)
    noise = noise * law.sigmas[:, None] * law.live
    if not law.noisy_signal:
        noise = noise * (held == 0)[..., None]
    means = law.table[rng.integers(rolls, size=(count, patches)), np.arange(patches)]
    return noise + held[..., None] * means, first * second if law.product else first
