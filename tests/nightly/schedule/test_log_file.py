"""The log of scheduled nights stays small, and loses no last words."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tracekit.nightly.schedule.job import LOG, OLD, bound_log


def test_a_small_log_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / LOG).write_bytes(b"x" * 100)
    bound_log(tmp_path, largest=100)
    assert (tmp_path / LOG).stat().st_size == 100
    assert not (tmp_path / OLD).exists()


def test_a_large_log_begins_anew_and_its_end_is_kept(tmp_path: Path) -> None:
    (tmp_path / OLD).write_bytes(b"older")
    (tmp_path / LOG).write_bytes(b"x" * 100 + b"the end")
    bound_log(tmp_path, largest=50)
    assert (tmp_path / LOG).read_bytes() == b""
    assert (tmp_path / OLD).read_bytes() == b"x" * 43 + b"the end"


def test_no_log_and_no_folder_are_no_error(tmp_path: Path) -> None:
    bound_log(tmp_path)
    bound_log(tmp_path / "nowhere")
    assert [*tmp_path.iterdir()] == []


def test_a_log_that_is_a_link_is_somebody_elses(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_bytes(b"x" * 100)
    (tmp_path / LOG).symlink_to(other)
    bound_log(tmp_path, largest=10)
    assert other.stat().st_size == 100


@pytest.mark.processes
def test_a_process_whose_output_it_is_goes_on_at_its_end(tmp_path: Path) -> None:
    """Whoever opened it without appending: neither a hole nor a line over another."""
    program = (
        "import sys; from pathlib import Path\n"
        "from tracekit.nightly.schedule.job import bound_log\n"
        "bound_log(Path(sys.argv[1]), largest=50)\n"
        "print('after', flush=True)\n"
    )
    (tmp_path / LOG).write_bytes(b"x" * 200)
    handle = os.open(tmp_path / LOG, os.O_WRONLY)
    try:
        subprocess.run([sys.executable, "-c", program, str(tmp_path)], stdout=handle, check=True)
    finally:
        os.close(handle)
    assert (tmp_path / LOG).read_bytes() == b"after\n"
    assert (tmp_path / OLD).read_bytes() == b"x" * 50
