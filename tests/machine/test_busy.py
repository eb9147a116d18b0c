"""Who uses the cores."""

import os
import signal
import subprocess
from pathlib import Path

import pytest

from children import until
from tracekit.machine.busy import Busy, busy_words, find_busiest


def test_the_busiest_are_named_with_their_cores() -> None:
    assert busy_words(()) == ""
    busiest = [Busy("ld", 3, 1.42), Busy("chromium", 1, 0.5), Busy("a", 1, 0.3), Busy("b", 1, 0.2)]
    assert busy_words(busiest) == "ld (3) 1.4 cores, chromium 0.5, a 0.3"


@pytest.mark.processes
def test_a_process_that_spins_is_named_unless_it_is_ours(tmp_path: Path) -> None:
    spinner = tmp_path / "spinner"
    spinner.symlink_to("/bin/sh")
    # The shell between is gone at once, so that the spinner is nobody's child here.
    line = f"'{spinner}' -c 'while :; do :; done' >/dev/null 2>&1 & echo $!"
    pid = int(subprocess.check_output(["/bin/sh", "-c", line]))
    try:
        until(lambda: "spinner" in {busy.name for busy in find_busiest()})
        assert "spinner" not in {busy.name for busy in find_busiest([pid])}
    finally:
        os.kill(pid, signal.SIGKILL)
