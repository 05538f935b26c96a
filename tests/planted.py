"""Errors planted in the mathematics, which ``whyconv check`` alone must notice: bounds, schedules, samplers.

    python tests/mutants.py planted          (part of make mutants; numbers may follow)

Each has a word, a file below ``src/whyconv``, what stands there, what to put, and the claims to decide. The
first part was found to go unnoticed by an earlier ledger; the second part was written before the present
claims were. Not every error can be seen: a bound that is merely weaker stays true. What survived before, and
what does now, is named in docs/planted.md.
"""

M, B, L = "papers/malach", "papers/brutzkus", "papers/lahoti"
BITS, START, SIZES, WALK = (
    f"{M}/exact/{name}.py" for name in ("bounds", "initial_gradient", "sizes", "window_descent")
)
LUCKY, FIRST, SECOND, MARGIN = (
    f"{B}/exact/{name}.py" for name in ("lucky_filters", "first_layer", "second_layer", "bounds")
)
NEGATIVE = f"{M}/claims/negative.py"
POOLING = f"{B}/exact/max_pooling.py"
DESCENTS = "malach.lemma8 malach.lemma9 malach.thm4 malach.thm10 malach.lcn"
LAYER = "brutzkus.lemma5.3 brutzkus.cor5.4 brutzkus.lemmaC.1 brutzkus.lemmaC.2 brutzkus.lemma5.5"

REPORTED = [
    ("thm12: the sum drops the bits outside I", NEGATIVE, "one = k_window * integral[k_window - 1] + (n_bits - k_window) * integral[k_window + 1]", "one = k_window * integral[k_window - 1]", "malach.thm12"),
    ("thm12: levels k-1 and k+1 swapped", NEGATIVE, "one = k_window * integral[k_window - 1] + (n_bits - k_window) * integral[k_window + 1]", "one = k_window * integral[k_window + 1] + (n_bits - k_window) * integral[k_window - 1]", "malach.thm12"),
    ("thm12: C(n-1, k) for the readout", START, "return Fraction(1, comb(n_bits, k_window))", "return Fraction(1, comb(n_bits - 1, k_window))", "malach.thm12"),
    ("thm12: the readout's bound 100 times too small", START, "return Fraction(1, comb(n_bits, k_window))", "return Fraction(1, 100 * comb(n_bits, k_window))", "malach.thm12"),
    ("thm12: n - k + 1 bits outside I", NEGATIVE, "one = k_window * integral[k_window - 1] + (n_bits - k_window) * integral[k_window + 1]", "one = k_window * integral[k_window - 1] + (n_bits - k_window + 1) * integral[k_window + 1]", "malach.thm12"),
    ("thm12: max for min", START, "n_bits * min(inverse_sizes(n_bits, k_window))", "n_bits * max(inverse_sizes(n_bits, k_window))", "malach.thm12"),
    ("lemma8: c^2 for c", BITS, "return cap * step * steps * sqrt(width)", "return cap**2 * step * steps * sqrt(width)", "malach.lemma8"),
    ("lemma8: n^2 for n", BITS, "return cap * (step * steps) ** 2 * n_bits * sqrt(width * k_window)", "return cap * (step * steps) ** 2 * n_bits**2 * sqrt(width * k_window)", "malach.lemma8"),
    ("lemma8: sqrt(q) for sqrt(qk)", BITS, "return cap * (step * steps) ** 2 * n_bits * sqrt(width * k_window)", "return cap * (step * steps) ** 2 * n_bits * sqrt(width)", "malach.lemma8"),
    ("lemma9: without k", BITS, "** 2 * n_bits * k_window * sqrt(width) * norms", "** 2 * n_bits * sqrt(width) * norms", "malach.lemma9"),
    ("lemma9: 50 times smaller", BITS, "** 2 * n_bits * k_window * sqrt(width) * norms", "** 2 * n_bits * k_window * sqrt(width) * norms / 50", "malach.lemma9"),
    ("lcn: first term over n^3", BITS, "return first / n_bits, second, third", "return first / n_bits**3, second, third", "malach.lcn"),
    ("cor5: log^3 for log^2", SIZES, "eps**2 * k_window**2,", "eps**2 * k_window**3,", "malach.cor5"),
    ("cor5: gap^2 m / 2", SIZES, "gap**2 * samples / 8", "gap**2 * samples / 2", "malach.cor5"),
    ("cor5: growth without 2m", SIZES, "log_growth(2 * samples,", "log_growth(samples,", "malach.cor5"),
    ("lemma5.2: 40 e^-d", MARGIN, "return 4 * exp(-pattern_dim)", "return 40 * exp(-pattern_dim)", "brutzkus.lemma5.2"),
    ("lemma5.2: k/(2d) for k/(4d)", MARGIN, "return Fraction(channels, 4 * size)", "return Fraction(channels, 2 * size)", "brutzkus.lemma5.2"),
    ("Eq. 14: a quarter for a third", MARGIN, "CLASS_SHARE = Fraction(1, 3)", "CLASS_SHARE = Fraction(1, 4)", "brutzkus"),
    ("schedule: r = eta/20", MARGIN, "return step / 200", "return step / 20", "brutzkus"),
    ("schedule: eta four times too large", MARGIN, "Fraction(1, 4 * channels * (steps + 1))", "Fraction(1, channels * (steps + 1))", "brutzkus"),
    ("schedule: k = 8d^2 + 1", MARGIN, "return 8 * pattern_dim**3 + 1", "return 8 * pattern_dim**2 + 1", "brutzkus"),
    ("lemma5.3: t eta/5 for t eta/9", MARGIN, "return t * step / 9", "return t * step / 5", "brutzkus.lemma5.3 brutzkus.cor5.4"),
    ("separator: 8d for 80d", MARGIN, "return 80 * size / (", "return 8 * size / (", "brutzkus.separator"),
    ("separator: 512 d for 51,200 d", MARGIN, "return 4 * 2 * 80**2 * size", "return 4 * 2 * 8**2 * size", "brutzkus.separator brutzkus.appendix-a brutzkus.thm5.1-error"),
    ("margin bound: without 2BR", MARGIN, "(2 * product + (1 + product) * sqrt(2 * log(2 / delta)))", "((1 + product) * sqrt(2 * log(2 / delta)))", "brutzkus.thm5.1-error"),
    ("margin bound: 1/m for 1/sqrt(m)", MARGIN, "sqrt(2 * log(2 / delta))) / sqrt(samples)", "sqrt(2 * log(2 / delta))) / samples", "brutzkus.thm5.1-error"),
    ("loss certificate: ln t for ln^2 t", SECOND, "np.log(times) ** 2 * norm2", "np.log(times) * norm2", "brutzkus.thm5.1-loss"),
    ("loss certificate: norm2/25", SECOND, "np.log(times) ** 2 * norm2 /", "np.log(times) ** 2 * norm2 / 25 /", "brutzkus.thm5.1-loss"),
    ("loss certificate: smoothness/400", SECOND, "* root)[-1]) / 4", "* root)[-1]) / 400", "brutzkus.thm5.1-loss"),
    ("half margin: ln(m)/gamma^2", SECOND, "return 8 * log(samples) / gamma**2", "return log(samples) / gamma**2", "brutzkus.appendix-a"),
    ("update bound without slope^2", f"{B}/exact/fully_connected.py", "(radius2 + 2 / step) / slope**2", "(radius2 + 2 / step)", "brutzkus.fc-bound"),
    ("a sampler that never uses the last position", POOLING, "rng.integers(0, positions, size)", "rng.integers(0, positions - 1, size)", "brutzkus"),
    ("step-one alignment: k(k-1) for k^2", f"{L}/exact/rates.py", '"lcn": patches**2', '"lcn": patches * (patches - 1)', "lahoti.step-one-alignment"),
    ("hinge kink <=", WALK, "np.where(margins < 1, pulls, 0.0)", "np.where(margins <= 1, pulls, 0.0)", DESCENTS),
]  # fmt: skip

NEW = [
    ("lemma6: 2^(k+2) filters", BITS, "floor(2 ** (k_window + 3)", "floor(2 ** (k_window + 2)", "malach.lemma6 malach.cor5"),
    ("lemma6: 2^(k+2) k / sqrt(q)", BITS, "return 2 ** (k_window + 1) * k_window / sqrt(width)", "return 2 ** (k_window + 2) * k_window / sqrt(width)", "malach.lemma6"),
    ("lemma8: T for T^2", BITS, "return cap * (step * steps) ** 2 * n_bits * sqrt(width * k_window)", "return cap * step**2 * steps * n_bits * sqrt(width * k_window)", "malach.lemma8"),
    ("lemma9: windows for n", BITS, "** 2 * n_bits * k_window * sqrt(width) * norms", "** 2 * (n_bits - k_window) * k_window * sqrt(width) * norms", "malach.lemma9"),
    ("thm4: k for k^2 in the first term", BITS, "2 * cap * n_bits**2 * k_window**2 * 2**k_window / width", "2 * cap * n_bits**2 * k_window * 2**k_window / width", "malach.thm4"),
    ("thm4: n for n^2 in the first term", BITS, "2 * cap * n_bits**2 * k_window**2 * 2**k_window / width", "2 * cap * n_bits * k_window**2 * 2**k_window / width", "malach.thm4"),
    ("thm4: the second term without 2", BITS, "2 * (2**k_window * k_window) ** 2 / sqrt(width * n_bits)", "(2**k_window * k_window) ** 2 / sqrt(width * n_bits)", "malach.thm4"),
    ("thm4: n for n^1.5 in the third term", BITS, "cap**2 * n_bits**1.5 * sqrt(width) / steps", "cap**2 * n_bits * sqrt(width) / steps", "malach.thm4"),
    ("thm4: half the step", BITS, "return sqrt(n_bits / width) / steps", "return sqrt(n_bits / width) / steps / 2", "malach.thm4 malach.thm4-eta"),
    ("lcn: third term over n", BITS, "return first / n_bits, second, third", "return first / n_bits, second, third / n_bits", "malach.lcn"),
    ("thm12: C(n-1, k+1) in the sizes", START, "Fraction(1, comb(n_bits - 1, k_window))", "Fraction(1, comb(n_bits - 1, k_window + 1))", "malach.thm12 malach.level-identity"),
    ("level identity: k for k+1", START, "+ (k_window + 1) * above", "+ k_window * above", "malach.level-identity"),
    ("tight bound: n - k for n - k + 1", START, "Fraction(max(n_bits - k_window + 1, k_window + 1)", "Fraction(max(n_bits - k_window, k_window + 1)", "malach.thm12 malach.level-identity"),
    ("cor5: 2 for 4 before the growth", SIZES, "return log(4) + log_growth", "return log(2) + log_growth", "malach.cor5"),
    ("cor5: the second term by half", SIZES, "root = (second + sqrt", "root = (second / 2 + sqrt", "malach.cor5"),
    ("labels one window early", f"{M}/exact/k_patterns.py", "[:, position - 1]]", "[:, position - 2]]", DESCENTS),
    ("the Markov law with 2/3 for 3/4", f"{M}/exact/k_patterns.py", "inputs[:, 1:] == inputs[:, :-1], 0.75, 0.25)", "inputs[:, 1:] == inputs[:, :-1], 2 / 3, 1 / 3)", DESCENTS),
    ("u* without its k", WALK, "np.where(mine > 0, k_window * table", "np.where(mine > 0, table", DESCENTS),
    ("clipped ReLU with slope 1 at its upper kink", WALK, "(lifted < self.cap)", "(lifted <= self.cap)", DESCENTS),
    ("junta: dimension without the last level", f"{M}/exact/juntas.py", "for size in range(k_window + 1))", "for size in range(k_window))", "malach.junta"),
    ("nas: n - k places", f"{M}/exact/juntas.py", "return (n_bits - k_window + 1) * factorial", "return (n_bits - k_window) * factorial", "malach.nas"),
    ("thm10: eta for eta/2 in the sharp form", f"{M}/claims/regret.py", "HALVED: ClassVar = (1.0, 1.0, 0.5)", "HALVED: ClassVar = (1.0, 1.0, 1.0)", "malach.thm10"),
    ("luck: l for l - 1", LUCKY, "2 ** (patterns - 1) * 2 * (patterns - 1))", "2 ** (patterns - 1) * 2 * patterns)", "brutzkus.lemma5.2"),
    ("lemma5.2: 2k/d for k/d", MARGIN, "4 * size), Fraction(channels, size)", "4 * size), Fraction(2 * channels, size)", "brutzkus.lemma5.2"),
    ("schedule: T_1 for T_1 + 1", MARGIN, "Fraction(1, 4 * channels * (steps + 1))", "Fraction(1, 4 * channels * steps)", "brutzkus"),
    ("luck without positivity", FIRST, "floor = np.maximum(spurious, 0.0)", "floor = spurious", "brutzkus"),
    ("margin bound: ln(1/delta)", MARGIN, "sqrt(2 * log(2 / delta))) / sqrt(samples)", "sqrt(2 * log(1 / delta))) / sqrt(samples)", "brutzkus.thm5.1-error"),
    ("margin bound: BR for 1 + BR", MARGIN, "(1 + product) * sqrt(2 * log(2 / delta))", "product * sqrt(2 * log(2 / delta))", "brutzkus.thm5.1-error"),
    ("loss certificate: eta for 2 eta", SECOND, "norm2 / (2 * step)", "norm2 / step", "brutzkus.thm5.1-loss"),
    ("update bound: 1/eta for 2/eta", f"{B}/exact/fully_connected.py", "(radius2 + 2 / step)", "(radius2 + 1 / step)", "brutzkus.fc-bound"),
    ("VC dimension: s from 0", f"{B}/exact/shattering.py", "comb(spurious, size) for size in range(1,", "comb(spurious, size) for size in range(0,", "brutzkus.vcdim brutzkus.thm4.2"),
    ("cnn-upper without the logarithm", f"{L}/exact/rates.py", '"cnn-upper": Rate("σ²(k+d) ln(kd)", ((1, 0), (0, 1)), logarithm=True)', '"cnn-upper": Rate("σ²(k+d) ln(kd)", ((1, 0), (0, 1)))', "lahoti.cnn-upper lahoti.two-step"),
    ("lcn-upper: k + d for k(k + d)", f"{L}/exact/rates.py", '"lcn-upper": Rate("σ²k(k+d) ln(kd)", ((2, 0), (1, 1))', '"lcn-upper": Rate("σ²k(k+d) ln(kd)", ((1, 0), (0, 1))', "lahoti.lcn-upper lahoti.two-step"),
    ("risk: every patch with noise", "exact/signal/risk.py", "+ (1 - law.share) @ noise", "+ np.ones_like(law.share) @ noise", "lahoti.risk"),
]  # fmt: skip

PLANTED = [*REPORTED, *NEW]

NOTICED_BEFORE = frozenset({
    "lemma5.2: k/(2d) for k/(4d)", "lemma6: 2^(k+2) filters", "lemma6: 2^(k+2) k / sqrt(q)", "lemma8: T for T^2",
    "thm4: half the step", "thm12: C(n-1, k+1) in the sizes", "level identity: k for k+1",
    "tight bound: n - k for n - k + 1", "cor5: the second term by half",
    "junta: dimension without the last level", "nas: n - k places", "thm10: eta for eta/2 in the sharp form",
    "luck: l for l - 1", "lemma5.2: 2k/d for k/d", "luck without positivity", "VC dimension: s from 0",
    "lcn-upper: k + d for k(k + d)", "risk: every patch with noise",
})  # fmt: skip
"""What the claims of commit d79ee18 noticed, the last one before the ledger was made anew."""
