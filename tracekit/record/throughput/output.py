"""The output of a recorded program: whose it is, and the numbers in it."""

import os
import shutil
from contextlib import suppress
from pathlib import Path

from tracekit.base.recording import Recording
from tracekit.record.throughput import llama_bench, mlx_lm
from tracekit.workload.workload import Measured

_MOST = 16 << 20  # bytes from the end: programs say their speed last
_READERS = (llama_bench, mlx_lm)


def recognised(text: str) -> tuple[str, dict[str, Measured]]:
    """Return the program whose output it looks like, and what that says; nothing if nobody's."""
    for reader in _READERS:
        results = reader.read(text)
        if results:
            return reader.NAME, results
    return "", {}


def keep_output(recording: Recording, *places: Path) -> None:
    """Let `recording.output_file` be the first of the places that exists, without a copy."""
    for place in places:
        if not place.is_file():
            continue
        recording.output_file.unlink(missing_ok=True)
        try:
            recording.output_file.hardlink_to(place)
        except OSError:  # a file system without links
            shutil.copyfile(place, recording.output_file)
        return


def read_output(file: Path) -> tuple[str, dict[str, Measured]]:
    """Read the end of a file; one that is not there, or is no text, says nothing."""
    with suppress(OSError), file.open("rb") as opened:
        size = opened.seek(0, os.SEEK_END)
        opened.seek(max(0, size - _MOST))
        return recognised(opened.read().decode(errors="replace"))
    return "", {}
