"""A guardian stops what tracekit left, in good order, and does nothing otherwise."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from tracekit.base.processes import StopPolicy
from tracekit.base.recording import Provenance, Recording, mark
from tracekit.record.supervisor import Supervisor

pytestmark = pytest.mark.processes

LIMIT = 60.0
GENTLE = ((int(signal.SIGINT), 30.0), (int(signal.SIGTERM), 30.0), (int(signal.SIGKILL), 30.0))
STEEP = ((int(signal.SIGINT), 0.2), (int(signal.SIGTERM), 0.2), (int(signal.SIGKILL), 30.0))
# A tracekit that starts what the arguments say under a supervisor, and then waits to be killed.
TRACEKIT = """
import json, os, subprocess, sys, time
from pathlib import Path
from tracekit.base.processes import StopPolicy
from tracekit.record.supervisor import Supervisor
folder, argv, policy, more = map(json.loads, sys.argv[1:])
signals = tuple(map(tuple, policy["signals"]))
policy = StopPolicy(signals, group=policy["group"], grows=tuple(policy["grows"]))
with Supervisor(Path(folder)) as supervisor:
    pipe = subprocess.PIPE
    process = supervisor.start(argv, policy, env=os.environ, stdout=pipe, stderr=pipe).process
    if more.get("doing"):
        supervisor.note(more["doing"], more.get("timeouts", 0))
    if more.get("journal"):
        supervisor.expect_worker(Path(more["journal"]))
    process.stdout.readline()
    print(process.pid, flush=True)
    time.sleep(600)
"""
PRELUDE = "import os, signal, sys, time\nsay = lambda line: print(line, flush=True)\n"

# The kernel tells the time of boot in whole seconds. On a machine that booted late in a second, all
# times of day that follow from it are nearly a second too early; here they are by 0.99 s.
LATE_BOOT = """
import psutil
from psutil import _psplatform
real = _psplatform.boot_time
_psplatform.boot_time = lambda: real() - 0.99
"""

Kill = Callable[..., int]
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


def until(come: Callable[[], Any], what: str) -> None:
    deadline = time.monotonic() + LIMIT
    while not come():
        assert time.monotonic() < deadline, f"it did not come to this: {what}"
        time.sleep(0.02)


def runs(pid: int) -> bool:
    with contextlib.suppress(psutil.Error):
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    return False


def python(code: str) -> tuple[str, ...]:
    return (sys.executable, "-I", "-S", "-c", PRELUDE + code)


def start(
    supervisor: Supervisor, *argv: str, policy: StopPolicy | None = None
) -> subprocess.Popen[bytes]:
    null = subprocess.DEVNULL
    return supervisor.start(
        argv, policy or StopPolicy(), env=os.environ, stdout=null, stderr=null
    ).process


@pytest.fixture
def recording(tmp_path: Path) -> Recording:
    recording = Recording(tmp_path / "run")
    recording.save_provenance(Provenance())
    mark(recording, "record", "running")
    return recording


def message(recording: Recording) -> str:
    return recording.provenance().stages["record"].message


@pytest.fixture
def kill(recording: Recording) -> Iterator[Kill]:
    """Start a program under a tracekit of its own, kill that one, and return the program's pid."""
    pids: list[int] = []

    def killed(
        code: str,
        signals: tuple[tuple[int, float], ...] = GENTLE,
        *,
        group: bool = False,
        grows: tuple[str, ...] = (),
        **more: Any,
    ) -> int:
        policy = {"signals": signals, "group": group, "grows": grows}
        words = (str(recording.folder), python(code), policy, more)
        argv = (sys.executable, "-c", TRACEKIT, *map(json.dumps, words))
        with subprocess.Popen(argv, stdout=subprocess.PIPE) as tracekit:
            assert tracekit.stdout is not None
            pids.append(int(tracekit.stdout.readline()))
            tracekit.kill()
        until(lambda: "; process" in message(recording), "the guardian says that it is done")
        return pids[-1]

    yield killed
    for pid in filter(runs, pids):
        os.kill(pid, signal.SIGKILL)


@on_linux
def test_a_program_is_what_it_would_be_without_a_guardian(tmp_path: Path) -> None:
    code = (
        "import json\n"
        "mask = open('/proc/self/status').read().split('SigIgn:')[1].split()[0]\n"
        "say(json.dumps([dict(os.environ), os.getsid(0) == os.getpid(), mask]))"
    )
    env = {"PATH": os.environ["PATH"], "ONE": "a=b", "LC_ALL": "C.UTF-8"}
    pipe = subprocess.PIPE
    with Supervisor(tmp_path) as supervisor:
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


def test_what_is_still_watched_is_stopped_at_the_end(tmp_path: Path) -> None:
    with Supervisor(tmp_path) as supervisor:
        process = start(supervisor, "sleep", "60", policy=StopPolicy(GENTLE))
    assert process.wait(LIMIT) == -signal.SIGINT


def test_a_program_is_asked_first_and_may_finish(
    kill: Kill, recording: Recording, tmp_path: Path
) -> None:
    saved = tmp_path / "saved"
    code = (
        f"def save(*_):\n    time.sleep(0.3); open({str(saved)!r}, 'w').write('all'); sys.exit()\n"
        "signal.signal(2, save)\nsay('ready')\ntime.sleep(600)"
    )
    pid = kill(code, doing="xctrace: started")
    assert not runs(pid)
    assert saved.read_text() == "all"
    assert recording.provenance().stages["record"].state == "interrupted"
    assert message(recording) == (
        "tracekit was ended before it could finish (xctrace: started); "
        f"process {pid} ended after SIGINT"
    )


def test_a_deaf_program_meets_every_signal(kill: Kill, recording: Recording) -> None:
    code = "signal.signal(2, signal.SIG_IGN); signal.signal(15, signal.SIG_IGN)\nsay('ready')\n"
    assert not runs(kill(code + "time.sleep(600)", STEEP))
    assert message(recording).endswith("ended after SIGKILL")


def test_a_program_that_grows_is_waited_for(
    kill: Kill, recording: Recording, tmp_path: Path
) -> None:
    bundle = tmp_path / "bundle"
    code = (
        f"def save(*_):\n    for _ in range(15):\n        time.sleep(0.1)\n"
        f"        open({str(bundle)!r}, 'a').write('more')\n    os._exit(0)\n"
        "signal.signal(2, save)\nsay('ready')\ntime.sleep(600)"
    )
    signals = ((int(signal.SIGINT), 0.8), *STEEP[1:])
    kill(code, signals, grows=(str(bundle),))
    assert message(recording).endswith("ended after SIGINT")
    assert len(bundle.read_text()) == 15 * len("more")


def test_what_a_program_started_ends_with_it_and_so_does_a_worker_that_says_who_it_is(
    kill: Kill, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A recorder may start a worker in a way that makes it nobody's child."""
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(LATE_BOOT)
    paths = (str(tmp_path / "site"), *filter(None, [os.environ.get("PYTHONPATH")]))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))
    child, journal = tmp_path / "child", tmp_path / "workload.jsonl"
    code = (
        "import json, subprocess\n"
        "started = subprocess.Popen(['sleep', '600'], start_new_session=True)\n"
        f"open({str(child)!r}, 'w').write(str(started.pid))\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    if os.fork(): os._exit(0)\n"
        f"    line = json.dumps({{'mark': 'about', 'pid': os.getpid()}})\n"
        f"    open({str(journal)!r}, 'w').write(line + chr(10))\n"
        "    os.close(1)\n"
        "    time.sleep(600)\n"
        f"while not os.path.exists({str(journal)!r}): time.sleep(0.01)\n"
        "time.sleep(0.2); say('ready'); time.sleep(600)"
    )
    kill(code, journal=str(journal))
    for pid in (int(child.read_text()), json.loads(journal.read_text())["pid"]):
        until(lambda pid=pid: not runs(pid), "what it started has ended")


def guardians() -> list[psutil.Process]:
    children = psutil.Process().children()
    return [child for child in children if "tracekit.record.supervisor" in child.cmdline()]


def test_a_guardian_that_was_killed_is_reported_and_does_not_matter(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with Supervisor(tmp_path) as supervisor:
        process = start(supervisor, "sleep", "60")
        until(guardians, "the guardian has its command line, which it has a moment after its start")
        [own] = guardians()
        own.kill()
        until(lambda: not runs(own.pid), "the guardian has ended")
        process.kill()
        process.wait()
        supervisor.forget(process.pid)
    assert "the guardian of this recording is gone" in caplog.text
