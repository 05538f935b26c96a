"""What a cluster file may say, by its ``kind``; nothing in it is executed, and unknown fields are refused."""

from __future__ import annotations

import re
import shlex
import shutil
import sys
import tempfile
from abc import abstractmethod
from importlib import import_module
from importlib.util import find_spec
from typing import Any, ClassVar

from pydantic import Field, field_validator

from whyconv.errors import UserError
from whyconv.spec import Spec

SCHEDULER = "tcp://SCHEDULER:PORT"
"""Stands for the address of a scheduler that is not started yet."""
LOOPBACK = "127.0.0.1:0"
"""A free port that nobody on another machine can reach."""
_WORD = re.compile(r"[\w.,:/@+=%-]+", re.ASCII)
_DIRECTIVE = re.compile(r"-{1,2}[A-Za-z][\w-]*([= ][\w.,:/@+=%-]+)?", re.ASCII)
_WALLTIME = re.compile(r"(?:(\d{1,3})-)?(\d{1,4}):([0-5]\d)(?::([0-5]\d))?")
_SIZE = r"^[0-9]+(\.[0-9]+)? ?(MB|MiB|GB|GiB|TB|TiB)$"


def word(text: str) -> str:
    """A text that goes into a script or a command: letters, digits and a few signs."""
    if not _WORD.fullmatch(text) or text.startswith("-"):
        raise ValueError(f"{text!r:.80} was given; allowed are letters, digits and . , : / @ + = % - _")
    return text


class Recipe(Spec):
    """A kind of cluster: what is set, the job script or its like, and how it is started."""

    kinds: ClassVar[dict[str, type[Recipe]]] = {}
    kind: ClassVar[str]

    wait: float = Field(60.0, gt=0, le=100_000)
    """Minutes until the first worker must be there."""

    def __init_subclass__(cls, kind: str = "", **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if kind:
            cls.kind = kind
            Recipe.kinds[kind] = cls

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        """The name of the kind is not pydantic's."""

    @abstractmethod
    def script(self) -> str:
        """What will be submitted or executed, as text."""

    @abstractmethod
    def start(self) -> Any:
        """The cluster, with ``scheduler_address`` and ``close``."""


class _Batch(Recipe):
    """Jobs of a batch system; every job is one Dask worker with ``cores`` threads on one node."""

    command: ClassVar[str]
    job: ClassVar[str]

    jobs: int = Field(ge=1, le=10_000)
    cores: int = Field(ge=1, le=1024)
    memory: str = Field(pattern=_SIZE)
    walltime: str
    queue: str | None = None
    account: str | None = None
    interface: str | None = None
    python: str | None = None
    local_directory: str | None = None
    log_directory: str | None = None
    modules: tuple[str, ...] = ()
    """Environment modules to load before the worker starts."""
    directives: tuple[str, ...] = ()
    """Further options for the batch system, as in --constraint=avx512."""

    @field_validator("queue", "account", "interface", "python", "local_directory", "log_directory")
    @classmethod
    def _one_word(cls, text: str | None) -> str | None:
        return None if text is None else word(text)

    @field_validator("modules")
    @classmethod
    def _words(cls, texts: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(map(word, texts))

    @field_validator("directives")
    @classmethod
    def _options(cls, texts: tuple[str, ...]) -> tuple[str, ...]:
        for text in texts:
            if not _DIRECTIVE.fullmatch(text):
                raise ValueError(f"{text!r:.80} was given as a directive; write it as in --constraint=avx512")
        return texts

    @field_validator("walltime", mode="before")
    @classmethod
    def _time(cls, text: Any) -> str:
        if not isinstance(text, str):  # YAML reads 04:00:00 as a number
            raise ValueError('put the time in quotes, as in "04:00:00"')
        if _seconds(text) < 120:
            raise ValueError(
                f"{text!r:.40} was given; write HH:MM:SS or D-HH:MM, two minutes or more, as in 04:00:00 "
                "(batch systems read 04:00 as four minutes)"
            )
        return text

    def fields(self) -> dict[str, Any]:
        """The arguments of dask-jobqueue; a worker ends by itself before the batch system kills it.

        Dask draws the lifetime from the one given, plus or minus the stagger.
        """
        whole = _seconds(self.walltime)
        latest = whole - max(60, min(300, whole // 10))
        stagger = min(120, latest // 10)
        lifetime = latest - stagger
        return {
            "cores": self.cores, "memory": self.memory, "processes": 1, "walltime": self.walltime,
            "queue": self.queue, "account": self.account, "interface": self.interface,
            "python": shlex.quote(self.python or sys.executable), "local_directory": self.local_directory,
            "log_directory": self.log_directory, "job_name": "whyconv",
            "job_script_prologue": [f"module load {name}" for name in self.modules],
            "job_extra_directives": list(self.directives),
            "worker_extra_args": ["--lifetime", f"{lifetime}s", "--lifetime-stagger", f"{stagger}s"],
        }  # fmt: skip

    def script(self) -> str:
        fields, logs = self.fields(), self.log_directory
        job = getattr(import_module(f"dask_jobqueue.{self.kind}"), f"{self.job}Job")
        with tempfile.TemporaryDirectory() as room:  # the folder of logs would be made
            fields["log_directory"] = logs and room
            text = job(scheduler=SCHEDULER, name="whyconv", **fields).job_script().strip() + "\n"
        return text.replace(room, logs) if logs else text

    def start(self) -> Any:
        if shutil.which(self.command) is None:
            raise UserError(
                f"a cluster of kind {self.kind} was asked for, but there is no {self.command} here; run this "
                "on a login node, or give another kind."
            )
        import dask_jobqueue

        cluster = getattr(dask_jobqueue, f"{self.job}Cluster")(**self.fields())
        cluster.scale(jobs=self.jobs)
        return cluster


class Slurm(_Batch, kind="slurm"):
    """Jobs of Slurm."""

    command: ClassVar[str] = "sbatch"
    job: ClassVar[str] = "SLURM"


class Pbs(_Batch, kind="pbs"):
    """Jobs of PBS."""

    command: ClassVar[str] = "qsub"
    job: ClassVar[str] = "PBS"

    walltime: str = Field(pattern="^[^-]*$")
    resource_spec: str | None = None

    @field_validator("resource_spec")
    @classmethod
    def _plain(cls, text: str | None) -> str | None:
        return None if text is None else word(text)

    def fields(self) -> dict[str, Any]:
        return {**super().fields(), "resource_spec": self.resource_spec}


class Ssh(Recipe, kind="ssh"):
    """Machines reached by ssh with keys: the first of ``hosts`` for the scheduler, the others for workers."""

    hosts: tuple[str, ...] = Field(min_length=2, max_length=1000)
    threads: int = Field(1, ge=1, le=1024)
    user: str | None = None
    python: str | None = None
    wait: float = Field(2.0, gt=0, le=100_000)

    @field_validator("hosts")
    @classmethod
    def _hosts(cls, hosts: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(map(word, hosts))

    @field_validator("user", "python")
    @classmethod
    def _one_word(cls, text: str | None) -> str | None:
        return None if text is None else word(text)

    def script(self) -> str:
        python, scheduler, *workers = self.python or sys.executable, *self.hosts
        lines = [f"ssh {self._at(scheduler)} {python} -m distributed.cli.dask_spec (Scheduler)"]
        lines += [
            f"ssh {self._at(host)} {python} -m distributed.cli.dask_spec {SCHEDULER} "
            f"(Nanny, {self.threads} threads)"
            for host in workers
        ]
        return "\n".join(lines) + "\n"

    def start(self) -> Any:
        if find_spec("asyncssh") is None:
            raise UserError(
                "a cluster of kind ssh needs asyncssh, which is not installed; pip install asyncssh."
            )
        from distributed import SSHCluster

        options = {"username": self.user} if self.user else {}
        return SSHCluster(
            list(self.hosts), connect_options=options, worker_options={"nthreads": self.threads},
            remote_python=self.python or sys.executable,
        )  # fmt: skip

    def _at(self, host: str) -> str:
        return f"{self.user}@{host}" if self.user else host


class Kubernetes(Recipe, kind="kubernetes"):
    """Pods by Dask's operator, of an image with the same versions as here."""

    name: str = Field("whyconv", pattern=r"^[a-z]([a-z0-9-]{0,40}[a-z0-9])?$")
    image: str
    workers: int = Field(ge=1, le=10_000)
    threads: int = Field(1, ge=1, le=1024)
    memory: str = Field("4Gi", pattern=r"^[0-9]+(Mi|Gi)$")
    namespace: str | None = Field(None, pattern=r"^[a-z]([a-z0-9-]{0,60}[a-z0-9])?$")

    @field_validator("image")
    @classmethod
    def _image(cls, text: str) -> str:
        return word(text)

    def spec(self) -> dict[str, Any]:
        from dask_kubernetes.operator import make_cluster_spec  # pyright: ignore[reportMissingImports]

        size = {"cpu": str(self.threads), "memory": self.memory}
        command = ["dask", "worker", "--nthreads", str(self.threads)]
        return make_cluster_spec(
            self.name, image=self.image, n_workers=self.workers, worker_command=command,
            resources={"requests": size, "limits": size},
        )  # fmt: skip

    def script(self) -> str:
        import yaml

        _require_kubernetes()
        return yaml.safe_dump(self.spec(), sort_keys=False)

    def start(self) -> Any:
        _require_kubernetes()
        from dask_kubernetes.operator import KubeCluster  # pyright: ignore[reportMissingImports]

        return KubeCluster(custom_cluster_spec=self.spec(), namespace=self.namespace, quiet=True)


class Local(Recipe, kind="local"):
    """Scheduler and worker in this process, to try a study with ``--cluster`` on a laptop."""

    threads: int = Field(1, ge=1, le=1024)
    wait: float = Field(1.0, gt=0, le=100_000)

    def script(self) -> str:
        return f"scheduler and one worker of {self.threads} threads in this process\n"

    def start(self) -> Any:
        from distributed import LocalCluster

        return LocalCluster(
            n_workers=1,
            threads_per_worker=self.threads,
            processes=False,
            dashboard_address=LOOPBACK,  # without one, a port is opened to everybody
            worker_dashboard_address=LOOPBACK,
        )


def _require_kubernetes() -> None:
    if find_spec("dask_kubernetes") is None:
        raise UserError(
            "a cluster of kind kubernetes needs dask-kubernetes, which is not installed; "
            "pip install dask-kubernetes."
        )


def _seconds(walltime: str) -> int:
    """Seconds of HH:MM:SS or D-HH:MM[:SS]; 0 for anything else, also for HH:MM, which is read as MM:SS."""
    found = _WALLTIME.fullmatch(walltime)
    if not found or not (found[1] or found[4]):
        return 0
    days, hours, minutes, seconds = (int(part or 0) for part in found.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds
