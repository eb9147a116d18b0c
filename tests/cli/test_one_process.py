"""Many commands in one process: each prints what it prints alone, and leaves nothing behind."""

import logging
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest

from command_line import run
from every_command import (
    LINES,
    World,
    command_of,
    copy_world,
    signal_at_event,
)
from process_state import changes, process_state

BROKEN = "import nothing_of_this_name  # and no workload either\n"
Capture = pytest.CaptureFixture[str]


@dataclass(frozen=True)
class Printed:
    """How a command ended; `stdout` is empty where nobody read it."""

    code: int
    stdout: str
    err: str


def _run_directly(world: World, line: str) -> int:
    return run(*world.words(line))


def _unread(world: World, line: str) -> int:
    """Run a command whose standard output nobody reads."""
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w", encoding="utf-8") as stream, redirect_stdout(stream):
        status_before = os.fstat(writing)
        code = run(*world.words(line))
        assert os.path.samestat(os.fstat(writing), status_before), "its descriptor leads elsewhere"
    return code


def _run_interrupted(world: World, line: str) -> int:
    """Run a command that gets a SIGINT when it opens its first input."""
    inputs = str(world.folder / "in")
    with signal_at_event(signal.SIGINT, lambda _, name: name.startswith(inputs)) as came:
        code = run(*world.words(line))
    assert came, "the event never came"
    return code


def _in_a_thread(world: World, line: str) -> int:
    codes: list[int] = []
    thread = threading.Thread(target=lambda: codes.append(run(*world.words(line))))
    thread.start()
    thread.join()
    return codes[0]


Way = Callable[[World, str], int]
Step = tuple[Way, str]
QUICK: dict[str, Step] = {
    "rules": (_run_directly, "list rules"),
    "rules, unread": (_unread, "list rules"),
    "chip, in a thread": (_in_a_thread, "bench chip"),
    "help": (_run_directly, "runs prune --help"),
    "no such command": (_run_directly, "analyse RUN"),
    "no such option": (_run_directly, "runs prune --keeps FOLDER"),
    "workloads, one of them broken": (_run_directly, "list workloads --workloads MINE/workloads"),
    "a table of numbers": (_run_directly, "nightly baseline list --history HISTORY"),
    "a table of numbers, unread": (_unread, "nightly baseline list --history HISTORY"),
    "a gate": (_run_directly, "nightly gate NIGHT"),
    "a gate, unread": (_unread, "nightly gate NIGHT"),
    "a gate, as a document": (_in_a_thread, "nightly gate NIGHT --json"),
    "a gate, interrupted": (_run_interrupted, "nightly gate NIGHT"),
    "nights, as bytes": (_run_directly, "nightly history --history HISTORY --output -"),
    "a written export": (_run_directly, "convert EXPORTS/tick.xml OUT.csv"),
    "a refused place": (_run_directly, "export BUNDLE RUN/more"),
    "a missing kernel": (_run_directly, "kernel verify nowhere.metal"),
}
START = {"capture", "record", "batch", "bench ab", "doctor"}  # processes
BY_IMPORTS = {"calls at exit", "descriptors", "numbers of random", "threads"}  # of libraries
VOLATILE = {"bench run", "bench sweep", "bench tune"}  # prints how long things took
_OF_LINES = {
    name: (_run_directly, line)
    for name, line in LINES.items()
    if command_of(name) not in START | VOLATILE
}
EVERY = _OF_LINES | QUICK


@pytest.fixture(scope="module")
def made(made: World, tmp_path_factory: pytest.TempPathFactory) -> World:
    new_world = copy_world(made, tmp_path_factory.mktemp("broken") / "world")
    broken = new_world.places()["MINE"] / "workloads"
    broken.mkdir()
    (broken / "broken.py").write_text(BROKEN)
    return new_world


@pytest.fixture
def world(made: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(home)
    return copy_world(made, tmp_path / "world")


def printed_by(
    world: World, step: Step, capsys: Capture, source_world: World | None = None
) -> Printed:
    """Run a command with an empty place for its output, and inputs as they were `source_world`."""
    way, line = step
    if source_world is not None:
        shutil.rmtree(world.folder / "in")
        shutil.copytree(source_world.folder / "in", world.folder / "in")
    shutil.rmtree(world.output_folder)
    world.output_folder.mkdir()
    capsys.readouterr()
    code = way(world, line)
    printed = capsys.readouterr()
    return Printed(code, printed.out, printed.err)


def pairs_of(item: str, other_items: Sequence[str]) -> Iterator[str]:
    """Yield items so that this one follows itself and each other one, and each other one it."""
    yield item
    for other_item in other_items:
        yield item
        yield other_item


def all_pairs(items: Sequence[str]) -> Iterator[str]:
    """Yield items so that each follows each other one, and itself: the shortest such sequence."""
    for place, item in enumerate(items):
        yield from pairs_of(item, items[place + 1 :])
    yield items[0]


def test_all_pairs_are_one_sequence() -> None:
    assert "".join(all_pairs("abc")) == "aabacbbcca"
    assert len(set(pairwise(all_pairs("abcdef")))) == 36
    assert len([*all_pairs("abcdef")]) == 37


def hold_that_each_is_as_alone(
    names: Iterable[str],
    alone: dict[str, Printed],
    world: World,
    capsys: Capture,
    source_world: World | None = None,
) -> None:
    """Run steps one after another; each prints the same, and leaves the process as it was."""
    state_before = process_state()
    last_name = "nothing"
    for name in names:
        printed = printed_by(world, EVERY[name], capsys, source_world)
        assert printed == alone[name], f"{name}, after {last_name}"
        assert changes(state_before, process_state()) == {}, f"{name}, after {last_name}"
        last_name = name


def test_any_two_commands_in_one_process_do_not_know_of_each_other(
    world: World, capsys: Capture
) -> None:
    state_before = process_state()
    alone = {name: printed_by(world, step, capsys) for name, step in QUICK.items()}
    assert changes(state_before, process_state()).keys() <= BY_IMPORTS
    codes = {name: printed.code for name, printed in alone.items()}
    assert codes == dict.fromkeys(QUICK, 0) | {
        **{name: 141 for name in QUICK if "unread" in name},
        **dict.fromkeys(("no such command", "no such option", "a refused place"), 2),
        "a gate, interrupted": 130,
        "a missing kernel": 3,
    }
    assert "broken.py cannot be loaded" in alone["workloads, one of them broken"].err
    hold_that_each_is_as_alone(all_pairs([*QUICK]), alone, world, capsys)


def _alone(world: World, line: str) -> "subprocess.CompletedProcess[str]":
    argv = [sys.executable, "-m", "tracekit", *world.words(line)]
    return subprocess.run(argv, check=False, capture_output=True, text=True)


@pytest.mark.processes
def test_a_command_prints_the_same_in_any_process(world: World, capsys: Capture) -> None:
    """Among others that were before it, so that the first and the later ones are compared too."""
    lines = {
        name: line for name, (way, line) in QUICK.items() if way in {_run_directly, _in_a_thread}
    }
    here = {name: printed_by(world, QUICK[name], capsys) for name in [*lines, *lines]}
    for name, line in lines.items():
        shutil.rmtree(world.output_folder)
        world.output_folder.mkdir()
        completion = _alone(world, line)
        assert Printed(completion.returncode, completion.stdout, completion.stderr) == here[name], (
            name
        )


def test_commands_of_two_threads_take_turns(world: World, capsys: Capture) -> None:
    """Streams, logging and the current console belong to the process."""
    lines = ["list rules", "nightly gate NIGHT"]
    alone = [printed_by(world, (_run_directly, line), capsys).stdout for line in lines]
    assert min(map(len, alone)) > 0
    state_before = process_state()
    barrier = threading.Barrier(2)

    def repeat(line: str) -> None:
        barrier.wait()
        for _ in range(5):
            run(*world.words(line))

    threads = [threading.Thread(target=repeat, args=[line]) for line in lines]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    remaining_output = capsys.readouterr().out
    for text in alone:
        assert remaining_output.count(text) == 5
        remaining_output = remaining_output.replace(text, "")
    assert remaining_output == ""
    assert changes(state_before, process_state()) == {}


def test_a_program_with_handlers_of_its_own_keeps_them_and_gets_warnings_all_the_same(
    world: World, capsys: Capture
) -> None:
    """As a notebook or a server has them; what is logged is a warning of the command as well."""
    heard: list[str] = []

    class Ears(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            heard.append(record.getMessage())

    ears, root = Ears(), logging.getLogger()
    level = root.level
    root.addHandler(ears)
    root.setLevel(logging.ERROR)
    try:
        state_before = process_state()
        code = _run_directly(world, QUICK["workloads, one of them broken"][1])
        assert changes(state_before, process_state()) == {}
    finally:
        root.removeHandler(ears)
        root.setLevel(level)
    assert code == 0
    printed = capsys.readouterr().err
    assert "broken.py cannot be loaded" in heard[0]
    assert [line for line in heard if f"warning: {line}\n" not in printed] == []


CHECK = """
from typing import Annotated
import typer
from reference import MEANING
from tracekit.lab import Check, check

@check
def judged(size: Annotated[int, typer.Option(help=MEANING)] = 1) -> Check:
    raise NotImplementedError
"""


def test_neighbouring_modules_of_a_file_are_private_and_current(
    tmp_path: Path, capsys: Capture
) -> None:
    state_before = process_state()
    for folder, meaning in (
        ("one", "Rows."),
        ("other", "Columns of the other."),
        ("one", "Rows, edited."),
    ):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / "reference.py").write_text(f"MEANING = {meaning!r}\n")
        file = tmp_path / folder / "judged.py"
        file.write_text(CHECK)
        assert run("kernel", "verify", file, "--help") == 0, meaning
        assert meaning in " ".join(capsys.readouterr().out.split())
        assert "reference" not in sys.modules, meaning
    assert changes(state_before, process_state()).keys() <= BY_IMPORTS


@pytest.mark.campaign
@pytest.mark.parametrize("name", EVERY)
def test_a_command_does_not_know_of_any_other(
    name: str, made: World, world: World, capsys: Capture
) -> None:
    """Before and after each that comes later in the list, and itself."""
    names = [*EVERY]
    later_names = names[names.index(name) + 1 :]
    steps = {step_name: EVERY[step_name] for step_name in (name, *later_names)}
    alone = {step_name: printed_by(world, step, capsys, made) for step_name, step in steps.items()}
    hold_that_each_is_as_alone([*pairs_of(name, later_names), name], alone, world, capsys, made)
