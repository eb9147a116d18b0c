"""What the tests leave behind when the last of them is over."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.processes

QUERYING = Path(__file__).parent


def test_nothing_is_left_that_a_binding_has_to_free() -> None:
    ended = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"),
            f"{QUERYING}/test_ask.py::test_whatever_the_rows_duckdb_and_pandas_agree",
            f"{QUERYING}/test_statements.py::test_what_reads_is_a_question",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout
    assert "leaked" not in ended.stdout + ended.stderr
