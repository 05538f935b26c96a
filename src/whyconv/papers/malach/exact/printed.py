"""Every bound, condition and constant that Malach & Shalev-Shwartz print, in exact arithmetic.

Transcribed from the text of the paper alone, as a second source beside the other modules of this folder,
from which nothing is imported. There are two versions of the paper: the *first* one, with the appendix, and
the *later* one, without. A formula without a version is printed alike in both.

Symbols: ``n`` bits, windows of ``k`` bits, ``q`` filters or neurons, ``c`` ≥ |σ|, ``T`` steps of rate
``eta``, ``delta`` the probability of failure, ``epsilon`` the accuracy. Roots that are not rational raise a
ValueError. What is printed without a constant, O(...), is the expression inside.

Section 3.1 (locally connected networks) prints no bound: "Theorem 4 can be modified in order to show a
similar positive result". Its Definition 11 numbers the kernels W^(1), ..., W^(q) and biases likewise, where
its sum needs one of each per window.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import comb

from whyconv.exact.irrational import Exponential, Logarithm, Rational, root

# Section 2: the network, and the start of Theorem 4 and Lemma 6


def windows(n: int, k: int) -> int:
    """n - k: the last j of the sum over windows in Definitions 1 and 11, Lemmas 6, 8, 9 and the proofs.

    There are n - k + 1 windows of k of n bits, so the last one is left out as printed. Definitions 1 and 11
    give the readout n vectors, u^(1), ..., u^(n).
    """
    return n - k


def window_length_first(k: int) -> int:
    """k + 1: the length of x_{j...j+k}, as the first version writes windows (Definitions 1, 3, 11).

    W has k columns, so k is meant; the later version prints k.
    """
    return k + 1


def window_length_later(k: int) -> int:
    """k: the length of x_{j...j+k-1}, as the later version writes windows (Definitions 1, 3, 11)."""
    return k


def initial_weights(k: int) -> tuple[Fraction, Fraction]:
    """{±1/k}: the values of a weight of W^(0), drawn uniformly (Theorem 4, Lemma 6)."""
    return -Fraction(1, k), Fraction(1, k)


def initial_bias(k: int) -> Fraction:
    """b_i = 1/k - 1 (Theorem 4, Lemma 6)."""
    return Fraction(1, k) - 1


INITIAL_READOUT = 0
"""u^(0,j) = 0 for every j (Theorem 4)."""

LARGEST_SLOPE = 1
"""|σ'| ≤ 1 (Theorems 4 and 12)."""


# Lemma 6


def lemma_6_channels(k: int, delta: Rational) -> Logarithm:
    """2^{k+3} log(2^k/δ): Lemma 6 needs q above it. By the proof's Chernoff bound, log is natural."""
    return Logarithm(2 ** (k + 3), 2**k / Fraction(delta))


def lemma_6_norm(k: int, q: Rational) -> Fraction:
    """2^{k+1} k/√q ≥ ‖u*^(j*)‖ (Lemma 6); the other u*^(j) are 0."""
    return 2 ** (k + 1) * k / root(q)


def lemma_6_norm_squared(k: int, q: Rational) -> Fraction:
    """4 (2^k k)²/q ≥ ‖u*^(j*)‖² (last line of the proof of Lemma 6)."""
    return Fraction(4 * (2**k * k) ** 2) / q


def lemma_6_sign_chance(k: int) -> Fraction:
    """P[sign w^(i) = z] = 2^{-k} (proof of Lemma 6)."""
    return Fraction(1, 2**k)


def lemma_6_mean_copies(k: int, q: Rational) -> Fraction:
    """E|J_z| = q 2^{-k}, J_z the filters whose signs are z (proof of Lemma 6)."""
    return Fraction(q) / 2**k


def lemma_6_fewest_copies(k: int, q: Rational) -> Fraction:
    """q 2^{-k-1} ≤ |J_z| for every z, with probability at least 1 - δ (proof of Lemma 6)."""
    return Fraction(q) / 2 ** (k + 1)


def lemma_6_chernoff(k: int, q: Rational) -> Exponential:
    """e^{-q 2^{-k}/8} ≥ P[|J_z| ≤ q 2^{-k}/2] (proof of Lemma 6)."""
    return Exponential(1, -Fraction(q) / 2**k / 8)


def lemma_6_failure(k: int, delta: Rational) -> Fraction:
    """δ 2^{-k}: what the Chernoff bound of one z is at most (proof of Lemma 6)."""
    return Fraction(delta) / 2**k


def lemma_6_feature(k: int) -> Fraction:
    """1/k: the output of a filter on the window with its own signs, else 0 (proof of Lemma 6)."""
    return Fraction(1, k)


def lemma_6_readout(k: int, copies: int) -> Fraction:
    """k/|J_z|, times g(z): the entries of u*^(j*) (proof of Lemma 6). ``copies`` is |J_z|."""
    return Fraction(k, copies)


# Theorem 4


def theorem_4_channels(k: int, delta: Rational) -> Logarithm:
    """2^{k+3} log(2^k/δ): Theorem 4 needs q above it."""
    return Logarithm(2 ** (k + 3), 2**k / Fraction(delta))


def theorem_4_rate_later(n: Rational, q: Rational, T: Rational) -> Fraction:
    """η = √n/√(qT): the later version, in Theorem 4 and at the end of its proof.

    The text at hand prints T below the root; the three terms of the theorem follow with √n/(√q T) only.
    """
    return root(n) / root(q * Fraction(T))


def theorem_4_rate_first_statement(n: Rational, a: Rational, T: Rational) -> Fraction:
    """η = √n/√(aT): the first version, in Theorem 4.

    Garbled: the text at hand prints ``\\frac{\\sqrt{n}}{\\sqrt{aT}}``, with a letter ``a`` that is nowhere
    defined. Its proof has √q T.
    """
    return root(n) / root(a * Fraction(T))


def theorem_4_rate_first_proof(n: Rational, q: Rational, T: Rational) -> Fraction:
    """η = √n/(√q T): the first version, last line of the proof of Theorem 4."""
    return root(Fraction(n) / q) / T


def theorem_4_terms(
    c: Rational, n: Rational, k: int, q: Rational, T: Rational
) -> tuple[Fraction, Fraction, Fraction]:
    """2cn²k²2^k/q, 2(2^k k)²/√(qn) and c²n^{1.5}√q/T: their sum bounds the mean loss (Theorem 4)."""
    return (
        Fraction(2 * c * n**2 * k**2 * 2**k) / q,
        2 * (2**k * k) ** 2 / root(q * n),
        c**2 * root(n**3 * q) / T,
    )


def theorem_4_proof_terms(
    c: Rational, eta: Rational, n: Rational, k: int, q: Rational, T: Rational
) -> tuple[Fraction, Fraction, Fraction]:
    """2cη²T²nk²2^k, 2(2^k k)²/(qηT) and c²ηnq: before η is chosen, first version (proof of Theorem 4).

    The later version has ``m`` in place of n in the last one, :func:`theorem_4_last_term_later`.
    """
    return (
        Fraction(2 * c * eta**2 * T**2 * n * k**2 * 2**k),
        Fraction(2 * (2**k * k) ** 2) / (q * eta * T),
        Fraction(c**2 * eta * n * q),
    )


def theorem_4_last_term_later(c: Rational, eta: Rational, m: Rational, q: Rational) -> Fraction:
    """c²ηmq: the last term in the later version's proof of Theorem 4, three times.

    Garbled: the text at hand prints ``c^2 \\eta m q``, and the paper has no m. The first version has n.
    """
    return Fraction(c**2 * eta * m * q)


def theorem_4_middle_term_first(k: int, eta: Rational, T: Rational) -> Fraction:
    """2(2^k k)²/(ηT): the middle term of line (*) in the first version's proof of Theorem 4.

    A q is missing: the next line of the same proof, and the later version here too, have 2(2^k k)²/(qηT).
    """
    return Fraction(2 * (2**k * k) ** 2) / (eta * T)


# Corollary 5: orders for k = O(log n)


def corollary_5_channels(epsilon: Rational, n: int) -> Logarithm:
    """ε^{-2} n³ log² n: the order of q (Corollary 5)."""
    return Logarithm(n**3 / Fraction(epsilon) ** 2, n, 2)


def corollary_5_steps(epsilon: Rational, n: int) -> Logarithm:
    """ε^{-2} n³ log n: the order of T (Corollary 5)."""
    return Logarithm(n**3 / Fraction(epsilon) ** 2, n)


def corollary_5_examples(epsilon: Rational, n: int, k: int, q: int, delta: Rational) -> Logarithm:
    """ε^{-2} nkq log(nkq/δ): the order of the sample's size (Corollary 5)."""
    return Logarithm(n * k * q / Fraction(epsilon) ** 2, n * k * q / Fraction(delta))


def corollary_5_share(epsilon: Rational) -> Fraction:
    """ε/2: of the loss on the sample, and of the generalization gap (proof of Corollary 5)."""
    return Fraction(epsilon) / 2


def corollary_5_vc_dimension(weights: int) -> Logarithm:
    """W log W: the order of the VC dimension of depth-2 ReLU networks with W ``weights`` (its proof)."""
    return Logarithm(weights, weights)


# Lemmas 8 and 9


def lemma_8_readout(eta: Rational, T: Rational, q: Rational) -> Fraction:
    """ηT√q ≥ ‖u^(T,j)‖, as Lemma 8 prints it: without the c of its proof."""
    return eta * T * root(q)


def lemma_8_readout_appendix(c: Rational, eta: Rational, T: Rational, q: Rational) -> Fraction:
    """cηT√q ≥ ‖u^(j,t)‖, as the proof of Lemma 8 has it (first version, appendix A)."""
    return c * eta * T * root(q)


def lemma_8_drift(c: Rational, eta: Rational, T: Rational, n: Rational, q: Rational, k: Rational) -> Fraction:
    """cη²T²n√(qk) ≥ ‖W^(0) - W^(T)‖: Lemma 8, and the end of its proof (first version, appendix A)."""
    return c * eta**2 * T**2 * n * root(q * k)


def lemma_8_readout_gradient(c: Rational, q: Rational) -> Fraction:
    """c√q ≥ ‖∂L/∂u^(j)‖ (proof of Lemma 8, first version, appendix A)."""
    return c * root(q)


def lemma_8_kernel_gradient(
    c: Rational, n: Rational, k: Rational, eta: Rational, T: Rational, q: Rational
) -> Fraction:
    """c(n-k)ηT√q√k ≥ ‖∂L/∂W‖ (proof of Lemma 8, first version, appendix A)."""
    return c * (n - k) * eta * T * root(q) * root(k)


def lemma_9_difference(
    c: Rational, eta: Rational, T: Rational, n: Rational, k: Rational, q: Rational, norms: Sequence[Rational]
) -> Fraction:
    """cη²T²nk√q Σ_j ‖u*^(j)‖ ≥ |L(u*, W^(T)) - L(u*, W^(0))|; ``norms`` are the ‖u*^(j)‖.

    Lemma 9, and the end of its proof (first version, appendix A).
    """
    return c * eta**2 * T**2 * n * k * root(q) * sum(norms)


# Theorem 10


def theorem_10_terms(
    eta: Rational, target: Rational, start: Rational, gradients: Sequence[Rational]
) -> tuple[Fraction, Fraction, Fraction]:
    """‖θ*‖²/(2ηT), ‖θ_1‖ (1/T) Σ_t ‖∇f_t(θ_t)‖ and η (1/T) Σ_t ‖∇f_t(θ_t)‖² (Theorem 10).

    Their sum, and the mean of f_t(θ*), bound the mean of f_t(θ_t). ``target`` is ‖θ*‖, ``start`` ‖θ_1‖, and
    ``gradients`` the T norms ‖∇f_t(θ_t)‖.
    """
    T = len(gradients)
    return (
        Fraction(target) ** 2 / (2 * eta * T),
        start * Fraction(sum(gradients)) / T,
        eta * Fraction(sum(norm**2 for norm in gradients)) / T,
    )


# Theorem 12


def theorem_12_first_layer(q: int, n: int, k: int) -> Fraction:
    """qn min{C(n-1,k)^{-1}, C(n-1,k-1)^{-1}} ≥ E‖∂L/∂W‖² (Theorem 12, and the end of its proof)."""
    return q * n * min(Fraction(1, comb(n - 1, k)), Fraction(1, comb(n - 1, k - 1)))


def theorem_12_second_layer(c: Rational, q: int, n: int, k: int) -> Fraction:
    """c²q C(n,k)^{-1} ≥ E‖∂L/∂u‖² (Theorem 12; end of its proof: first version, appendix A)."""
    return Fraction(c**2 * q) / comb(n, k)


def theorem_12_permutations(n: int, k: int, inside: bool) -> int:
    """The largest |S_j|: C(n-1,k) if j ∉ I, C(n-1,k-1) if j is ``inside`` I (proof of Theorem 12)."""
    return comb(n - 1, k - 1) if inside else comb(n - 1, k)


def theorem_12_coordinate(n: int, k: int) -> Fraction:
    """min{C(n-1,k)^{-1}, C(n-1,k-1)^{-1}} ≥ |S_j|^{-1}, as printed (proof of Theorem 12).

    By the sizes of S_j one line above, |S_j|^{-1} is one of the two, and so at most their maximum; the
    minimum bounds the smaller one only.
    """
    return min(Fraction(1, comb(n - 1, k)), Fraction(1, comb(n - 1, k - 1)))


def theorem_12_all_permutations(n: int, k: int) -> int:
    """|S| = C(n,k): the permutations for the second layer (first version, appendix A)."""
    return comb(n, k)


def theorem_12_output_square(c: Rational) -> Fraction:
    """c² ≥ ‖g_i‖², g_i the output of a neuron (first version, appendix A)."""
    return Fraction(c) ** 2


LARGEST_SECOND_WEIGHT = 1
"""|u_i| ≤ 1, and outputs are in [-1, 1], at the start (Theorem 12)."""

THEOREM_12_SLOPE_SQUARE = 1
"""1 ≥ ‖g_j‖², g_j = x_j u_i σ'(...) (proof of Theorem 12)."""


# Figure 1 and section 6

FIGURE_1_DEPTHS = (2, 4, 6)
FIGURE_1_EPOCHS = 125

DIGIT_SHAPE = (24, 8)
"""A digit of a sequence, scaled and cropped (section 6)."""

KERNEL_SHAPE = (24, 24)
"""Of the convolutional and the locally connected network: three digits (section 6)."""

LABEL_DIGITS = 3
"""The label is the parity of their sum (section 6)."""

HIDDEN_NEURONS = 1024
SECTION_6_EPOCHS = 30

CHANCE_LENGTH = 19
"""The n at which the fully connected network is at chance level (section 6)."""
