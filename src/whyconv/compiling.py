"""Compiled programs: those that run for minutes, and those for which compiling takes longer than running.

The options of the compiler are part of what a row was computed by: where two products are added, the compiler
may round the other one. So a change here needs a new version of the learners and tasks whose golden rows turn
red.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from whyconv.lazy import jax

BRIEF = {"xla_cpu_use_fusion_emitters": False, "xla_cpu_parallel_codegen_split_count": 1}
"""Options of XLA's compiler for processors: the older generator of fused loops, and one module. That halves
the time to compile; steps take 1 to 12 % longer."""
QUICK = {**BRIEF, "xla_backend_optimization_level": 1}
"""Also fewer passes over the code: a third of the time. Never for products of matrices in a loop."""


def quick(function: Callable[..., Any], *, static: int | None = None) -> Callable[..., Any]:
    """``jax.jit`` for what runs once in a trial: drawing, layouts, first parameters."""
    return jax.jit(function, static_argnums=static, compiler_options=_here(QUICK))


def brief(function: Callable[..., Any], *, static: int | None = None) -> Callable[..., Any]:
    """``jax.jit`` for scores, and for training that takes seconds."""
    return jax.jit(function, static_argnums=static, compiler_options=_here(BRIEF))


def _here(options: dict[str, Any]) -> dict[str, Any]:
    """The options where they mean something: on processors, by a compiler that knows them."""
    return options if jax.default_backend() == "cpu" and _known(tuple(options.items())) else {}


@cache
def _known(options: tuple[tuple[str, Any], ...]) -> bool:
    """Whether this version's compiler has these options; one that does not raises."""
    try:
        jax.jit(lambda: 0, compiler_options=dict(options)).lower().compile()
    except jax.errors.JaxRuntimeError:
        return False
    return True
