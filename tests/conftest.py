"""What all tests share: the corpus of real exports, golden files."""

import gc
import itertools
import json
import logging
import os
import re
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import psutil
import pytest

from children import running
from command_line import run
from paging.browsing import FLAGS, chromium
from tracekit.base import ToolError, stamps
from tracekit.lab.msl.compiler import find_compiler

pytest_plugins = ["tiers", "surroundings", "costs", "pytester"]

_BESIDE = Path(__file__).parents[2] / "shared" / "corpus"
# A shell lets programs in its background ignore SIGINT; tests send it to themselves.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

CORPUS = Path(os.environ.get("TRACEKIT_CORPUS", _BESIDE))


@pytest.fixture
def an_hour_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look at all files an hour after they were written, when their stamps are trusted."""
    real_clock = time.time_ns
    hour = 3_600_000_000_000
    monkeypatch.setattr(stamps.time, "time_ns", lambda: real_clock() + hour)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-goldens", action="store_true", help="write golden files instead of comparing"
    )


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str | Path, str], None]:
    """Compare a text with that of a file beside the test; `--update-goldens` writes the file."""

    def compare(name: str | Path, text: str) -> None:
        file = request.path.parent / name
        if request.config.getoption("--update-goldens"):
            file.parent.mkdir(exist_ok=True)
            file.write_text(text)
        assert text == file.read_text(), "`just update` writes it again"

    return compare


@pytest.fixture(autouse=True, scope="session")
def recorders_of_others_are_not_seen() -> Iterator[None]:
    """Let a recording find the recorders that this process started, and not those beside it.

    Only one xctrace may record on a Mac, so a recording looks for others; here, other workers of
    pytest and other suites run fakes of it at the same time.
    """
    everything = psutil.process_iter

    def iter_own_processes(attrs: Any = None, ad_value: Any = None) -> Iterator[psutil.Process]:
        mine = {os.getpid(), *(process.pid for process in running())} if attrs == ["name"] else None
        return (
            process
            for process in everything(attrs, ad_value)
            if mine is None or process.pid in mine
        )

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(psutil, "process_iter", iter_own_processes)
        yield


class _Raising(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info and record.exc_info[1]:
            raise record.exc_info[1]


@pytest.fixture(autouse=True)
def broken_checks_raise() -> Iterator[Callable[[], None]]:
    """Let a rule or a metric that breaks fail the test; call the value to have it logged only."""
    log, handler = logging.getLogger("tracekit.analysis.analyze"), _Raising()
    log.addHandler(handler)
    yield lambda: log.removeHandler(handler)
    log.removeHandler(handler)


def pytest_unconfigure() -> None:
    """Take back the callback that Hypothesis leaves with the garbage collector.

    The interpreter holds it to its very end and so keeps what its module leads to: modules of
    MLX and DuckDB, whose bindings then print a list of all that was never freed.
    """
    gc.callbacks[:] = [callback for callback in gc.callbacks if not _of_hypothesis(callback)]


def _of_hypothesis(callback: Callable[..., Any]) -> bool:
    return str(getattr(callback, "__module__", "")).startswith("hypothesis.")


@pytest.fixture(autouse=True)
def own_notes(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep what tracekit notes of this machine in a folder of the test's own."""
    monkeypatch.setenv(
        "TRACEKIT_CACHE", str(tmp_path_factory.getbasetemp() / "notes" / uuid4().hex)
    )
    # A night of one test is no reason for that of another to wait.
    monkeypatch.setenv(
        "TRACEKIT_LOCKS", str(tmp_path_factory.getbasetemp() / "locks" / uuid4().hex)
    )
    monkeypatch.setenv("TRACEKIT_DISK_FLOOR", "0")


@pytest.fixture
def compiled_kernels(own_notes: None, pytestconfig: pytest.Config) -> Path:
    """Share compiled kernels with all workers and later runs: compiling takes seconds.

    A file's name holds all that its content depends on; what a month did not use is removed.
    Without a compiler that tracekit takes, tests that need one are skipped by name.
    """
    try:
        find_compiler()
    except ToolError as error:
        pytest.skip(error.message)
    assert pytestconfig.cache is not None
    shared = pytestconfig.cache.mkdir("kernels")
    notes = Path(os.environ["TRACEKIT_CACHE"])
    notes.mkdir(parents=True, exist_ok=True)
    (notes / "kernels").symlink_to(shared)
    return shared


@pytest.fixture(scope="session")
def corpus() -> Path:
    """The folder of real exports; tests that need it are skipped by name without it."""
    if not CORPUS.is_dir():
        pytest.skip(f"no corpus of real exports at {CORPUS}; TRACEKIT_CORPUS names another place")
    return CORPUS


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """One headless browser for all; tests that need it are skipped by name without it."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    try:
        path = chromium()
    except FileNotFoundError as missing:
        pytest.skip(f"no browser: {missing}")
    with sync_api.sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        yield launched
        launched.close()


@pytest.fixture(scope="session")
def toc_xml() -> Callable[..., str]:
    """Make a TOC of a launched target, as `xctrace export --toc` writes it."""

    def make(pid: int = 4711, name: str = "python3", tables: int = 1) -> str:
        table = '            <table schema="metal-gpu-intervals" target-pid="ALL"/>\n' * tables
        return f"""<?xml version="1.0"?>

<trace-toc>
    <run number="1">
        <info>
            <target>
                <device uuid="12345678-ABCD-4321-9876-1234567890AB" model="MacBook Air" \
name="Ada's MacBook" os-version="26.3.1 (25D2128)" platform="macOS"/>
                <process arguments="--secret 1" type="launched" return-exit-status="0" \
name="{name}" pid="{pid}" termination-reason="exit(0)"/>
            </target>
            <summary>
                <start-date>2026-03-30T20:49:19.103-07:00</start-date>
                <end-date>2026-03-30T20:49:21.227-07:00</end-date>
                <duration>2.123889</duration>
                <end-reason>Target app exited</end-reason>
                <instruments-version>26.0 (17A5295f)</instruments-version>
                <template-name>Metal System Trace</template-name>
            </summary>
        </info>
        <processes>
            <process name="{name}" pid="{pid}" path="/Users/ada/{name}"/>
        </processes>
        <data>
{table}        </data>
    </run>
</trace-toc>
"""

    return make


@pytest.fixture(scope="session")
def intervals_xml() -> Callable[..., str]:
    """Make an export of metal-gpu-intervals of (start, duration, pid, process) rows."""
    kinds = "start-time duration gpu-channel-name duration formatted-label gpu-state process"
    names = "start duration channel-name start-latency event-label state process cmdbuffer-id"
    columns = "".join(
        f"<col><mnemonic>{name}</mnemonic><name>{name}</name>"
        f"<engineering-type>{kind}</engineering-type></col>"
        for name, kind in zip(
            [*names.split(), "encoder-id"],
            [*kinds.split(), *["metal-command-buffer-id"] * 2],
            strict=True,
        )
    )

    def cell(tag: str, text: object, fmt: object = "") -> str:
        return f'<{tag} id="#" fmt="{fmt or text}">{text}</{tag}>'

    def row(start: int, duration: int, pid: int, name: str) -> str:
        cells = (
            cell("start-time", start),
            cell("duration", duration),
            cell("gpu-channel-name", "Compute"),
            cell("duration", 1_000),
            cell("formatted-label", cell("string", "paged"), "paged"),
            cell("gpu-state", "Active"),
            cell("process", cell("pid", pid) + cell("device-session", "TODO"), f"{name} ({pid})"),
            cell("metal-command-buffer-id", 7),
        )
        return f"<row>{''.join(cells)}<sentinel/></row>\n"

    def make(rows: list[tuple[int, int, int, str]]) -> str:
        numbers = itertools.count(1)
        body = re.sub(
            '"#"', lambda _: f'"{next(numbers)}"', "".join(row(*values) for values in rows)
        )
        return (
            '<?xml version="1.0"?>\n<trace-query-result>\n'
            "<node xpath='//trace-toc[1]/run[1]/data[1]/table[1]'>"
            f'<schema name="metal-gpu-intervals">{columns}</schema>{body}'
            "</node></trace-query-result>\n"
        )

    return make


@pytest.fixture
def scenario(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Put the fake on PATH; call it with keys of tests/fake_xctrace/README.md to direct it."""
    file = tmp_path / "scenario.json"
    file.write_text("{}")
    staging = tmp_path / "staging"
    staging.mkdir()
    fake = Path(__file__).parent / "fake_xctrace" / "bin"
    monkeypatch.setenv("PATH", f"{fake}:{os.environ['PATH']}")
    monkeypatch.setenv("FAKE_XCTRACE_SCENARIO", str(file))
    monkeypatch.setenv("TMPDIR", str(staging))
    monkeypatch.setattr("tempfile.tempdir", None)

    def change(**keys: Any) -> None:
        file.write_text(json.dumps(keys))

    return change


class Ran:
    def __init__(self, capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
        self.code = run(*arguments)
        printed = capsys.readouterr()
        self.out, self.err = printed.out, printed.err


@pytest.fixture
def tracekit(capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    return lambda *arguments: Ran(capsys, [str(argument) for argument in arguments])


@pytest.fixture
def imported(
    tmp_path: Path,
    toc_xml: Callable[..., str],
    intervals_xml: Callable[..., str],
    tracekit: Callable[..., Any],
) -> Path:
    """A run made of a small trace: three intervals of the target, one of another process."""
    folder = tmp_path / "exports"
    folder.mkdir()
    (folder / "toc.xml").write_text(toc_xml())
    rows = [(0, 10, 4711, "python3"), (100, 10, 4711, "python3"), (50, 1, 420, "WindowServer")]
    (folder / "intervals.xml").write_text(intervals_xml(rows))
    assert tracekit("import", folder, "--output", tmp_path / "run").code == 0
    return tmp_path / "run"
