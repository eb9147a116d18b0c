"""A guardian stops what tracekit left, in good order, and does nothing otherwise."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from children import until, until_gone
from tracekit.base.processes import StopPolicy
from tracekit.base.recording import Provenance, Recording, mark
from tracekit.record.supervisor import Supervisor, size

GENTLE = ((int(signal.SIGINT), 30.0), (int(signal.SIGTERM), 30.0), (int(signal.SIGKILL), 30.0))
STEEP = ((int(signal.SIGINT), 0.2), (int(signal.SIGTERM), 0.2), (int(signal.SIGKILL), 30.0))
PRELUDE = "import os, signal, sys, time\nsay = lambda line: print(line, flush=True)\n"
DEAF = "signal.signal(2, signal.SIG_IGN); signal.signal(15, signal.SIG_IGN)\n"
WAIT = "say('ready'); time.sleep(600)"

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

    def die(argv: tuple[str, ...], policy: StopPolicy, timeout: float, journal: Path) -> None:
        with Supervisor(recording.folder) as supervisor:
            env, pipe = os.environ, subprocess.PIPE
            process = supervisor.start(argv, policy, env=env, stdout=pipe, stderr=pipe).process
            supervisor.note("xctrace: saving", timeout)
            supervisor.expect_worker(journal)
            assert process.stdout is not None
            process.stdout.readline()
            (recording.folder / "pid").write_text(str(process.pid))
            os.kill(os.getpid(), signal.SIGKILL)

    def killed(
        code: str,
        policy: StopPolicy | None = None,
        timeout: float = 0,
        journal: Path = Path("none"),
    ) -> str:
        tracekit = os.fork()
        if not tracekit:
            try:
                die(python(code), policy or StopPolicy(GENTLE), timeout, journal)
            finally:
                os._exit(1)
        os.waitpid(tracekit, 0)
        pids.append(int((recording.folder / "pid").read_text()))

        def message() -> str:
            return recording.provenance().stages["record"].message

        until(lambda: "; process" in message(), "the guardian says that it is done")
        until_gone(pids[-1])
        return message().replace(str(pids[-1]), "PID")

    yield killed
    for pid in filter(psutil.pid_exists, pids):
        os.kill(pid, signal.SIGKILL)


@pytest.mark.processes
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_program_is_what_it_would_be_without_a_guardian(recording: Recording) -> None:
    code = (
        "import json\n"
        "mask = open('/proc/self/status').read().split('SigIgn:')[1].split()[0]\n"
        "say(json.dumps([dict(os.environ), os.getsid(0) == os.getpid(), mask]))"
    )
    env = {"PATH": os.environ["PATH"], "ONE": "a=b", "LC_ALL": "C.UTF-8"}
    pipe = subprocess.PIPE
    with Supervisor(recording.folder) as supervisor:
        argv = ("python3", "-I", "-S", "-c", PRELUDE + code)
        child = supervisor.start(argv, StopPolicy(), env=env, stdout=pipe, stderr=pipe)
        seen = json.loads(child.process.communicate()[0])
        supervisor.forget(child.pid)
        for program, error in (("/nowhere/at/all", FileNotFoundError), ("/etc", PermissionError)):
            with pytest.raises(error) as caught:
                start(supervisor, program)
            assert caught.value.filename == program
    assert env.items() <= seen[0].items()
    assert "LC_CTYPE" not in seen[0]
    assert seen[1]
    # What this process ignores, as a shell's background job does SIGQUIT, its children ignore too.
    ignored = Path("/proc/self/status").read_text().split("SigIgn:")[1].split()[0]
    assert seen[2] == ignored
    assert recording.provenance().stages["record"].state == "running"  # the guardian says nothing


def test_what_is_still_watched_is_stopped_at_the_end_and_nothing_else(tmp_path: Path) -> None:
    with Supervisor(tmp_path) as supervisor:
        watched = start(supervisor, "sleep", "60", policy=StopPolicy(GENTLE))
        forgotten = start(supervisor, "sleep", "60")
        supervisor.forget(forgotten.pid)
    assert watched.wait(60) == -signal.SIGINT
    assert forgotten.poll() is None
    forgotten.kill()
    forgotten.wait()


def save(file: Path, parts: int, pause: float) -> str:
    """Write code that on SIGINT saves parts into a file, with a pause before each, and ends."""
    return (
        f"def save(*_):\n    for _ in range({parts}):\n        time.sleep({pause})\n"
        f"        open({str(file)!r}, 'a').write('more')\n    os._exit(0)\n"
        f"signal.signal(2, save)\n{WAIT}"
    )


@pytest.mark.processes
def test_a_program_is_asked_first(kill: Kill, recording: Recording, tmp_path: Path) -> None:
    assert kill(save(tmp_path / "saved", 1, 0.3)) == (
        "tracekit was ended before it could finish (xctrace: saving); "
        "process PID ended after SIGINT"
    )
    assert (tmp_path / "saved").read_text() == "more"
    assert recording.provenance().stages["record"].state == "interrupted"


@pytest.mark.processes
@pytest.mark.parametrize(
    ("code", "timeout", "end"),
    [
        (DEAF + WAIT, 0, "process PID ended after SIGKILL"),
        # what saves already, and so ends by itself, is first left to itself
        ("say('ready'); time.sleep(1)", 30, "process PID had ended"),
        (WAIT, 0.2, "process PID ended after SIGINT"),
    ],
)
def test_signals_come_after_the_time_that_was_noted_until_one_helps(
    code: str, timeout: float, end: str, kill: Kill
) -> None:
    assert kill(code, StopPolicy(STEEP), timeout).endswith(end)


@pytest.mark.processes
def test_a_program_that_grows_is_waited_for(kill: Kill, tmp_path: Path) -> None:
    bundle = tmp_path / "bundle"
    policy = StopPolicy(((int(signal.SIGINT), 0.8), *STEEP[1:]), grows=(str(bundle),))
    assert kill(save(bundle, 15, 0.1), policy).endswith("ended after SIGINT")
    assert len(bundle.read_text()) == 15 * len("more")


@pytest.mark.processes
def test_what_a_program_started_ends_with_it_and_so_does_a_worker_that_says_who_it_is(
    kill: Kill, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A recorder may start a worker in a way that makes it nobody's child."""
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(LATE_BOOT)
    paths = (str(tmp_path / "site"), *filter(None, [os.environ.get("PYTHONPATH")]))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))
    child, left, journal = tmp_path / "child", tmp_path / "left", tmp_path / "workload.jsonl"
    code = (
        "import json, subprocess\n"
        "started = subprocess.Popen(['sleep', '600'], start_new_session=True)\n"
        f"open({str(child)!r}, 'w').write(str(started.pid))\n"
        "if os.fork() == 0:\n"
        "    if os.fork(): os._exit(0)\n"
        f"    open({str(left)!r}, 'w').write(str(os.getpid())); os.close(1); {DEAF}"
        "    time.sleep(600)\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    if os.fork(): os._exit(0)\n"
        f"    line = json.dumps({{'mark': 'about', 'pid': os.getpid()}})\n"
        f"    open({str(journal)!r}, 'w').write(line + chr(10))\n"
        "    os.close(1)\n"
        "    time.sleep(600)\n"
        f"while not all(map(os.path.exists, {[str(left), str(journal)]!r})): time.sleep(0.01)\n"
        "time.sleep(0.2)\n"
    )
    kill(code + WAIT, StopPolicy(GENTLE, group=True), journal=journal)
    pids = (int(child.read_text()), int(left.read_text()))
    for pid in (*pids, json.loads(journal.read_text())["pid"]):
        until_gone(pid)


def guardians() -> list[psutil.Process]:
    children = psutil.Process().children()
    return [child for child in children if "tracekit.record.supervisor" in child.cmdline()]


def test_a_guardian_that_dies_is_reported(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with Supervisor(tmp_path) as supervisor:
        process = start(supervisor, "sleep", "60")
        until(guardians, "the guardian has its command line, which it has a moment after its start")
        [own] = guardians()
        own.kill()
        until_gone(own.pid)
        process.kill()
        process.wait()
        supervisor.forget(process.pid)
    assert "the guardian of this recording is gone" in caplog.text


def test_sizes_are_those_of_all_files_and_what_is_gone_has_none(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    for name, length in (("a/x", 3), ("a/b/y", 4), ("z", 5)):
        (tmp_path / name).write_bytes(bytes(length))
    assert size([tmp_path / "a", tmp_path / "z", tmp_path / "gone"]) == 12
