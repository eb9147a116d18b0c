"""The command line: what it prints, and what it tells a script."""

import ast
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from command_line import small

Run = Callable[..., Any]
HEAVY = (
    *("pandas", "numpy", "lxml", "mlx", "mlx.core", "pyarrow", "jinja2", "rich", "psutil"),
    *("sqlalchemy", "psycopg", "prometheus_client", "perfetto"),
    *("dask", "distributed", "fsspec", "duckdb"),
)
HELP = (
    "capture;batch;compare;nightly;nightly install;history;baseline accept;gate;prune;query;;chip"
)
# Commands and usage errors that need no table.
CODES = {
    "--version": 0,
    "workloads": 0,
    "capture --nonsense": 2,
    "query": 2,
    "open": 2,
    "rules": 0,
    "rules bubbles": 0,
}


def loaded_by(lines: list[str], heavy: tuple[str, ...]) -> tuple[list[int], list[str]]:
    """Run commands in one new process; return their exit codes, and which modules it loaded."""
    program = (
        "import sys\n"
        "from tracekit.cli.main import main\n"
        "codes = []\n"
        f"for line in {lines!r}:\n"
        "    try: main(line.split()); codes.append(0)\n"
        "    except SystemExit as end: codes.append(end.code or 0)\n"
        f"print((codes, sorted({set(heavy)!r} & set(sys.modules))))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return ast.literal_eval(ran.stdout.splitlines()[-1])


def test_help_imports_nothing_heavy() -> None:
    """Pandas alone takes longer than help may take."""
    helps = [f"{command} --help" for command in HELP.split(";")]
    assert loaded_by(helps, HEAVY) == ([0] * len(helps), [])


def test_what_needs_no_tables_loads_no_library_for_them() -> None:
    libraries = ("pandas", "numpy", "mlx.core", "pyarrow", "duckdb", "dask", "sqlalchemy")
    assert loaded_by([*CODES], libraries) == ([*CODES.values()], [])


def test_no_command_shows_help_and_is_a_usage_error(tracekit: Run) -> None:
    shown = tracekit()
    assert shown.code == 2
    assert "Commands:" in shown.out + shown.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("--batch many", "--batch"),
        ("--batch 0", "--batch"),
        ("--dtype int3", "--dtype"),
        ("--size 3", "--size"),
        ("--time-limit soon", "not a time limit"),
        pytest.param("--q-heads 3 --kv-heads 2", "heads", marks=pytest.mark.processes),
        ("-- ls", "one of them, not several"),
    ],
)
def test_a_bad_parameter_is_a_usage_error_that_names_it(
    arguments: str, said: str, tracekit: Run, tmp_path: Path
) -> None:
    output = ["--output", tmp_path / "run", "--recorder", "host"]
    ran = tracekit("capture", "--workload", "paged", *output, *arguments.split())
    assert ran.code == 2
    assert said in ran.err
    assert "Traceback" not in ran.err
    assert not (tmp_path / "run").exists()


def test_xctrace_asked_for_where_it_is_not_fails(
    tracekit: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    ran = tracekit("record", "--recorder", "xctrace", "--", sys.executable, "-V")
    assert ran.code == 3
    assert "no xctrace" in ran.err
    assert "--recorder host" in ran.err


@pytest.mark.processes
def test_capture_says_in_words_what_it_found_and_where_it_is(tracekit: Run, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    options = ["--recorder", "host", "--output", folder, *small(30)]
    ran = tracekit("capture", "--workload", "paged", *options)
    assert ran.code == 0, ran.err
    assert "tokens_per_second" in ran.out
    unchecked = ran.out.partition("not checked  ")[2]
    assert "gpu-contended" in unchecked
    assert "  the work ran on the CPU" in unchecked
    assert str(folder / "report.html") in ran.out
    assert (folder / "report.html").stat().st_size < 250_000
    for export in (folder / "exports").glob("host-*.xml"):
        out = tmp_path / f"{export.stem}.parquet"
        assert tracekit("convert", export, out).code == 0
        assert len(pd.read_parquet(out)) == export.read_text().count("<row>")


def test_an_old_folder_is_never_recorded_over(tracekit: Run, imported: Path) -> None:
    before = (imported / "recording.json").read_bytes()
    ran = tracekit("capture", "--workload", "paged", "--output", imported)
    assert ran.code == 2
    assert "is a run: nothing else is written there" in ran.err
    assert (imported / "recording.json").read_bytes() == before


@pytest.mark.processes
def test_a_workload_of_ones_own_is_found_in_its_folder(tracekit: Run, tmp_path: Path) -> None:
    (tmp_path / "nap.py").write_text(
        "import time\n"
        "from pathlib import Path\n"
        "from tracekit.workload import Step, workload\n\n"
        "@workload\n"
        "def nap(milliseconds: int = 5, places: list[Path] = []) -> Step:\n"
        "    '''Sleep.'''\n"
        "    seconds = milliseconds / 1000\n"
        "    return Step(lambda: time.sleep(seconds), lambda _: None, 'cpu', tokens=1)\n"
    )
    listed = tracekit("workloads", "--workloads", tmp_path)
    assert "nap\tSleep." in listed.out
    options = ["--recorder", "host", "--repeats", "5", "--output", tmp_path / "run", "--json"]
    own = ["--workloads", tmp_path, "--milliseconds", "7", "--places", "a", "--places", "b"]
    ran = tracekit("capture", "--workload", "nap", *options, *own)
    assert ran.code == 0, ran.err
    assert json.loads(ran.out)["provenance"]["parameters"] == {
        "milliseconds": 7,
        "places": ["a", "b"],
    }


def test_a_workload_with_an_option_of_ours_is_refused(tracekit: Run, tmp_path: Path) -> None:
    (tmp_path / "clash.py").write_text(
        "from tracekit.workload import Step, workload\n\n"
        "@workload\n"
        "def clash(output: int = 5) -> Step:\n"
        "    '''Clash.'''\n"
    )
    ran = tracekit("capture", "--workload", "clash", "--workloads", tmp_path)
    assert ran.code == 3
    assert "'output', which is an option of tracekit itself" in ran.err


def test_a_folder_that_is_no_run_is_told_in_a_sentence(tracekit: Run, tmp_path: Path) -> None:
    for command in ("export", "analyze", "report", "tables"):
        ran = tracekit(command, tmp_path)
        assert ran.code == 3, command
        assert "no recording.json" in ran.err


@pytest.mark.parametrize("command", ["import", "tables", "capture --workload"])
def test_a_name_that_is_too_long_is_told_in_a_sentence(tracekit: Run, command: str) -> None:
    ran = tracekit(*command.split(), "x" * 300)
    assert ran.code == 3
    assert "File name too long" in ran.err
    assert "Traceback" not in ran.err


def test_bytes_that_are_no_text_are_refused(tracekit: Run) -> None:
    ran = tracekit("tables", "bad\udcff")
    assert ran.code == 2
    assert "is no text in UTF-8" in ran.err


@pytest.mark.processes
def test_a_closed_stdout_does_no_harm() -> None:
    argv = ["sh", "-c", f"'{sys.executable}' -m tracekit rules >&-"]
    ran = subprocess.run(argv, check=False, capture_output=True, timeout=60)
    assert (ran.returncode, ran.stderr) == (0, b"")
