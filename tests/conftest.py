"""One setting for all tests: JAX on one core, strict about types, as in the workers."""

import atexit
import os
import shutil
import tempfile

for name in ("NPROC", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[name] = "1"
os.environ["JAX_PLATFORMS"] = "cpu"
if "JAX_COMPILATION_CACHE_DIR" not in os.environ:  # the first process; those it starts share its programs
    os.environ["JAX_COMPILATION_CACHE_DIR"] = tempfile.mkdtemp(prefix="whyconv-programs-")
    os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
    atexit.register(shutil.rmtree, os.environ["JAX_COMPILATION_CACHE_DIR"], ignore_errors=True)
QUICK, TRAINING = (f"--xla_backend_optimization_level={level}" for level in (0, 1))
BRIEF = "--xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1"
asked = os.environ.get("XLA_FLAGS") not in (
    None,
    TRAINING,
)  # TRAINING: by the process above this
if not asked:
    os.environ["XLA_FLAGS"] = (
        f"{QUICK} {BRIEF}"  # a third of the time for compilations, most of what tests do
    )

import jax
import pytest
from hypothesis import settings

import whyconv  # noqa: F401
from whyconv.streams import stream

jax.devices()  # reads the flags
if not asked:
    os.environ["XLA_FLAGS"] = TRAINING  # for commands that tests start
jax.config.update("jax_numpy_dtype_promotion", "standard")
settings.register_profile("suite", max_examples=40, deadline=None)  # of a hundred; no test measures time
settings.load_profile("suite")
pytest_plugins = ["command_line"]


def pytest_xdist_auto_num_workers(config):
    """One more than there are cores, since tests that start commands wait for them."""
    return (os.cpu_count() or 1) + 1


@pytest.fixture
def key():
    return stream("test", 0)


@pytest.fixture
def execute():
    """Run a trial in this process."""
    from training import NoCheckpoint

    from whyconv.execution import execute
    from whyconv.trial import Trial

    def run(checkpoint=None, **spec):
        return execute(Trial(**spec), lambda fraction: None, checkpoint or NoCheckpoint())[0]

    return run
