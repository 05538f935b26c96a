"""Data whose answer is known, to audit the audit: how often is it right, wrong, undecided?

A series x of ``length`` steps is standard normal noise; y is -1 or +1, each half of the time.

- *shift*: one of two patterns p_y, with a random sign, is added at a random place. A filter found anywhere
  serves everywhere: locality, sharing and pooling save.
- *local*: one pattern, with a random sign, at a fixed place or two steps after it: y decides. Locality saves;
  other places say nothing, so sharing does not save; the maximum over places forgets the place, so pooling
  costs.
- *dense*: y = sign((u.x) (v.x)) for two random directions u, v: no window sees either. Locality costs.
- *bag*: every step is a point on a plane (two channels), and one of a class of points occurs somewhere: y
  decides which. The order says nothing.
- *noise*: y is independent of x. Nothing beats the majority, nothing is judged.
- *bump*: y = +1 has half a wave of a sine at a random place, y = -1 has none: the order says something, and
  what tells is the largest of all windows.
"""

from __future__ import annotations

from whyconv.auditing.dataset import Dataset
from whyconv.lazy import np

KINDS = ("shift", "local", "dense", "bag", "noise", "bump")
STRENGTH = {"shift": 2.0, "local": 1.2, "bump": 1.2}
"""The pattern's root mean square at its steps."""


def planted(kind: str, examples: int, length: int, window: int, seed: int) -> Dataset:
    """A data set of this kind; patterns and directions are drawn by the seed, too."""
    chance = np.random.default_rng([seed, KINDS.index(kind), examples, length, window])
    y = chance.permutation(np.arange(examples) % 2)
    x = chance.standard_normal((examples, 1, length, 2 if kind == "bag" else 1))
    rows = np.arange(examples)
    if kind in ("shift", "local"):
        patterns = chance.standard_normal((2, window))
        patterns -= patterns.mean(axis=1, keepdims=True)
        patterns *= STRENGTH[kind] / np.sqrt((patterns**2).mean(axis=1, keepdims=True))
        if kind == "shift":
            first = chance.integers(length - window + 1, size=examples)
        else:
            first = chance.integers(length - window - 1) + 2 * y
            patterns[1] = patterns[0]
        steps = first[:, None] + np.arange(window)
        x[rows[:, None], 0, steps, 0] += chance.choice([-1.0, 1.0], size=(examples, 1)) * patterns[y]
    elif kind == "dense":
        u, v = np.linalg.qr(chance.standard_normal((length, 2)))[0].T
        flat = x[:, 0, :, 0]
        a, b = flat @ u, flat @ v
        wanted = np.where(y == 1, 1.0, -1.0)
        flat += np.outer(np.sign(a) * 0.7, u) + np.outer(np.sign(b) * 0.7, v)
        flip = np.sign(a * b) != wanted
        flat[flip] -= 2 * np.outer((flat @ u)[flip], u)
    elif kind == "bump":
        wave = np.sin(np.pi * (np.arange(window) + 0.5) / window)
        wave *= STRENGTH[kind] / np.sqrt((wave**2).mean())
        first = chance.integers(length - window + 1, size=examples)
        x[rows[:, None], 0, first[:, None] + np.arange(window), 0] += y[:, None] * wave
    elif kind == "bag":
        angle = chance.uniform(0, 2 * np.pi)
        centres = 3.2 * np.array([[np.cos(angle + t), np.sin(angle + t)] for t in (0.0, 2.1)])
        places = np.argsort(chance.random((examples, length)), axis=1)[:, :2]
        x[rows[:, None], 0, places] = centres[y][:, None] + 0.5 * chance.standard_normal((examples, 2, 2))
    return Dataset(f"{kind}", x.astype(np.float32), y.astype(np.int64), ("no", "yes"), "series")
