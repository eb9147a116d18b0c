"""Every command: where its output cannot be written, where it is stopped, what it never loses."""

import os
import re
import resource
import signal
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from children import running, started_since
from command_line import iterate_commands, run
from devices import device
from every_command import (
    IN_RUN,
    LINES,
    World,
    allowed_codes,
    command_of,
    copy_world,
    output_of,
    signal_at_event,
)

FILES = [name for name in LINES if "." in output_of(name)]
FOLDERS = [name for name in LINES if output_of(name) == "OUT"]
# The first of each command: all that one writes goes through one way.
ONE_EACH = [*{command_of(name): name for name in reversed([*FILES, *FOLDERS])}.values()]
CONVERT = [name for name in LINES if name.startswith("convert")]  # each has a writer of its own
# Names of users that states, workloads and other fields have as well.
WORDS = ["done", "auto", "import", "paged", "passed", "gpu", "metal", "mlx", "run", "host"]
READ_ONLY = Path("/sys")  # where not even root can write


def cases(*names: str) -> list[Any]:
    """Return the names of commands as cases; those that start workers need processes."""
    start = {"capture", "record", "batch"}
    needed = [pytest.mark.processes if name.split()[0] in start else () for name in names]
    return [pytest.param(name, marks=marks) for name, marks in zip(names, needed, strict=True)]


@pytest.fixture
def world(made: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """A world of the test's own, from where there is no plan and no history."""
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    monkeypatch.chdir(tmp_path / "home")
    return copy_world(made, tmp_path / "world")


@pytest.fixture
def unharmed(name: str, world: World) -> Iterator[None]:
    """Hold that inputs are as they were, nothing is half written, and no process is left."""
    contents_before = world.contents()
    children = running()
    yield
    assert world.contents() == contents_before
    assert world.leftovers() == []
    # multiprocessing's own, which serves this process as long as it lives
    leftover_commands = (" ".join(process.cmdline()) for process in started_since(children))
    assert [words for words in leftover_commands if "resource_tracker" not in words] == []


def read_error(result: Any) -> str:
    assert "Traceback" not in result.err
    assert "bug of tracekit" not in result.err
    errors = [line for line in result.err.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1, result.err
    assert "\nhint: " in result.err, result.err
    return errors[0]


def test_every_command_is_here() -> None:
    lines = [f"{line} " for line in LINES.values()]
    for name in [name for name, _ in iterate_commands()]:
        assert any(line.startswith(f"{name} ") for line in lines), name


@pytest.mark.parametrize("name", cases(*LINES))
def test_a_command_works_for_any_user_name(
    name: str, world: World, tracekit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    word = WORDS[[*LINES].index(name) % len(WORDS)]
    monkeypatch.setenv("LOGNAME", word)
    monkeypatch.setattr("socket.gethostname", lambda: word)
    result = tracekit(*world.words(name))
    assert result.code in allowed_codes(name), result.err
    assert world.leftovers() == []
    if output_of(name):
        assert (world.output_folder / output_of(name).lower()).exists()


@pytest.mark.parametrize("name", cases("capture", *(name for name in LINES if not output_of(name))))
def test_a_closed_pipe_is_neither_a_regression_nor_a_bug(
    name: str, world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    contents_before = world.contents()
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w", encoding="utf-8") as stream, redirect_stdout(stream):
        code = run(*world.words(name))
    errors = capsys.readouterr().err
    assert code in {0, 141} | allowed_codes(name)
    assert "Traceback" not in errors
    assert "error: " not in errors or allowed_codes(name) != {0}
    assert name in IN_RUN or world.contents() == contents_before
    assert world.leftovers() == []


@contextmanager
def full_disk() -> Generator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    # Python would leave the bytecode of what it imports now cut off, for every process after it.
    compiles, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        yield
    finally:
        sys.dont_write_bytecode = compiles
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize(
    "name", dict.fromkeys([*ONE_EACH, *CONVERT, "analyze", "report", "runs index"])
)
@pytest.mark.usefixtures("unharmed")
def test_a_full_disk_is_an_error_in_a_sentence(name: str, world: World, tracekit: Any) -> None:
    with full_disk():
        result = tracekit(*world.words(name))
    assert result.code == 3
    assert read_error(result)


@pytest.mark.parametrize("name", ONE_EACH)
@pytest.mark.usefixtures("unharmed")
def test_an_unwritable_place_is_an_error_in_a_sentence(
    name: str, world: World, tracekit: Any
) -> None:
    if not READ_ONLY.is_dir():
        pytest.skip("no folder here that not even root can write")
    result = tracekit(*world.words(name, READ_ONLY / output_of(name).lower()))
    assert result.code in {2, 3}
    assert str(READ_ONLY) in read_error(result)


@pytest.mark.parametrize("name", [*FILES, *FOLDERS])
@pytest.mark.usefixtures("unharmed")
def test_an_input_is_never_the_output(name: str, world: World, tracekit: Any) -> None:
    inputs = world.places()
    folder = inputs.pop("FOLDER")
    line = " ".join(world.words(name)).replace(f"{folder} ", "")
    for place in [place for place in inputs.values() if str(place) in line] or [inputs["RUN"]]:
        file = next(path for path in (place, *place.rglob("*")) if path.is_file())
        for output in {place, file}:
            result = tracekit(*world.words(name, output))
            assert result.code in {2, 3}, (place, output)
            assert read_error(result), (place, output)


@pytest.mark.parametrize("name", cases(*ONE_EACH))
@pytest.mark.usefixtures("unharmed")
def test_links_are_followed_and_devices_stay(name: str, world: World, tracekit: Any) -> None:
    exclusive = name in {
        "list templates make",
        "nightly init",
        "runs redact",
    }  # never anything but a new file
    output = world.output_folder / output_of(name).lower()
    real = world.folder / "far" / output.name
    (real if name in FOLDERS else real.parent).mkdir(parents=True)
    output.symlink_to(real)
    result = tracekit(*world.words(name))
    assert result.code == (2 if exclusive else 0), result.err
    assert output.is_symlink()
    if not exclusive:
        assert any(real.iterdir()) if name in FOLDERS else real.stat().st_size
    output.unlink()
    null = device(world.folder, "null")
    output.symlink_to(null)
    result = tracekit(*world.words(name))
    assert result.code in ({2, 3} if exclusive or name in FOLDERS else {0}), result.err
    assert (null.is_char_device(), output.is_symlink()) == (True, True)


def reading(world: World) -> Callable[[str, str], bool]:
    inputs = str(world.folder / "in")
    # A bundle's files are opened from its folder.
    return lambda event, name: (
        event in {"subprocess.Popen", "sqlite3.connect"}
        or name.startswith(inputs)
        or name.endswith("form.template")
    )


def writing(world: World) -> Callable[[str, str], bool]:
    out_prefix = str(world.output_folder)
    return lambda _, name: (
        name.startswith(out_prefix) and name != out_prefix and "recording.json" not in name
    )


# Workers read and write for `batch`; its own tests stop it.
KINDS = re.compile(r"\b(RUN|BUNDLE|NIGHT|EXPORTS|HISTORY|PLAN)\b")
STOPPED = [
    *((name, signal.SIGINT) for name, line in LINES.items() if KINDS.search(line)),
    *((name, signal.SIGTERM) for name in (*FILES, *FOLDERS)),
]
EVENTS = {signal.SIGINT: reading, signal.SIGTERM: writing}


@pytest.mark.parametrize(("name", "number"), [case for case in STOPPED if case[0] != "batch"])
@pytest.mark.usefixtures("unharmed")
def test_a_command_that_is_stopped_says_so(
    name: str, number: signal.Signals, world: World, tracekit: Any
) -> None:
    with signal_at_event(number, EVENTS[number](world)) as came:
        result = tracekit(*world.words(name))
    assert came, "the event never came"
    assert result.code == 130, (came, result.err)
    assert re.search("[Ii]nterrupted|stopped", read_error(result))


REFUSED = {
    "a table in a bundle": "convert BUNDLE BUNDLE/tick.csv --schema tick",
    "tables over a user's": "convert BUNDLE MINE --to csv",
    "a user's stacks": "convert EXPORTS/metal-gpu-intervals.xml MINE/out.parquet",
    "a user's table": "convert EXPORTS/metal-gpu-intervals.xml MINE/out.csv",
    "a table in a run": "tables RUN gpu_intervals --output RUN/result.csv",
    "a table over a user's": "tables BUNDLE gpu_intervals --output MINE/out.csv",
    "an answer over a user's": "query select+1 RUN --output MINE/out.csv",
    "reports over a plan": "nightly gate --config MINE/plan.toml --junit MINE/plan.toml",
    "two reports in one file": "nightly gate RUN TWIN --sarif MINE/new --junit MINE/new",
    "a page over a user's": "compare RUN TWIN --html MINE/index.html",
    "an index over a user's": "runs index MINE",
    "a trend over a user's": "nightly history --history HISTORY --html MINE/index.html",
    "an export of the history over a user's": "nightly history --history HISTORY "
    "--output MINE/out.csv",
    "a bench over a user's": "bench run -o MINE/out.csv",
    "parity in a run": "kernel parity --output RUN/result.json",
    "a run in a bundle": "import EXPORTS --output BUNDLE/run",
    "a recording in a bundle": "record --output BUNDLE/run -- true",
    "a recording over a run": "capture --workload paged --output RUN",
    "exports in a run": "export BUNDLE RUN/more",
    "a batch in a run": "batch BUNDLE --output RUN/out",
    "a plan in a run": "nightly init RUN/tracekit.toml",
    "a template in a bundle": "list templates make BUNDLE/x.tracetemplate "
    "--from MINE/a.tracetemplate --counter-profile 1",
}


KEPT = re.compile(
    "is not as tracekit wrote it|nothing else is written there|is read, so it is not written|"
    "Two outputs are"
)


@pytest.mark.parametrize("line", REFUSED.values(), ids=REFUSED)
def test_no_command_overwrites_foreign_files(line: str, made: World, tracekit: Any) -> None:
    contents_before = made.contents()
    result = tracekit(*made.words(line))
    assert (result.code, result.out) == (2, ""), result.err
    assert KEPT.search(read_error(result))
    assert made.contents() == contents_before


@pytest.mark.parametrize(
    "line",
    [
        "convert EXPORTS/metal-gpu-intervals.xml MINE/tick.csv",
        "convert BUNDLE MINE --to csv",
        "convert RUN MINE/out.csv --to chrome",
        "tables RUN gpu_intervals --output MINE/out.csv",
        "query select+1 RUN --output MINE/out.csv",
        "runs index MINE",
    ],
)
def test_force_replaces_a_users_file_and_is_not_needed_again(
    line: str, world: World, tracekit: Any
) -> None:
    words, places = world.words(line), world.places()
    (places["MINE"] / "run").symlink_to(places["RUN"])  # of a folder without runs there is no index
    assert [tracekit(*words, *force).code for force in ([], ["--force"], [])] == [2, 0, 0]


@pytest.mark.parametrize(
    "line",
    [
        "import EXPORTS --target nobody --output",
        "import BUNDLE --target nobody --output",
        "import PLAN --output",
        pytest.param(
            "capture --recorder host --workload paged --q-heads 3 --kv-heads 2 --output",
            marks=pytest.mark.processes,
        ),
    ],
)
def test_a_folder_that_the_user_made_stays_when_nothing_comes_of_it(
    line: str, made: World, tmp_path: Path, tracekit: Any
) -> None:
    folder = tmp_path / "empty"
    folder.mkdir()
    assert tracekit(*made.words(line), folder).code in {2, 3}
    assert list(folder.iterdir()) == []
