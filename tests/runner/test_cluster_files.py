"""Cluster files: what they may say, the script that is shown, and that a local one runs; TLS."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("distributed")

from dask_cluster import Cluster
from runner_fakes import FakeGrid, options

import whyconv as package
from whyconv.errors import UserError
from whyconv.runner.cluster.addresses import ClusterFile, named
from whyconv.runner.cluster.connecting import connected
from whyconv.runner.cluster.starting import read
from whyconv.runner.coordinator import complete

pytestmark = pytest.mark.filterwarnings(
    "ignore::ResourceWarning",
    "ignore::pytest.PytestUnraisableExceptionWarning",
    "ignore:Port .* is already in use",
)
"""Of Dask, which leaves sockets to be closed when they are collected, and of its dashboard's port."""

SLURM = """
kind: slurm
jobs: 20
cores: 32
memory: 64 GB
walltime: "04:00:00"
"""
MORE = """
queue: short
account: lab
python: /opt/env/bin/python
modules: [gcc/12, python/3.11]
directives: [--constraint=avx512, "--nice 10"]
"""


@pytest.fixture
def file(tmp_path):
    def made(text):
        path = tmp_path / "cluster.yaml"
        path.write_text(text)
        return path

    return made


def test_a_slurm_script(file):
    lines = read(named(file(SLURM + MORE))).script().splitlines()
    assert lines[0].startswith("#!")
    for line in (
        "#SBATCH -J whyconv", "#SBATCH -p short", "#SBATCH -A lab", "#SBATCH --cpus-per-task=32",
        "#SBATCH --mem=60G", "#SBATCH -t 04:00:00", "#SBATCH --constraint=avx512", "#SBATCH --nice 10",
        "module load gcc/12", "module load python/3.11",
    ):  # fmt: skip
        assert line in lines
    assert lines[-1].startswith("/opt/env/bin/python -m distributed.cli.dask_worker tcp://SCHEDULER:PORT ")
    assert "--nthreads 32 " in lines[-1] and "--lifetime 13980s --lifetime-stagger 120s" in lines[-1]


@pytest.mark.parametrize("walltime", ["00:02:00", "00:49:59", "04:00:00", "1-00:00", "2-03:04:05"])
def test_every_worker_ends_before_its_walltime(file, walltime):
    """Whatever Dask draws between lifetime - stagger and lifetime + stagger."""
    fields = read(named(file(SLURM.replace("04:00:00", walltime)))).fields()
    lifetime, stagger = (int(each[:-1]) for each in fields["worker_extra_args"][1::2])
    days, _, rest = walltime.rpartition("-")
    whole = sum(int(n) * each for n, each in zip(rest.split(":"), (3600, 60, 1), strict=False))
    whole += 86400 * int(days or 0)
    assert min(300, max(60, whole // 10)) == whole - lifetime - stagger and lifetime - stagger > 40


def test_a_pbs_script_and_what_ssh_would_do(file):
    script = read(named(file(SLURM.replace("slurm", "pbs") + "queue: short\n"))).script()
    assert "#PBS -q short" in script and "#PBS -l walltime=04:00:00" in script
    script = read(
        named(file("kind: ssh\nhosts: [head, one, two]\nthreads: 8\nuser: me\npython: python3\n"))
    ).script()
    assert [line.split()[1] for line in script.splitlines()] == ["me@head", "me@one", "me@two"]


def test_dry_run_shows_the_script_and_writes_nothing(file, tmp_path, monkeypatch, whyconv):
    monkeypatch.chdir(tmp_path)
    path = file(SLURM + "log_directory: logs\n")
    done = whyconv("run", "brutzkus.fig3a", "--cluster", path, "--dry-run")
    assert done.returncode == 0, done.stderr
    assert "started by this:" in done.stdout and "#SBATCH -t 04:00:00" in done.stdout
    assert "#SBATCH -e logs/whyconv-%J.err" in done.stdout, "as it will be submitted"
    assert "Nothing was run, nothing written" in done.stdout
    done = whyconv("run", "brutzkus.fig3a", "--cluster", "tcp://a:1", "--dry-run")
    assert "Trials would run on the cluster at tcp://a:1." in done.stdout
    assert {each.name for each in tmp_path.iterdir()} == {"cluster.yaml"}


BAD = {
    "empty": ("", "names no kind of cluster; begin it with kind: and one of kubernetes, local, pbs,"),
    "a list": ("[1, 2]", "names no kind"),
    "unknown kind": ("kind: lsf", "has the kind 'lsf', which is not known; choose one of kubernetes, local"),
    "a kind that is no text": ("kind: [slurm]", "which is not known"),
    "not YAML": ("kind: [", "is not YAML"),
    "a tag": ("kind: !!python/object/apply:os.system [touch x]", "is not YAML"),
    "aliases": ("kind: &a local\nwait: *a", "has aliases"),
    "twice": ("kind: local\nthreads: 1\nthreads: 2", "has threads more than once"),
    "deep": ("[" * 5000, "lists in lists in lists"),
    "lacking": ("kind: slurm", "lacks jobs, cores, memory, walltime, which the kind slurm needs; add them"),
    "unknown field": (SLURM + "prologue: rm -r /", "there is no setting 'prologue'"),
    "a number": (SLURM.replace('"04:00:00"', "4:00:00"), "put the time in quotes"),
    "no time": (SLURM.replace("04:00:00", "soon"), "write HH:MM:SS or D-HH:MM, two minutes or more"),
    "a short time": (SLURM.replace("04:00:00", "00:01:00"), "two minutes or more"),
    "minutes to Slurm": (SLURM.replace("04:00:00", "04:00"), "batch systems read 04:00 as four minutes"),
    "days for PBS": (SLURM.replace("slurm", "pbs").replace("04:", "1-04:"), "walltime = '1-04:00:00'"),
    "memory": (SLURM.replace("64 GB", "64"), "memory = 64"),
    "jobs": (SLURM.replace("jobs: 20", "jobs: 0"), "jobs = 0"),
    "a command in a name": (SLURM + 'queue: "short; rm -r x"', "allowed are letters, digits"),
    "a command in a module": (SLURM + 'modules: ["a && b"]', "allowed are letters, digits"),
    "a line in a directive": (SLURM + 'directives: ["--x=1\\nrm y"]', "was given as a directive"),
    "one host": ("kind: ssh\nhosts: [a]", "hosts"),
    "an option for a host": ("kind: ssh\nhosts: [a, -oProxyCommand=x]", "allowed are letters, digits"),
}  # fmt: skip


def test_the_script_is_shown_before_an_audit_too(file, tmp_path, whyconv):
    rows = "\n".join(f"{n % 7},{n % 5},{n % 3},{n % 2}" for n in range(60))
    (tmp_path / "data.csv").write_text(f"a,b,c,label\n{rows}\n")
    words = ["audit", tmp_path / "data.csv", "--dry-run", "--out", tmp_path / "new", "--cluster"]
    done = whyconv(*words, file(SLURM))
    assert done.returncode == 0 and "#SBATCH --cpus-per-task=32" in done.stdout, done.stderr
    done = whyconv(*words, file("kind: sun"))
    assert (done.returncode, done.stdout) == (2, "") and "has the kind 'sun'" in done.stderr
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(("text", "said"), BAD.values(), ids=BAD)
def test_bad_files_are_refused_in_a_sentence(text, said, file, tmp_path, monkeypatch, whyconv):
    monkeypatch.chdir(tmp_path)
    done = whyconv("run", "brutzkus.fig3a", "--cluster", file(text), "--out", "new")
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr and done.stderr.count("\n") == 1
    assert {each.name for each in tmp_path.iterdir()} == {"cluster.yaml"}


def test_what_is_not_installed_here_is_said(file, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    for text, said in (
        (SLURM, "there is no sbatch here; run this on a login node"),
        (SLURM.replace("slurm", "pbs"), "there is no qsub here"),
        ("kind: ssh\nhosts: [a, b]", "needs asyncssh, which is not installed"),
        ("kind: kubernetes\nimage: a/b:1\nworkers: 2", "needs dask-kubernetes, which is not installed"),
    ):
        with pytest.raises(UserError, match=said):
            read(named(file(text))).start()


@pytest.mark.long
def test_a_local_cluster_from_a_file(file, tmp_path):
    rows = [
        package.run(
            "brutzkus.fig3a", set={"m": [20], "task.positions": 4}, seeds=1, out=out, cluster=where, watch=id
        )
        for out, where in ((tmp_path / "a", file("kind: local\nthreads: 2\n")), (tmp_path / "b", None))
    ]
    assert rows[0].rows == rows[1].rows and not rows[0].failed


def test_a_local_cluster_listens_to_this_machine_alone(file):
    def listening():
        """The addresses and ports at which this process listens, as the kernel writes them."""
        ours = {os.readlink(path) for path in Path("/proc/self/fd").iterdir() if path.is_symlink()}
        lines = [
            line.split()
            for name in ("tcp", "tcp6")
            for line in Path(f"/proc/net/{name}").read_text().splitlines()
        ]
        return {each[1] for each in lines if f"socket:[{each[9]}]" in ours and each[3] == "0A"}

    before = listening()
    with connected(file("kind: local\n")) as place:
        opened = listening() - before
        where = place.standing().where
    port = int(where.rpartition("http://127.0.0.1:")[2].removesuffix("/status"))
    assert f"0100007F:{port:04X}" in opened
    assert {each.partition(":")[0] for each in opened} == {"0100007F"}


def test_a_batch_system_that_refuses_is_told(file, tmp_path, monkeypatch):
    """sbatch is there, and says no."""
    fake = tmp_path / "bin"
    fake.mkdir()
    (fake / "sbatch").write_text("#!/bin/sh\necho 'no such partition' >&2\nexit 1\n")
    (fake / "sbatch").chmod(0o755)
    monkeypatch.setenv("PATH", f"{fake}:/usr/bin:/bin")
    said = r"could not be started|has no worker after 2 s; look at the queue"
    with pytest.raises(UserError, match=said), connected(file(SLURM + "wait: 0.03\n")):
        pass


@pytest.mark.long
def test_a_batch_system_runs_the_script_that_is_shown(file, tmp_path, monkeypatch):
    """sbatch is there, and starts the job at once, on this machine."""
    fake = tmp_path / "bin"
    fake.mkdir()
    (fake / "sbatch").write_text(
        '#!/bin/sh\ncp "$1" "$0.sh"\nsetsid sh "$0.sh" > "$0.log" 2>&1 &\necho Submitted batch job $!\n'
    )
    (fake / "scancel").write_text('#!/bin/sh\nkill -- -"$1"\n')
    for name in ("sbatch", "scancel"):
        (fake / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{fake}:/usr/bin:/bin")
    monkeypatch.chdir(tmp_path)
    text = (
        SLURM.replace("jobs: 20", "jobs: 1").replace("cores: 32", "cores: 2")
        + f"local_directory: {tmp_path}\nwait: 1\n"
    )
    monkeypatch.setenv("PYTHONPATH", ":".join(path for path in sys.path if "tests" in path))
    study = FakeGrid(seeds=10)
    with connected(file(text)) as place:
        rows = complete(study, tmp_path / "out", options(), place=place).rows
        assert place.standing().slots == 2
    assert len(rows) == 20 and all(row.status == "ok" for row in rows.values())


@pytest.fixture
def certificates(tmp_path):
    """An authority of our own and a certificate for everybody, made by openssl."""
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl")
    ca, key, request, certificate = (
        tmp_path / name for name in ("ca.pem", "key.pem", "request.pem", "cert.pem")
    )

    def openssl(*words):
        subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True)

    new = ("-newkey", "rsa:2048", "-nodes")
    openssl(
        "req", "-x509", *new, "-keyout", tmp_path / "ca.key", "-out", ca, "-days", 2, "-subj", "/CN=authority"
    )
    openssl("req", *new, "-keyout", key, "-out", request, "-subj", "/CN=whyconv")
    signing = ("-CA", ca, "-CAkey", tmp_path / "ca.key", "-CAcreateserial", "-days", 2)
    openssl("x509", "-req", "-in", request, *signing, "-out", certificate)
    return ca, certificate, key


def test_tls(tmp_path, certificates, monkeypatch):
    ca, certificate, key = map(str, certificates)
    flags = ("--tls-ca-file", ca, "--tls-cert", certificate, "--tls-key", key)
    (tmp_path / "dask").mkdir()
    cluster = Cluster(tmp_path / "dask", ("--protocol", "tls", *flags))
    try:
        assert cluster.address.startswith("tls://")
        cluster.worker(1)
        with pytest.raises(UserError, match="but no certificate: set DASK_DISTRIBUTED__COMM__TLS__CA_FILE"):
            complete(FakeGrid(), tmp_path / "new", options(), place=connected(cluster.address).__enter__())
        import dask

        names = ("ca-file", "client.cert", "client.key")
        pairs = zip(names, (ca, certificate, key), strict=True)
        given = {f"distributed.comm.tls.{name}": value for name, value in pairs}
        for name, value, said in (
            ("client.key", None, r"no certificate: set DASK_DISTRIBUTED__COMM__TLS__CLIENT__KEY \(docs"),
            ("client.cert", "absent.pem", "certificates for tls://.* cannot be used .*No such file"),
            ("client.key", str(tmp_path / "ca.key"), "certificates for tls://.* cannot be used .*MISMATCH"),
        ):
            wrong = {**given, f"distributed.comm.tls.{name}": value}
            with dask.config.set(wrong), pytest.raises(UserError, match=said), connected(cluster.address):
                pass
        with dask.config.set(given), connected(cluster.address) as place:
            rows = complete(FakeGrid(seeds=2), tmp_path / "out", options(), place=place).rows
        assert len(rows) == 4 and not (tmp_path / "new").exists()
        with pytest.raises(UserError, match="no scheduler answers"):  # in the clear
            monkeypatch.setattr("whyconv.runner.cluster.connecting.CONNECT_SECONDS", 2.0)
            with connected(cluster.address.replace("tls", "tcp")):
                pass
    finally:
        cluster.close()


def test_files_are_read_not_followed_into_the_dark(tmp_path):
    for name, said in (("a.yaml", "there is no such file"), ("b.json", "there is no such file")):
        with pytest.raises(UserError, match=said):
            named(tmp_path / name)
    (tmp_path / "big.yaml").write_text(" " * 1_000_001)
    with pytest.raises(UserError, match="give a file of at most"):
        named(tmp_path / "big.yaml")
    (tmp_path / "bytes.yaml").write_bytes(b"\xff\xfe")
    with pytest.raises(UserError, match="is not text in UTF-8"):
        named(tmp_path / "bytes.yaml")
    (tmp_path / "folder.yaml").mkdir()
    with pytest.raises(UserError, match="there is no such file"):
        named(tmp_path / "folder.yaml")
    (tmp_path / "good.yml").write_text("kind: local")
    assert named(tmp_path / "good.yml") == ClusterFile(tmp_path / "good.yml", "kind: local")
