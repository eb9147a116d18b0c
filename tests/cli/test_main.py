"""The command line: what it imports, records and refuses, and what it tells a script."""

import ast
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from command_line import assert_error, small
from tracekit.base.errors import UsageError
from tracekit.cli.options import named_workload, plan_of

HEAVY = (
    *("pandas", "numpy", "lxml", "mlx", "mlx.core", "pyarrow", "jinja2", "rich", "psutil"),
    *("sqlalchemy", "psycopg", "prometheus_client", "perfetto"),
    *("dask", "distributed", "fsspec", "duckdb"),
)
HELP = (
    "capture;batch;compare;nightly;nightly install;nightly history;nightly baseline accept;"
    "nightly gate;runs prune;query;;bench chip;gate;history"
)
LIBRARIES = ("pandas", "numpy", "mlx.core", "pyarrow", "duckdb", "dask", "sqlalchemy")
# Commands and usage errors that need no table.
CODES = {
    "--version": 0,
    "list workloads": 0,
    "capture --nonsense": 2,
    "query": 2,
    "open": 2,
    "list rules": 0,
    "list rules bubbles": 0,
}


@pytest.mark.parametrize(
    ("codes", "heavy"),
    [({f"{command} --help": 0 for command in HELP.split(";")}, HEAVY), (CODES, LIBRARIES)],
    ids=["help", "no-tables"],
)
def test_commands_without_tables_import_nothing_heavy(
    codes: dict[str, int], heavy: tuple[str, ...]
) -> None:
    """Pandas alone takes longer than help may take."""
    program = (
        "import sys\n"
        "from tracekit.cli.main import main\n"
        "codes = []\n"
        f"for line in {[*codes]!r}:\n"
        "    try: main(line.split()); codes.append(0)\n"
        "    except SystemExit as end: codes.append(end.code or 0)\n"
        f"print((codes, sorted({set(heavy)!r} & set(sys.modules))))"
    )
    argv = [sys.executable, "-c", program]
    completion = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert ast.literal_eval(completion.stdout.splitlines()[-1]) == ([*codes.values()], [])


def test_no_command_shows_help_and_is_a_usage_error(tracekit: Any) -> None:
    result = tracekit()
    assert result.code == 2
    assert "Measure and compare:" in result.out + result.err


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
    arguments: str, said: str, tracekit: Any, tmp_path: Path
) -> None:
    output = ["--output", tmp_path / "run", "--recorder", "host"]
    result = tracekit("capture", "--workload", "paged", *output, *arguments.split())
    assert_error(result, 2, said)
    assert not (tmp_path / "run").exists()


def test_asking_for_a_missing_xctrace_fails(
    tracekit: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    result = tracekit("record", "--recorder", "xctrace", "--", sys.executable, "-V")
    assert_error(result, 3, "no xctrace", "--recorder host")


@pytest.mark.processes
def test_capture_reports_its_findings_and_its_folder(tracekit: Any, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    options = ["--recorder", "host", "--output", folder, *small(30)]
    result = tracekit("capture", "--workload", "paged", *options)
    assert result.code == 0, result.err
    assert "tokens_per_second" in result.out
    assert re.search(r"Passed \d+ of \d+ checks that apply", result.out)
    assert "gpu-contended" not in result.out
    assert str(folder / "report.html") in result.out
    assert (folder / "report.html").stat().st_size < 250_000


@pytest.mark.processes
def test_a_workload_of_ones_own_is_found_in_its_folder(tracekit: Any, tmp_path: Path) -> None:
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
    assert "nap\tSleep." in tracekit("list", "workloads", "--workloads", tmp_path).out
    options = ["--recorder", "host", "--repeats", "5", "--output", tmp_path / "run", "--json"]
    workload_options = [
        "--workloads",
        tmp_path,
        "--milliseconds",
        "7",
        "--places",
        "a",
        "--places",
        "b",
    ]
    result = tracekit("capture", "--workload", "nap", *options, *workload_options)
    assert result.code == 0, result.err
    parameters = json.loads(result.out)["provenance"]["parameters"]
    assert parameters == {"milliseconds": 7, "places": ["a", "b"]}


def test_a_workload_with_an_option_of_ours_is_refused(tracekit: Any, tmp_path: Path) -> None:
    (tmp_path / "clash.py").write_text(
        "from tracekit.workload import Step, workload\n\n"
        "@workload\n"
        "def clash(output: int = 5) -> Step:\n"
        "    '''Clash.'''\n"
    )
    result = tracekit("capture", "--workload", "clash", "--workloads", tmp_path)
    assert_error(result, 3, "'output', which is an option of tracekit itself")


def test_a_place_that_cannot_be_a_run_is_reported(tracekit: Any, tmp_path: Path) -> None:
    for command in ("export", "analyze", "report", "tables"):
        assert_error(tracekit(command, tmp_path), 3, "no recording.json")
    for command in ("import", "tables", "capture --workload"):
        assert_error(tracekit(*command.split(), "x" * 300), 3, "File name too long")
    assert_error(tracekit("tables", "bad\udcff"), 2, "is not UTF-8 text")


@pytest.mark.processes
def test_a_closed_stdout_does_no_harm() -> None:
    argv = ["sh", "-c", f"'{sys.executable}' -m tracekit list rules >&-"]
    completion = subprocess.run(argv, check=False, capture_output=True, timeout=60)
    assert (completion.returncode, completion.stderr) == (0, b"")


def test_the_workload_command_is_the_program_after_the_dashes() -> None:
    plan = plan_of(workload="command", command=["llama-bench", "-o", "json"])
    assert plan.workload is None
    assert plan.command == ("llama-bench", "-o", "json")
    assert plan == plan_of(command=["llama-bench", "-o", "json"])
    with pytest.raises(UsageError, match="--workload command needs the program") as raised:
        plan_of(workload="command")
    assert raised.value.hint == "tracekit capture --workload command -- PROGRAM ARGS"
    words = ["--workload", "sdpa", "--workload=paged", "--", "--workload", "gemm"]
    assert getattr(named_workload(words), "name", "") == "paged", "the last before the dashes"


@pytest.mark.parametrize("command", ["capture", "record"])
def test_a_workload_describes_itself(tracekit: Any, tmp_path: Path, command: str) -> None:
    (tmp_path / "gemm.py").write_text(
        "from tracekit.workload import Step, workload\n\n"
        "@workload\n"
        "def gemm(size: int = 4) -> Step:\n"
        '    """Multiply two matrices.\n\n'
        "    They are square.\n\n"
        "    Args:\n"
        '        size: Rows.\n    """\n'
    )
    result = tracekit(command, "--workloads", tmp_path, "--workload", "gemm", "--help")
    assert "The workload gemm: Multiply two matrices.\n\n  They are square.\n\nArg" in result.out
    assert "--size" in result.out
    assert "Args:" not in result.out
    assert "The workload" not in tracekit(command, "--help").out
