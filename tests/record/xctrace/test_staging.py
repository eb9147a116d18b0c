"""Staging files: only ours go, only when nobody needs them, and what stays is told."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tracekit.record.xctrace.claim import opened, remember, sweep
from tracekit.record.xctrace.command import Completed

AGE = 60.0


def closed(_: Path) -> bool:
    return False


def answer(returncode: int, stdout: str = "", stderr: str = "") -> Completed:
    return Completed(("lsof",), returncode, stdout, stderr)


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    return tmp_path / "notes" / "staging.json"


def make(path: Path, age: float = 2 * AGE) -> Path:
    path.write_bytes(bytes(1_500_000))
    moment = time.time() - age
    os.utime(path, (moment, moment))
    return path


def test_an_old_file_of_ours_that_nobody_has_open_goes(tmp_path: Path, ledger: Path) -> None:
    mine, other = make(tmp_path / "instruments1.ktrace"), make(tmp_path / "instruments2.ktrace")
    remember(ledger, [mine])
    assert sweep(ledger, AGE, closed) == set()
    assert not mine.exists()
    assert other.exists()


def test_a_young_file_stays_until_it_is_old(tmp_path: Path, ledger: Path) -> None:
    mine = make(tmp_path / "instruments1.ktrace", age=AGE - 10)
    remember(ledger, [mine])
    assert sweep(ledger, AGE, closed) == {mine}
    make(mine, age=AGE + 0.1)
    assert sweep(ledger, AGE, closed) == set()
    assert not mine.exists()


@pytest.mark.parametrize("known", [True, None])
def test_a_file_that_is_or_may_be_open_stays(
    known: bool | None, tmp_path: Path, ledger: Path
) -> None:
    mine = make(tmp_path / "instruments1.ktrace")
    remember(ledger, [mine])
    assert sweep(ledger, AGE, lambda _: known) == {mine}
    assert mine.exists()


def test_a_file_that_went_by_itself_is_forgotten(tmp_path: Path, ledger: Path) -> None:
    mine = make(tmp_path / "instruments1.ktrace")
    remember(ledger, [mine])
    mine.unlink()
    assert sweep(ledger, AGE, closed) == set()
    assert ledger.read_text().strip() == "[]"


def test_a_damaged_list_is_no_list(ledger: Path) -> None:
    ledger.parent.mkdir()
    ledger.write_text("[{")
    assert sweep(ledger, AGE, closed) == set()


@pytest.mark.parametrize(
    ("said", "known"),
    [
        (answer(0, "123\n"), True),
        (answer(1, "123\n"), True),
        (answer(1), False),
        (answer(0), None),
        (answer(1, stderr="lsof: WARNING: cannot look"), None),
        (answer(2, stderr="lsof: unknown option"), None),
    ],
)
def test_lsof_is_believed_only_where_it_is_sure(said: Completed, known: bool | None) -> None:
    assert opened(Path("/a"), lambda _argv, _timeout: said) is known


@pytest.mark.processes
def test_an_open_file_is_seen_by_the_real_lsof(tmp_path: Path) -> None:
    path = make(tmp_path / "instruments1.ktrace")
    code = f"file = open({str(path)!r}); print(flush=True); input()"
    argv = (sys.executable, "-I", "-S", "-c", code)
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        while_open = opened(path)
        process.communicate(b"\n")
    assert (while_open, opened(path)) in {(True, False), (None, None)}
