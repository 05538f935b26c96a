"""What rows were computed with: interpreter, processor and library versions, without importing them."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from whyconv.spec import digest

PACKAGES = ("jax", "jaxlib", "numpy", "scipy", "scikit-learn", "optax", "whyconv")


CPU = "cpu"
"""What JAX computes on unless JAX_PLATFORMS says otherwise."""


@cache
def describe() -> dict[str, Any]:
    """The environment as plain data. It holds no time and no name of a machine or a person."""
    platforms = os.environ.get("JAX_PLATFORMS", CPU)
    return {
        "python": platform.python_version(),
        "platform": f"{platform.system()}-{platform.machine()}",
        "cpu": _cpu(),
        "cores": os.cpu_count() or 0,
        "packages": {name: _version(name) for name in PACKAGES},
        **({} if platforms == CPU else {"jax_platforms": platforms}),
    }


def identity(environment: Mapping[str, Any]) -> str:
    """The short digest rows refer to their environment by."""
    return digest(environment)[:16]


def _cpu() -> str:
    """The processor's model name; where the system does not tell, its architecture."""
    try:
        lines = Path("/proc/cpuinfo").read_text(errors="replace").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "absent"
