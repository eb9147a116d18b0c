"""The start of a command: how many of our modules it imports, and which libraries it leaves out."""

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tracekit import pipeline
from tracekit.base import Recording

PANDAS = ("pandas",)
FRAMES = (*PANDAS, "pyarrow")
READERS = (*FRAMES, "numpy", "lxml")
PAGES = ("jinja2",)
STORES = ("sqlalchemy", "duckdb")
# The greatest number of our own modules, and the libraries that must not be among all modules.
BUDGETS: dict[str, tuple[int, tuple[str, ...]]] = {
    "--help": (16, (*READERS, *PAGES, *STORES, "rich", "msgspec", "psutil", "pydantic")),
    "analyze --help": (40, (*READERS, *PAGES, *STORES, "rich", "psutil")),
    "list rules": (40, (*READERS, *PAGES, *STORES)),
    "doctor": (72, (*READERS, *PAGES, *STORES)),
    "nightly history --history none.db": (60, (*FRAMES, "lxml", *PAGES)),
    "tables RUN": (90, (*PANDAS, *PAGES, *STORES, "psutil")),
    "query 'select count(*) from gpu_intervals' RUN": (
        106,
        (*PANDAS, *PAGES, "sqlalchemy", "psutil"),
    ),
    "analyze RUN": (264, (*STORES, "tracekit.pages.render", "tracekit.record.recorders")),
    "batch RUN --output out --workers 1": (
        70,
        (*STORES, "lxml", "dask", "distributed"),
    ),
    "report RUN": (301, (*STORES, "tracekit.record.recorders")),
}
# The same of commands that were given before, and kept what they found in the run.
REPEATED_BUDGETS: dict[str, tuple[int, tuple[str, ...]]] = {
    "query 'select count(*) from gpu_intervals' RUN": (
        66,
        (*READERS, *PAGES, "sqlalchemy", "psutil"),
    ),
    "compare RUN RUN": (75, (*READERS, *PAGES, *STORES, "psutil")),
    "nightly gate RUN RUN": (96, (*FRAMES, *PAGES, *STORES)),
}
_PROGRAM = (
    "import json, sys, time\n"
    "real_clock = time.time_ns\n"
    "time.time_ns = lambda: real_clock() + 3_600_000_000_000\n"  # files are then an hour old
    "from tracekit.cli.main import main\n"
    "try: main(sys.argv[1:])\n"
    "except SystemExit: pass\n"
    "sys.stdout.write('\\n' + json.dumps(list(sys.modules)))"
)


@pytest.fixture
def read_run(imported: Path) -> Path:
    """A run whose tables were read before."""
    tables = pipeline.tables_of(Recording(imported))
    for name in tables:
        tables.outline(name)
    return imported


def list_modules(line: str, run: Path, folder: Path) -> list[str]:
    """Run a command in a folder, and return all modules that it imported."""
    arguments = [str(run) if word == "RUN" else word for word in shlex.split(line)]
    completion = subprocess.run(
        [sys.executable, "-c", _PROGRAM, *arguments],
        capture_output=True,
        text=True,
        check=True,
        cwd=folder,
    )
    assert "Traceback" not in completion.stderr
    return json.loads(completion.stdout.splitlines()[-1])


def check_modules(modules: list[str], limit: int, unused: tuple[str, ...]) -> None:
    own_modules = [name for name in modules if name.partition(".")[0] == "tracekit"]
    assert set(unused) & set(modules) == set()
    assert len(own_modules) <= limit, "import a module in the function that uses it"


@pytest.mark.processes
@pytest.mark.parametrize("line", BUDGETS)
def test_a_command_imports_few_modules(line: str, read_run: Path, tmp_path: Path) -> None:
    check_modules(list_modules(line, read_run, tmp_path), *BUDGETS[line])


@pytest.mark.processes
@pytest.mark.parametrize("line", REPEATED_BUDGETS)
def test_a_command_that_is_repeated_imports_fewer(
    line: str, read_run: Path, tmp_path: Path
) -> None:
    list_modules(line, read_run, tmp_path)
    check_modules(list_modules(line, read_run, tmp_path), *REPEATED_BUDGETS[line])
