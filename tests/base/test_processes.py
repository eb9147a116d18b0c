"""Processes: told from others of their number, started, stopped, and what they left behind."""

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import psutil
import pytest

from children import until, until_gone
from nobody import folder_of_nobody
from tracekit.base.processes import (
    Child,
    StopPolicy,
    _gate,
    end_leftovers,
    exit_words,
    find_process,
    find_reported_process,
    kill_group,
    last_words,
    run,
    runs,
    send_signal,
    shield_signals,
    start_child,
    start_of,
)

DEAF = "trap '' INT TERM; echo ready; while :; do sleep 0.1; done"
LIFELINE = "echo ready; cat; exit 7"


def test_a_process_is_known_by_its_number_and_start() -> None:
    code = "import sys; from tracekit.base.processes import start_of; print(start_of({}))"
    argv = (sys.executable, "-c", code.format(os.getpid()))
    completion = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert int(completion.stdout) == start_of(os.getpid())  # another process reads the same
    with subprocess.Popen(("sleep", "60")) as sleeper:
        process, start = psutil.Process(sleeper.pid), start_of(sleeper.pid)
        assert find_process(sleeper.pid, start) == process
        assert find_process(sleeper.pid, start - 1) is find_process(sleeper.pid, start + 1) is None
        # one that was named with its start is that one or none; else it is no older than we are
        assert (
            find_reported_process(sleeper.pid, start)
            == find_reported_process(sleeper.pid)
            == (process,)
        )
        assert find_reported_process(os.getpid()) == (psutil.Process(),)
        assert find_reported_process(sleeper.pid, start + 1) == ()
        assert (
            find_reported_process(os.getppid())
            == find_reported_process(0)
            == find_reported_process(-1)
            == ()
        )
        assert runs(process)
        sleeper.kill()
        until(lambda: process.status() == psutil.STATUS_ZOMBIE)
        assert not runs(process)
    assert not runs(process)
    assert find_process(sleeper.pid, start) is None
    assert find_reported_process(sleeper.pid, start) == ()
    with pytest.raises(psutil.NoSuchProcess):
        start_of(sleeper.pid)


def child(line: str, policy: StopPolicy) -> Child:
    null, pipe = subprocess.DEVNULL, subprocess.PIPE
    started_child = start_child(
        ["sh", "-c", line], policy, env=os.environ, stdout=pipe, stderr=null
    )
    assert started_child.process.stdout is not None
    started_child.process.stdout.readline()
    return started_child


def test_stop_signals_come_in_order_and_a_lifeline_before_them() -> None:
    policy = StopPolicy(((signal.SIGINT, 0.05), (signal.SIGTERM, 0.05), (signal.SIGKILL, 5.0)))
    deaf = child(DEAF, policy)
    assert not deaf.stop()
    assert (deaf.exit_status, deaf.killed) == (-signal.SIGKILL, True)
    deaf.clean_up()
    policy = StopPolicy(((0, 20.0), (signal.SIGTERM, 5.0), (signal.SIGKILL, 5.0)), lifeline=True)
    listening = child(LIFELINE, policy)
    assert listening.stop()
    assert (listening.exit_status, listening.killed) == (7, False)
    assert listening.stop()  # again, it has ended
    listening.clean_up()


def test_a_program_is_run_to_its_end(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_bytes(b"#!/bin/sh\necho out \xff; echo err >&2; cat; exit 3\n")
    program.chmod(0o755)
    started = partial(start_child, cwd=tmp_path)
    path = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    for name, env in (("./program", os.environ), ("program", path)):
        completion = run((name,), 60, env=env, start=started)
        assert (completion.returncode, completion.stdout, completion.stderr) == (
            3,
            "out \ufffd\n",
            "err\n",
        ), name


def test_children_are_noted_while_a_process_runs_and_ended_later() -> None:
    starter = child("sleep 60 & sh -c 'sleep 60 & echo ready; wait'; sleep 60", StopPolicy())
    starter.note_descendants()
    descendants = set(starter.descendants)
    assert len(descendants) == 3
    [middle] = descendants & {process.parent() for process in descendants}
    middle.kill()
    until_gone(middle.pid)
    starter.note_descendants()  # what is left of it has another parent now
    assert starter.descendants >= descendants
    assert end_leftovers(descendants) == tuple(
        sorted(descendant.pid for descendant in descendants if descendant != middle)
    )
    starter.stop()
    starter.clean_up()
    starter.note_descendants()  # it is gone: what is known stays
    assert starter.descendants >= descendants


def test_somebody_who_asks_again_while_a_process_is_stopped_has_it_killed() -> None:
    line = "trap 'kill -INT $PPID' TERM; echo ready; while :; do sleep 0.1; done"
    deaf = child(line, StopPolicy(((signal.SIGTERM, 60.0),)))
    assert not deaf.stop()
    assert (deaf.interrupted, deaf.killed, deaf.exit_status) == (True, True, -signal.SIGKILL)
    deaf.clean_up()


def test_a_process_that_is_gone_or_not_ours_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def refusing(process: psutil.Process) -> str:
        raise psutil.AccessDenied(process.pid)

    with subprocess.Popen(["true"]) as short_process:
        pass
    with folder_of_nobody():
        for pid in (short_process.pid, 1):
            send_signal(pid, signal.SIGCONT)
    with monkeypatch.context() as of_another:
        of_another.setattr(psutil.Process, "status", refusing)
        assert runs(psutil.Process())


def test_signals_are_sent_until_one_helps() -> None:
    policy, sent = StopPolicy(((2, 1.0), (15, 2.0), (9, 3.0))), list[object]()

    def has_ended(seconds: float) -> bool:
        sent.append(seconds)
        return seconds == 2.0

    assert policy.escalate(sent.append, has_ended) == 15
    assert sent == [2, 1.0, 15, 2.0]
    assert policy.escalate(sent.append, lambda _: False) is None


def test_how_a_process_ended() -> None:
    words = {
        0: "exit code 0", 54: "exit code 54", -9: "signal SIGKILL", -250: "signal 250",
        139: "signal SIGSEGV", None: "no exit code",
    }  # fmt: skip
    assert {status: exit_words(status) for status in words} == words


def test_last_words_are_the_end_of_the_new_output(tmp_path: Path) -> None:
    file = tmp_path / "said"
    assert last_words(file) == ""
    file.write_bytes(b"before\n" + b"x" * 3000 + b" end\xff\n")
    assert last_words(file) == "x" * (2000 - 6) + " end\ufffd"
    assert last_words(file, 3007) == "end\ufffd"


def test_remaining_processes_are_killed() -> None:
    argv = ["sh", "-c", "sleep 60 & echo $!"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, start_new_session=True) as process:
        assert process.stdout is not None
        leftover_pid = int(process.stdout.readline())
        process.wait()
        assert psutil.Process(leftover_pid).is_running()
        kill_group(process)
    until_gone(leftover_pid)


@pytest.mark.processes
def test_variables_of_the_linker_reach_a_program_through_a_shell_that_has_lost_them(
    tmp_path: Path,
) -> None:
    """As the shell of macOS has, that is the gate."""
    odd, path, pipe = "it's $HOME; a", {"PATH": os.environ["PATH"]}, subprocess.PIPE
    line_file = tmp_path / "line"
    code = (
        "import os, sys; print([os.environ.get(x) for x in sys.argv[1:]], sys.stdin.read(),"
        " os.path.exists('/dev/fd/7'))"
    )
    for line, descriptor, expected_result in (
        (b"\nmore", 7, (0, f"{[odd, None]} input False\n")),  # and nothing of what the gate reads
        (b"\nmore", 17, (0, f"{[odd, None]} input False\n")),
        (b"", 7, (1, "")),  # tracekit is gone
    ):
        gate = _gate({**path, "DYLD_LIBRARY_PATH": odd, "DYLDX": "no"}, descriptor)
        argv = (*gate, sys.executable, "-c", code, "DYLD_LIBRARY_PATH", "DYLDX")
        script = f'exec {descriptor}<"$1"; shift; exec "$@"'
        line_file.write_bytes(line)
        bash = ("bash", "-c", script, "bash", str(line_file), *argv)
        completion = subprocess.run(
            bash, env=path, input="input", text=True, stdout=pipe, check=False
        )
        assert (completion.returncode, completion.stdout) == expected_result, (line, descriptor)


def test_a_program_begins_when_it_is_known_and_never_if_nobody_can_know() -> None:
    children = list[Child]()

    def note_child(starting: Child) -> None:
        children.append(starting)
        assert not starting.wait(0.3), "it began before"
        if len(children) == 2:
            raise KeyboardInterrupt

    start = partial(start_child, ("cat",), StopPolicy(), env=os.environ, stdout=subprocess.PIPE)
    started_child = start(stderr=subprocess.PIPE, announce=note_child)
    assert (started_child.wait(20), started_child.exit_status) == (True, 0)
    started_child.clean_up()
    with pytest.raises(KeyboardInterrupt):
        start(stderr=subprocess.PIPE, announce=note_child)
    assert children[1].exit_status == -signal.SIGKILL


def test_a_signal_comes_when_the_process_is_known() -> None:
    done: list[str] = []

    def start() -> None:
        with shield_signals():
            os.kill(os.getpid(), signal.SIGINT)
            os.kill(os.getpid(), signal.SIGINT)
            done.append("started")

    with pytest.raises(KeyboardInterrupt):
        start()
    assert done == ["started"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    try:
        signal.signal(signal.SIGINT, lambda *_: done.append("asked"))
        start()
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    assert done == ["started", "started", "asked"]  # twice in one go: the first alone is served


def handler_within() -> object:
    with shield_signals():
        return signal.getsignal(signal.SIGINT)


def test_signals_are_deferred_only_if_they_can_come() -> None:
    with ThreadPoolExecutor() as executor:
        assert executor.submit(handler_within).result() is signal.default_int_handler
    assert handler_within() is not signal.default_int_handler
