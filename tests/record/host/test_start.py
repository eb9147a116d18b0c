import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tracekit.base.processes import Child
from tracekit.record.host.recorder import Timeouts
from tracekit.record.supervisor import Supervisor

pytestmark = pytest.mark.processes

SHORT = Timeouts(interrupt=0.2, terminate=0.2, kill=30.0)
Run = Callable[[str], Child]

# says when it is ready to be asked
READY = "print('ready', flush=True); time.sleep(3600)"
DEAF = "import signal, time; {}; " + READY
NO_INTERRUPT = "signal.signal(2, signal.SIG_IGN)"
NO_TERMINATE = "signal.signal(15, signal.SIG_IGN)"


@pytest.fixture
def ready(tmp_path: Path) -> Iterator[Run]:
    """Start a program and wait until it says that it is ready."""
    children: list[Child] = []
    with Supervisor(tmp_path) as supervisor:

        def begin(code: str) -> Child:
            argv = (sys.executable, "-I", "-S", "-c", code)
            pipe, null = subprocess.PIPE, subprocess.DEVNULL
            child = supervisor.start(argv, SHORT.policy, env=os.environ, stdout=pipe, stderr=null)
            children.append(child)
            assert child.process.stdout is not None
            assert child.process.stdout.readline() == b"ready\n"
            return child

        yield begin
        for child in children:
            child.clean_up()


@pytest.mark.parametrize(
    ("code", "ended", "by"),
    [
        pytest.param("import time; " + READY, True, signal.SIGINT, id="asked"),
        pytest.param(DEAF.format(NO_INTERRUPT), True, signal.SIGTERM, id="terminated"),
        pytest.param(
            DEAF.format(f"{NO_INTERRUPT}; {NO_TERMINATE}"), False, signal.SIGKILL, id="killed"
        ),
    ],
)
def test_it_is_asked_then_terminated_then_killed(
    ready: Run, code: str, ended: bool, by: signal.Signals
) -> None:
    child = ready(code)
    assert child.stop() is ended
    assert child.exit_status == -by


def test_ctrl_c_while_it_is_asked_kills_it(ready: Run) -> None:
    child = ready(DEAF.format(f"{NO_INTERRUPT}; {NO_TERMINATE}"))
    presses = threading.Timer(0.3, signal.raise_signal, [signal.SIGINT])
    presses.start()
    assert not child.stop(Timeouts(interrupt=600.0, terminate=600.0).policy)
    presses.join(30)
    assert child.exit_status == -signal.SIGKILL
