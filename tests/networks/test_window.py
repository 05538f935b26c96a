"""CNN, LCN, partly shared and fully connected networks: against plain NumPy, each other, and rewritten."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import erf
from training import fit_of, job_of

from whyconv.networks import Setting
from whyconv.networks.embedding import as_fcn, as_lcn
from whyconv.networks.tables import Tables, best_block
from whyconv.networks.window import CNN, FCN, LCN, PartlyShared
from whyconv.spec import build
from whyconv.streams import stream
from whyconv.trial import Trial

SIGMA = {
    "relu": lambda z: max(z, 0.0),
    "clipped-relu": lambda z: min(max(z, 0.0), 0.5),
    "tanh": np.tanh,
    "sigmoid": lambda z: 1 / (1 + np.exp(-z)),
    "erf": erf,
}
NETWORKS = {
    "cnn": CNN(k_window=3, filters=5, cap=0.5),
    "strided cnn": CNN(k_window=3, filters=5, cap=0.5, stride=2),
    "lcn": LCN(k_window=3, filters=4, cap=0.5),
    "groups of 2": PartlyShared(k_window=3, filters=4, group=2, cap=0.5),
    "fcn": FCN(filters=6, cap=0.5),
}
SHAPE = (8,)


@pytest.fixture(autouse=True)
def double():
    with jax.enable_x64(True):
        yield


def random_params(network, seed=0):
    """Random numbers in the shapes of the network's parameters."""
    rng = np.random.default_rng(seed)
    start = jax.eval_shape(lambda key: network.init(key, SHAPE), stream("init", seed))
    return {name: jnp.asarray(rng.normal(size=part.shape)) for name, part in start.items()}


def scored(network, params, x):
    """The scores of inputs, in one program: compiling takes nearly all the time of these tests."""
    return np.asarray(jax.jit(lambda params, x: network.apply(params, network.prepare(x)))(params, x))


def by_hand(network, params, x):
    """h(x) from the definitions, in plain loops; each window looks up its own filters."""
    k = 8 if isinstance(network, FCN) else network.k_window
    stride = getattr(network, "stride", 1)
    starts = range(0, 8 - k + 1, stride)
    group = {CNN: lambda j: 0, FCN: lambda j: 0, LCN: lambda j: j, PartlyShared: lambda j: j // network.group}
    total = 0.0
    for j, start in enumerate(starts):
        g = group[type(network)](j)
        for i in range(network.filters):
            z = sum(params["w"][g][t][i] * x[start + t] for t in range(k)) + params["b"][g][i]
            total += params["u"][j][i] * SIGMA[network.activation](z)
    return total


@pytest.mark.parametrize(
    ("name", "activation"),
    [*(("groups of 2", activation) for activation in SIGMA), *((name, "tanh") for name in NETWORKS)],
)
def test_scores_follow_the_definition(name, activation):
    network = NETWORKS[name].model_copy(update={"activation": activation})
    params = random_params(network)
    x = np.random.default_rng(1).normal(size=(4, 8))
    plain = {key: np.asarray(value) for key, value in params.items()}
    expected = [by_hand(network, plain, row) for row in x]
    assert scored(network, params, x) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("name", NETWORKS)
def test_gradients_agree_with_finite_differences(name):
    network = NETWORKS[name].model_copy(update={"activation": "tanh"})
    params = random_params(network)
    x = np.random.default_rng(2).normal(size=(3, 8))

    def loss(params):
        return jnp.sum(network.apply(params, network.prepare(x)) ** 2)

    loss, grad = jax.jit(loss), jax.jit(jax.grad(loss))(params)
    for part in ("w", "b", "u"):
        flat = np.asarray(params[part]).ravel()
        for place in (0, len(flat) // 2, len(flat) - 1):
            step = np.zeros_like(flat)
            step[place] = 1e-6
            moved = [
                float(loss({**params, part: jnp.asarray((flat + s * step).reshape(params[part].shape))}))
                for s in (1, -1)
            ]
            slope = (moved[0] - moved[1]) / 2e-6
            assert float(np.asarray(grad[part]).ravel()[place]) == pytest.approx(slope, rel=1e-6, abs=1e-7)


@pytest.mark.parametrize("name", ["cnn", "strided cnn", "lcn", "groups of 2"])
def test_embeddings_keep_every_score(name):
    network = NETWORKS[name]
    params = random_params(network)
    x = jnp.asarray(np.random.default_rng(3).normal(size=(50, 8)))
    scores = [scored(network, params, x)]
    lcn, local = as_lcn(network, params, SHAPE)
    fcn, full = as_fcn(lcn, local, SHAPE)
    straight, at_once = as_fcn(network, params, SHAPE)
    for other, theirs in ((lcn, local), (fcn, full), (straight, at_once)):
        scores.append(scored(other, theirs, x))
        start = jax.eval_shape(lambda key, other=other: other.init(key, SHAPE), stream("init", 0))
        assert {k: v.shape for k, v in theirs.items()} == {k: v.shape for k, v in start.items()}
    for other in scores[1:]:
        assert np.abs(other - scores[0]).max() <= 1e-12
    assert type(lcn) is LCN and type(fcn) is FCN


def test_there_are_n_minus_k_plus_one_windows_and_the_last_one_counts():
    network = CNN(k_window=3, filters=2)
    assert network.windows(SHAPE) == 6
    params = random_params(network, seed=1)
    x = np.ones((1, 8))
    changed = x.copy()
    changed[0, -1] = -1
    before, after = (scored(network, params, v)[0] for v in (x, changed))
    assert before != after


def test_groups_lie_between_the_lcn_and_the_cnn():
    fields = {"k_window": 3, "filters": 4}
    counts = [LCN(**fields).parameter_count(SHAPE), PartlyShared(**fields, group=2).parameter_count(SHAPE)]
    counts.append(CNN(**fields).parameter_count(SHAPE))
    assert counts == [4 * (6 * 4 + 6), 4 * (3 * 4 + 6), 4 * (1 * 4 + 6)]
    assert PartlyShared(**fields, group=1).parameter_count(SHAPE) == counts[0]
    assert PartlyShared(**fields, group=99).parameter_count(SHAPE) == counts[2]


@pytest.mark.parametrize("name", NETWORKS)
def test_parameters_and_operations_in_closed_form(name):
    network = NETWORKS[name]
    params = jax.eval_shape(lambda key: network.init(key, SHAPE), stream("init", 0))
    assert network.parameter_count(SHAPE) == sum(part.size for part in params.values())
    windows, k = network.windows(SHAPE), network.window(SHAPE)
    assert network.flops(SHAPE) == windows * network.filters * (2 * k + 2)


@pytest.mark.parametrize("filters", [3, 1000])
def test_the_theorem_starts_on_the_lattice(filters):
    network = LCN(k_window=3, filters=filters)
    start = jax.jit(network.init, static_argnums=1)(stream("init", 5), SHAPE)
    params = {name: np.asarray(part) for name, part in start.items()}
    assert np.abs(params["w"]).ravel() == pytest.approx(np.full(params["w"].size, 1 / 3))
    assert (params["b"] == 1 / 3 - 1).all() and (params["u"] == 0).all()
    if filters == 1000:
        signs = params["w"] > 0
        assert signs.mean(axis=(1, 2)) == pytest.approx(np.full(6, 0.5), abs=0.05)
        assert len({window.tobytes() for window in signs}) == 6


@pytest.mark.parametrize("law, variance", [("normal", 1 / 4), ("uniform", 1 / 12)])
def test_natural_starts_have_their_variance(law, variance):
    network = CNN(k_window=4, filters=20_000, init_law=law, readout="normal")
    start = jax.jit(network.init, static_argnums=1)(stream("init", 5), SHAPE)
    params = {name: np.asarray(part) for name, part in start.items()}
    for part in ("w", "b"):
        assert params[part].var() == pytest.approx(variance, rel=0.05)
        assert params[part].mean() == pytest.approx(0, abs=0.02)
    assert params["u"].var() * params["u"].size == pytest.approx(1, rel=0.05)


def test_multiplicities_are_multinomial_and_add_up():
    network = LCN(k_window=2, filters=10**9)
    counts = np.asarray(network.counts(stream("init", 1), 500, 2)).astype(np.int64)
    assert (counts.sum(axis=1) == 10**9).all()
    scaled = (counts - 2.5e8) / (1e9 * 0.25 * 0.75) ** 0.5
    assert scaled.mean(axis=0) == pytest.approx(np.zeros(4), abs=0.2)
    assert scaled.var(axis=0) == pytest.approx(np.ones(4), abs=0.25)


def expanded(fit, network, windows):
    """The parameters of a counted network, every type as often as it counts."""
    counts = np.asarray(fit.params["counts"]).astype(int)
    group = network.group_of(windows)
    return {
        "w": np.stack([np.repeat(part, n, axis=1) for part, n in zip(fit.params["w"], counts, strict=True)]),
        "b": np.stack([np.repeat(part, n) for part, n in zip(fit.params["b"], counts, strict=True)]),
        "u": np.stack([np.repeat(part, counts[group[j]]) for j, part in enumerate(fit.params["u"])]),
    }


PLAIN = {"optimiser": "sgd", "rate": 0.2, "batch": None, "loss": "hinge"}, ["b"]
# Adam divides a gradient by its own size plus eps, so that rounding grows by 1 / eps.
ADAM = {"optimiser": "adam", "options": {"eps": 1e-3}, "rate": 0.01, "batch": 50, "loss": "logistic"}, []


@pytest.mark.parametrize(
    "name, start, learner, frozen",
    [
        ("cnn", "theorem", *PLAIN),
        pytest.param("cnn", "theorem", *ADAM, marks=pytest.mark.long),
        ("cnn", "normal", *ADAM),
        pytest.param("lcn", "theorem", *PLAIN, marks=pytest.mark.long),
        ("partly-shared", "theorem", *ADAM),
        pytest.param("partly-shared", "normal", *PLAIN, marks=pytest.mark.long),
    ],
)
def test_rewritten_training_equals_plain_training_in_every_parameter(name, start, learner, frozen):
    network = {"name": name, "k_window": 3, "filters": 40, "init_law": start, "frozen": frozen}
    trial = Trial(
        task={"name": "k-pattern", "n_bits": 9, "k_window": 3, "position": 7, "label_noise": 0.1},
        network=network,
        learner={"name": "gradient", "epochs": 40, "tolerance": 0, **learner},
        m=200,
        seed=4,
        dtype="float64",
    )
    rounding = 1e-13 if learner["optimiser"] == "sgd" else 1e-11
    counted = start == "theorem"
    assert trial.form.form == ("tables, multiplicities" if counted else "tables")
    job = job_of(trial, trial.network)
    plain, fast = fit_of(trial, job), fit_of(trial)
    assert plain.facts["steps"] == fast.facts["steps"] >= 40
    parts = expanded(fast, trial.network, 7) if counted else fast.params
    start_values = trial.learner.start(job).params
    for part in ("w", "b", "u"):
        theirs, ours = np.asarray(plain.params[part]), np.asarray(parts[part])
        assert np.abs(theirs - ours).max() <= rounding, part
        moved = not np.array_equal(theirs, np.asarray(start_values[part]))
        assert moved == (part not in frozen), part
    x = np.random.default_rng(0).choice([-1.0, 1.0], (64, 9))
    assert np.abs(plain.scores(x) - fast.scores(x)).max() <= 10 * rounding


def test_rewriting_waits_for_its_conditions():
    shape, network = (64,), CNN(k_window=6, filters=2048)

    def form(network, *setting):
        return network.faster(Setting(shape, *setting)).form

    assert network.faster(Setting(shape, False, 4096, True)) is network
    assert form(network, True, 4096, True) == "tables, multiplicities"
    assert form(network, True, 4096, False) == "tables"
    assert form(network.model_copy(update={"readout": "normal"}), True, 4096, True) == "tables"
    few = LCN(k_window=6, filters=16)
    assert few.faster(Setting(shape, True, 64, True)) is few
    assert form(few, True, 65, True) == "tables"
    assert form(FCN(filters=512), True, 4096, True) == ""
    assert form(CNN(k_window=6, filters=2048, init_law="normal"), True, 4096, True) == "tables"


def test_blocks_grow_with_the_examples_they_serve():
    network = CNN(k_window=6, filters=2048)
    blocks = [best_block(network, (64,), rows) for rows in (1, 64, 4096, 10**6)]
    assert blocks[0] == 1 and blocks == sorted(blocks) and blocks[2] == 5 and blocks[3] > 8
    assert best_block(FCN(filters=4), (10,), 10**6) == 1
    assert best_block(CNN(k_window=6, filters=4, stride=6), (64,), 4096) < blocks[2]


def test_an_optimiser_that_mixes_numbers_gets_no_multiplicities():
    fields = {"task": "k-pattern", "network": {"name": "cnn", "filters": 64}, "m": 200, "seed": 0}
    forms = {
        name: Trial(**fields, learner={"name": "gradient", "optimiser": name, "batch": None}).form.form
        for name in ("sgd", "adam", "lamb", "adafactor")
    }
    assert forms == {
        "sgd": "tables, multiplicities",
        "adam": "tables, multiplicities",
        "lamb": "tables",
        "adafactor": "tables",
    }


def test_a_billion_filters_train(execute):
    rate = 0.1 * 64 / 10**9
    result = execute(
        task={"name": "k-pattern", "n_bits": 12, "k_window": 3},
        network={"name": "cnn", "k_window": 3, "filters": 10**9},
        learner={
            "name": "gradient", "optimiser": "sgd", "rate": rate, "batch": None, "loss": "hinge",
            "epochs": 300,
        },
        m=500, seed=0,
    )  # fmt: skip
    assert result["form"] == "tables, multiplicities"
    assert result["parameters"] == 10**9 * (3 + 1 + 10)
    assert result["train_error"] == result["test_error"] == 0


@settings(deadline=None, max_examples=8)
@given(st.integers(1, 5), st.integers(0, 9), st.integers(1, 3), st.integers(1, 4), st.integers(0, 2**16))
def test_tables_look_up_what_the_network_computes(k, more, stride, block, seed):
    n = k + more
    network = (CNN, LCN)[seed % 2](k_window=k, filters=3, stride=stride, activation="tanh")
    rng = np.random.default_rng(seed)
    start = jax.eval_shape(lambda key: network.init(key, (n,)), stream("init", 0))
    params = {name: jnp.asarray(rng.normal(size=part.shape)) for name, part in start.items()}
    x = jnp.asarray(rng.choice([-1.0, 1.0], (6, n)))
    table = Tables(of=network, block=block)

    @jax.jit
    def both(params, x):
        return network.apply(params, network.prepare(x)), table.apply(table.derive(params), table.prepare(x))

    plain, looked_up = both(params, x)
    assert np.abs(np.asarray(plain) - np.asarray(looked_up)).max() <= 1e-12


@pytest.mark.parametrize("activation", ["relu", "clipped-relu"])
def test_kinks_have_derivative_zero(activation):
    network = CNN(activation=activation, cap=0.5)
    slopes = jax.vmap(jax.grad(network.sigma))(jnp.asarray([-0.1, 0.0, 0.2, 0.5, 0.7]))
    assert slopes.tolist() == ([0, 0, 1, 1, 1] if activation == "relu" else [0, 0, 1, 0, 0])


def test_windows_that_do_not_fit_are_refused():
    fields = {"learner": "gradient", "m": 10, "seed": 0}
    with pytest.raises(ValueError, match="k_window = 9 does not fit into 8 entries"):
        Trial(task={"name": "k-pattern", "n_bits": 8}, network={"name": "lcn", "k_window": 9}, **fields)
    with pytest.raises(ValueError, match="cnn reads inputs of one axis"):
        Trial(task="detection", network="cnn", **fields)


def test_user_facing_names():
    assert [build("network", name).name for name in ("cnn", "lcn", "partly-shared", "fcn")] == [
        "cnn", "lcn", "partly-shared", "fcn",
    ]  # fmt: skip
