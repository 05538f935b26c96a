"""A worker: a single-threaded process that runs trials one after the other.

It is a child process with a pipe in each direction, and communicates in lines of JSON: it reads
``{"key", "spec", ...}`` and answers with any number of ``beat`` messages and one ``done``.
It never opens the store. When the coordinator ends, however it ends, the pipe closes and the worker exits;
Linux kills it even while compiled code keeps it from noticing.
"""

from __future__ import annotations

import faulthandler
import importlib
import json
import math
import os
import queue
import re
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from whyconv import registry, system
from whyconv.errors import UserError
from whyconv.paths import cache_folder, use_run_folder
from whyconv.runner import environment
from whyconv.runner.checkpoint import Checkpoint
from whyconv.runner.environment import CPU
from whyconv.spec import encodable, to_json
from whyconv.trial import Trial

BEAT_SECONDS = 0.3
"""Progress is reported at most this often."""

_ONE_THREAD = ("NPROC", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")

Send = Callable[[Mapping[str, Any]], None]


def surroundings(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment variables of a worker: one thread, a compilation cache, and JAX on the CPU unless
    JAX_PLATFORMS names another platform.
    """
    made = {**environ, **dict.fromkeys(_ONE_THREAD, "1")}
    flags = made.get("XLA_FLAGS", "")
    if "xla_cpu_multi_thread_eigen" not in flags:
        made["XLA_FLAGS"] = f"{flags} --xla_cpu_multi_thread_eigen=false".strip()
    made.setdefault("JAX_PLATFORMS", CPU)
    made.setdefault("JAX_COMPILATION_CACHE_DIR", str(cache_folder(made) / "xla"))
    made.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
    made.setdefault("PYTHONHASHSEED", "0")
    return made


def serve() -> None:
    """Run trials until the coordinator ends. The first line says what to load."""
    system.ignore_interrupt()  # the coordinator handles Ctrl-C
    faulthandler.enable()
    hello = json.loads(sys.stdin.readline() or sys.exit())  # no line: the coordinator is gone already
    system.die_with_parent(hello["parent"])
    jobs, send = _take_pipes()
    try:
        _prepare(hello["loads"], hello["execute"])
    except BaseException as error:
        traceback.print_exc()
        text = str(error) if isinstance(error, UserError) else f"a worker could not start: {one_line(error)}."
        send({"type": "refused", "error": text})
        return
    described = environment.describe()
    send({"type": "ready", "environment": described})
    here = environment.identity(described)
    while True:
        job = jobs.get()
        use_run_folder(job["kept"])
        with _printing_to(job["log"]):
            try:
                execute, rebuild = _named(job["execute"]), _named(job["rebuild"])
            except UserError as error:
                send({"type": "refused", "error": str(error)})
                return
            ended = perform(job, execute, Path(job["checkpoints"]), send, here, rebuild)
        send({"type": "done", "key": job["key"], **ended})


def perform(
    job: Mapping[str, Any],
    execute: Callable[..., Any],
    checkpoints: Path,
    send: Send,
    here: str = "",
    rebuild: Callable[..., Any] = Trial,
) -> dict[str, Any]:
    """Run one trial and return how it ended as plain data; ``here`` is the id of the environment."""
    beat = _beating(send)
    beat(0.0)
    try:
        trial = rebuild(**job["spec"])
    except Exception as error:
        return {"status": "lost", "error": one_line(error)}
    if trial.key != job["key"]:
        return {"status": "lost", "error": "a file of pieces was changed during the run."}
    began = time.perf_counter()
    try:
        result, trace = execute(trial, beat, Checkpoint(checkpoints / f"{trial.key}.npz", environment=here))
        ended = {"status": "ok", "result": plain_result(result), "trace": plain_trace(trace), "error": ""}
    except BaseException as error:  # SystemExit, too, is the trial's failure
        ended = {"status": "failed", "error": one_line(error), "traceback": encodable(traceback.format_exc())}
    return {**ended, "seconds": time.perf_counter() - began}


def plain_result(result: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of a row as JSON values; raises for anything but finite numbers and texts."""
    return {name: _plain(value, f"the column {name!r}") for name, value in result.items()}


def plain_trace(trace: Mapping[str, Any]) -> dict[str, list[Any]]:
    lists = {name: series.tolist() if hasattr(series, "tolist") else series for name, series in trace.items()}
    return {name: [_plain(item, f"the trace {name!r}") for item in series] for name, series in lists.items()}


def one_line(error: BaseException) -> str:
    """The error in one line, the same on every run: without addresses of objects."""
    text = " ".join(re.sub(r"0x[0-9a-fA-F]{6,}", "0x...", encodable(str(error))).split())[:500]
    if isinstance(error, UserError):
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _plain(value: Any, where: str) -> Any:
    value = value.item() if getattr(value, "ndim", None) == 0 else value  # NumPy and JAX scalars
    if not isinstance(value, bool | int | float | str):
        raise TypeError(
            f"{where} holds a {type(value).__name__}; allowed are numbers, texts, True and False."
        )
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{where} holds {value}, which is not a finite number")
    return encodable(value) if isinstance(value, str) else value


def _beating(send: Send) -> Callable[[float], None]:
    last = -math.inf

    def beat(fraction: float) -> None:
        nonlocal last
        if time.monotonic() - last >= BEAT_SECONDS:
            last = time.monotonic()
            send({"type": "beat", "fraction": float(fraction)})

    return beat


@contextmanager
def _printing_to(log: str) -> Iterator[None]:
    """Have what a trial prints, or C code prints for it, in the log of its run."""
    try:
        fd = os.open(log, os.O_WRONLY | os.O_APPEND | system.SAFE)
    except OSError:  # the folder is gone, which the coordinator notices
        yield
        return
    before = os.dup(2)
    try:
        for stream in (1, 2):
            os.dup2(fd, stream)
        os.close(fd)
        yield
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        for stream in (1, 2):
            os.dup2(before, stream)
        os.close(before)


def _prepare(loads: list[str], execute: str) -> None:
    registry.discover_rooms()
    for file in loads:
        registry.load(file)
    _named(execute)


@cache
def _named(name: str) -> Callable[..., Any]:
    """The function ``module:name``; JAX is tried out before the first trial that needs it."""
    module, _, function = name.partition(":")
    platforms = os.environ.get("JAX_PLATFORMS", CPU)
    if module == "whyconv.execution" or platforms != CPU:
        _try_out(platforms)
    return getattr(importlib.import_module(module), function)


def _try_out(platforms: str) -> None:
    """Refuse an environment in which JAX does not start, before trials fail one by one."""
    cache = os.environ.get("JAX_COMPILATION_CACHE_DIR", "")
    if not cache.isprintable():
        raise UserError(f"the cache folder {cache!a} is not named in UTF-8; set WHYCONV_CACHE to another.")
    try:
        import jax

        jax.devices()
    except Exception as error:
        if platforms == CPU:
            raise UserError(
                f"JAX does not start here ({one_line(error)}); find out which of the variables JAX_* and "
                "XLA_FLAGS is wrong, and unset it."
            ) from error
        raise UserError(
            f"JAX_PLATFORMS={platforms} was given, but JAX cannot use it here ({one_line(error)}); install a "
            "JAX that can (docs/data.md), or unset the variable."
        ) from error


def _take_pipes() -> tuple[queue.SimpleQueue[dict[str, Any]], Send]:
    """The two pipes, moved to where trials cannot read from them or print into them.

    From then on standard output goes to the log. A thread always waits for the next line, and so notices
    at once, even in the middle of a trial, that the coordinator has ended.
    """
    incoming, outgoing = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    os.close(nothing)
    jobs: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
    turn = threading.Lock()  # a trial may report from a thread of its own

    def listen() -> None:
        with open(incoming, encoding="utf-8") as lines:
            for line in lines:
                jobs.put(json.loads(line))
        os._exit(0)

    def send(message: Mapping[str, Any]) -> None:
        data = (to_json(message) + "\n").encode()
        try:
            with turn:
                while data:
                    data = data[os.write(outgoing, data) :]
        except BrokenPipeError:
            os._exit(0)

    threading.Thread(target=listen, daemon=True).start()
    return jobs, send
