"""What rows were computed with: all that may change their last digits, but nothing that names a machine."""

from __future__ import annotations

import ctypes
import os
import platform
from collections.abc import Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from whyconv.lazy import np
from whyconv.spec import digest

PACKAGES = ("jax", "jaxlib", "numpy", "scipy", "scikit-learn", "optax", "piqp", "whyconv")

INSTRUCTIONS = "instructions"
CPU = "cpu"
"""Where JAX computes unless JAX_PLATFORMS names another platform."""

VECTORS = ("sse", "ssse", "avx", "fma", "f16c", "amx", "asimd", "sve", "neon")
"""Prefixes of the names of vector instruction sets, from which compilers choose."""
SWITCHES = ("XLA_FLAGS", "JAX_", "NPY_")
"""Prefixes of variables that may change results; OPENBLAS_CORETYPE shows in the kernels in use."""
HARMLESS = ("JAX_PLATFORMS", "JAX_COMPILATION_CACHE", "JAX_PERSISTENT_CACHE", "JAX_LOG", "JAX_DEBUG_LOG")
"""Prefixes of variables that do not, or that are described separately."""

SAME_FLAGS = ("--xla_cpu_multi_thread_eigen=false",)
"""What every worker adds to XLA_FLAGS; omitted, so that coordinator and workers describe one environment."""


@cache
def describe() -> dict[str, Any]:
    """The environment of this process as plain data, without times or names of machines or persons.

    ``instructions``: the vector instructions of the processor. ``blas``: the kernels that NumPy's and SciPy's
    libraries use. ``switches``: variables that change how programs are compiled.
    """
    platforms = os.environ.get("JAX_PLATFORMS", CPU)
    return {
        "python": platform.python_version(),
        "platform": f"{platform.system()}-{platform.machine()}",
        "cpu": _cpu("model name") or platform.processor() or platform.machine(),
        INSTRUCTIONS: _instructions(),
        "blas": _kernels(),
        "switches": _switches(os.environ),
        "packages": {name: _version(name) for name in PACKAGES},
        **({} if platforms == CPU else {"jax_platforms": platforms}),
    }


def identity(environment: Mapping[str, Any]) -> str:
    """The short digest by which rows refer to their environment."""
    return digest(environment)[:16]


def differences(here: Mapping[str, Any], there: Mapping[str, Any]) -> dict[str, str]:
    """What differs, and how in a few words.

    >>> differences({"python": "3.12", "packages": {"jax": "2"}}, {"packages": {"jax": "1"}})
    {'packages jax': '1, here 2', 'python': 'not recorded, here 3.12'}
    >>> differences({"instructions": "avx avx2 fma"}, {"instructions": "avx fma sse4a"})
    {'instructions': 'without avx2, with sse4a'}
    """
    found = {}
    for name in sorted({*here, *there}):
        mine, other = here.get(name), there.get(name)
        if isinstance(mine, Mapping) and isinstance(other, Mapping):
            found |= {f"{name} {part}": how for part, how in differences(mine, other).items()}
        elif mine != other:
            found[name] = f"{_shown(other)}, here {_shown(mine)}"
            if name == INSTRUCTIONS and isinstance(mine, str) and isinstance(other, str):
                found[name] = _as_lists(mine, other)
    return found


def _as_lists(mine: str, other: str) -> str:
    """How two lists of words differ: what the other lacks, and what it has besides."""
    here, there = set(mine.split()), set(other.split())
    parts = (("without", here - there), ("with", there - here))
    return ", ".join(f"{word} {' '.join(sorted(names))}" for word, names in parts if names)


def _shown(value: Any) -> str:
    if value is None:
        return "not recorded"
    return str(value) if not isinstance(value, Mapping) else "other ones"


def _instructions() -> str:
    """The vector instructions of the processor, sorted; empty where the system does not list them."""
    flags = (_cpu("flags") or _cpu("Features")).split()
    return " ".join(sorted(flag for flag in flags if flag.startswith(VECTORS)))


def _kernels() -> dict[str, str]:
    """The BLAS kernels that NumPy's and SciPy's libraries chose or were configured to use."""
    import scipy
    from threadpoolctl import threadpool_info

    files = {"numpy": np.__file__, "scipy": str(scipy.__file__)}
    homes = {name: Path(file).resolve().parent for name, file in files.items()}
    _load_blas(homes["scipy"])
    found: dict[str, set[str]] = {}
    for library in threadpool_info():
        if library.get("user_api") != "blas":
            continue
        place = Path(library["filepath"]).resolve()  # an environment may be reached through a link
        whose = next((name for name, home in homes.items() if place.parent == Path(f"{home}.libs")), "system")
        kernel = f"{library['internal_api']} {library['version']} {library.get('architecture', '')}".strip()
        found.setdefault(whose, set()).add(kernel)
    return {name: ", ".join(sorted(kernels)) for name, kernels in sorted(found.items())}


def _load_blas(home: Path) -> None:
    """Load SciPy's BLAS into this process; importing what uses it takes twenty times as long."""
    found = [*Path(f"{home}.libs").glob("*openblas*")]
    try:
        for library in found:
            ctypes.CDLL(str(library))
    except OSError:
        found = []
    if not found:
        import scipy.linalg  # noqa: F401


def _switches(environ: Mapping[str, str]) -> dict[str, str]:
    """The switches that are set; XLA flags sorted, without those that every worker adds."""
    names = sorted(name for name in environ if name.startswith(SWITCHES) and not name.startswith(HARMLESS))
    found = {name: environ[name] for name in names if environ[name]}
    flags = sorted(flag for flag in found.pop("XLA_FLAGS", "").split() if flag not in SAME_FLAGS)
    return {**found, **({"XLA_FLAGS": " ".join(flags)} if flags else {})}


def _cpu(field: str) -> str:
    """A field of the first processor in Linux's /proc/cpuinfo."""
    try:
        lines = Path("/proc/cpuinfo").read_text(errors="replace").splitlines()
    except OSError:
        return ""
    return next((line.partition(":")[2].strip() for line in lines if line.split(":")[0].strip() == field), "")


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "absent"
