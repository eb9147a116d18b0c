"""A guardian stops what tracekit left, in good order, and does nothing otherwise."""

import errno
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from shlex import quote

import psutil
import pytest

from children import until, until_gone
from tracekit.base.processes import StopPolicy, runs, start_of
from tracekit.base.recording import Provenance, Recording
from tracekit.base.stages import mark
from tracekit.record.supervisor import (
    GuardianOrder,
    Supervisor,
    Watched,
    _Guardian,  # pyright: ignore[reportPrivateUsage]
    size,
)
from tracekit.workload.journal import Journal

GENTLE = ((int(signal.SIGINT), 30.0), (int(signal.SIGTERM), 30.0), (int(signal.SIGKILL), 30.0))
STEEP = ((int(signal.SIGINT), 0.2), (int(signal.SIGTERM), 0.2), (int(signal.SIGKILL), 30.0))
PRELUDE = "import os, signal, sys, time\nsay = lambda line: print(line, flush=True)\n"
DEAF = "signal.signal(2, signal.SIG_IGN); signal.signal(15, signal.SIG_IGN)\n"
WAIT = "say('ready'); time.sleep(600)"
GONE = "tracekit was ended before it could finish"

# The kernel tells the time of boot in whole seconds. On a machine that booted late in a second, all
# times of day that follow from it are nearly a second too early; here they are by 0.99 s.
LATE_BOOT = """
import psutil
from psutil import _psplatform
real = _psplatform.boot_time
_psplatform.boot_time = lambda: real() - 0.99
"""

Kill = Callable[..., str]


def python(code: str) -> tuple[str, ...]:
    return (sys.executable, "-I", "-S", "-c", PRELUDE + code)


def start(
    supervisor: Supervisor, *argv: str, policy: StopPolicy | None = None
) -> subprocess.Popen[bytes]:
    null, policy = subprocess.DEVNULL, policy or StopPolicy()
    return supervisor.start(argv, policy, env=os.environ, stdout=null, stderr=null).process


@pytest.fixture
def recording(tmp_path: Path) -> Recording:
    recording = Recording(tmp_path / "run")
    recording.save_provenance(Provenance())
    mark(recording, "record", "running")
    return recording


@pytest.fixture
def kill(recording: Recording) -> Iterator[Kill]:
    """Start a program under a tracekit of its own, and kill that one; return how it ended."""
    pids: list[int] = []

    def die(argv: tuple[str, ...], policy: StopPolicy, timeout: float) -> None:
        with Supervisor(recording.folder) as supervisor:
            env, pipe = os.environ, subprocess.PIPE
            process = supervisor.start(argv, policy, env=env, stdout=pipe, stderr=pipe).process
            supervisor.note("xctrace: saving", timeout)
            supervisor.expect_worker(recording.journal_file)
            assert process.stdout is not None
            process.stdout.readline()
            (recording.folder / "pid").write_text(str(process.pid))
            os.kill(os.getpid(), signal.SIGKILL)

    def kill_tracekit(code: str, policy: StopPolicy, timeout: float) -> str:
        tracekit = os.fork()
        if not tracekit:
            try:
                die(python(code), policy, timeout)
            finally:
                os._exit(1)
        os.waitpid(tracekit, 0)
        pids.append(int((recording.folder / "pid").read_text()))

        def message() -> str:
            return recording.provenance().stages["record"].message

        until(lambda: "; process" in message(), "the guardian says that it is done")
        until_gone(pids[-1])
        return message().replace(str(pids[-1]), "PID")

    yield kill_tracekit
    for pid in filter(psutil.pid_exists, pids):
        os.kill(pid, signal.SIGKILL)


@pytest.mark.processes
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_program_runs_the_same_with_a_guardian(recording: Recording) -> None:
    code = (
        "import json\n"
        "mask = open('/proc/self/status').read().split('SigIgn:')[1].split()[0]\n"
        "say(json.dumps([dict(os.environ), os.getsid(0) == os.getpid(), mask]))"
    )
    env = {"PATH": os.environ["PATH"], "ONE": "a=b", "LC_ALL": "C.UTF-8"}
    pipe = subprocess.PIPE
    with Supervisor(recording.folder) as supervisor:
        argv = (sys.executable, "-I", "-S", "-c", PRELUDE + code)
        child = supervisor.start(argv, StopPolicy(), env=env, stdout=pipe, stderr=pipe)
        child_facts = json.loads(child.process.communicate()[0])
        supervisor.forget(child.pid)
        for program, error in (("/nowhere/at/all", errno.ENOENT), ("/etc", errno.EISDIR)):
            with pytest.raises(OSError, match=program) as caught:
                start(supervisor, program)
            assert (caught.value.errno, caught.value.filename) == (error, program)
    assert env.items() <= child_facts[0].items()
    assert "LC_CTYPE" not in child_facts[0]
    assert child_facts[1]
    # What this process ignores, as a shell's background job does SIGQUIT, its children ignore too.
    ignored = Path("/proc/self/status").read_text().split("SigIgn:")[1].split()[0]
    assert child_facts[2] == ignored
    assert recording.provenance().stages["record"].state == "running"  # the guardian says nothing


def test_only_watched_processes_are_stopped_at_the_end(tmp_path: Path) -> None:
    with Supervisor(tmp_path) as supervisor:
        watched = start(supervisor, "sleep", "60", policy=StopPolicy(GENTLE))
        forgotten = start(supervisor, "sleep", "60")
        supervisor.forget(forgotten.pid)
    assert watched.wait(60) == -signal.SIGINT
    assert forgotten.poll() is None
    forgotten.kill()
    forgotten.wait()


@pytest.mark.processes
def test_a_process_that_saves_is_first_left_alone(
    kill: Kill, recording: Recording, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sitecustomize.py").write_text(LATE_BOOT)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    code = f"say('ready'); time.sleep(1); open('{tmp_path}/saved', 'w')"
    end_message = kill(code, StopPolicy(STEEP, group=True), 30)
    assert end_message == f"{GONE} (xctrace: saving); process PID had ended"
    state = recording.provenance().stages["record"].state
    assert (state, (tmp_path / "saved").exists()) == ("interrupted", True)


def stop(recording: Recording, code: str, policy: StopPolicy, timeout: float = 0) -> str:
    """Let a guardian in this process stop a program and a worker; return how the program ended."""
    journal = str(recording.journal_file)
    with (
        subprocess.Popen(("sleep", "600")) as worker,
        subprocess.Popen(python(code), stdout=subprocess.PIPE, start_new_session=True) as process,
        closing(Journal(recording.journal_file)) as marks,
    ):
        assert process.stdout is not None
        process.stdout.readline()
        started = psutil.Process(process.pid).children()
        marks.write("about", pid=worker.pid, start=start_of(worker.pid))
        watched = Watched(process.pid, start_of(process.pid), policy)
        guardian, watched_worker = _Guardian(recording.folder), replace(watched, pid=worker.pid)
        doing = GuardianOrder(None, worker.pid, "saving", timeout, journal)
        try:
            for order in (GuardianOrder(watched_worker), doing, GuardianOrder(watched, worker.pid)):
                guardian.take(order)
            watched_processes = {process.pid: watched}
            assert guardian == _Guardian(
                recording.folder, watched_processes, "saving", timeout, journal
            )
            guardian.clean_up()
        finally:
            process.kill()
            worker.kill()
    assert (worker.returncode, [*filter(runs, started)]) == (-signal.SIGTERM, [])
    return recording.provenance().stages["record"].message.replace(str(process.pid), "PID")


@pytest.mark.processes
def test_signals_come_after_the_time_that_was_noted_until_one_helps(
    recording: Recording, tmp_path: Path
) -> None:
    starts = "import subprocess; subprocess.Popen(['sleep', '600'], start_new_session=True)\n"
    asleep = f"sleep 600 >/dev/null & echo $! >> {quote(str(tmp_path))}/left"
    leaves = f"os.system({asleep!r})\n"
    for code, signals, timeout, end in (
        (starts + leaves + WAIT, STEEP, 0.2, "ended after SIGINT"),
        (leaves + "say('ready')", STEEP, 30, "had ended"),
        (DEAF + WAIT, STEEP, 0, "ended after SIGKILL"),
        (DEAF + WAIT, STEEP[:2], 0, "could not be ended"),
    ):
        message = stop(recording, code, StopPolicy(signals, group=True), timeout)
        assert message == f"{GONE} (saving); process PID {end}"
    for leftover_pid in (tmp_path / "left").read_text().split():
        until_gone(int(leftover_pid))


@pytest.mark.processes
def test_a_program_that_grows_is_waited_for(recording: Recording, tmp_path: Path) -> None:
    bundle = tmp_path / "bundle"
    code = (
        "def save(*_):\n    for _ in range(15):\n        time.sleep(0.1)\n"
        f"        open({str(bundle)!r}, 'a').write('more')\n    os._exit(0)\n"
        f"signal.signal(2, save)\n{WAIT}"
    )
    policy = StopPolicy(((int(signal.SIGINT), 0.8), *STEEP[1:]), grows=(str(bundle),))
    assert stop(recording, code, policy).endswith("ended after SIGINT")
    assert len(bundle.read_text()) == 15 * len("more")


def guardians() -> list[psutil.Process]:
    children = psutil.Process().children()
    return [child for child in children if "tracekit.record.supervisor" in child.cmdline()]


def test_a_guardian_that_dies_is_reported(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with Supervisor(tmp_path) as supervisor:
        process = start(supervisor, "sleep", "60")
        until(guardians, "the guardian has its command line, which it has a moment after its start")
        [guardian] = guardians()
        guardian.kill()
        until_gone(guardian.pid)
        process.kill()
        process.wait()
        supervisor.forget(process.pid)
    assert "the guardian of this recording is gone" in caplog.text


def test_sizes_include_all_files_and_missing_ones_have_none(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    for name, length in (("a/x", 3), ("a/b/y", 4), ("z", 5)):
        (tmp_path / name).write_bytes(bytes(length))
    assert size([tmp_path / "a", tmp_path / "z", tmp_path / "gone"]) == 12
