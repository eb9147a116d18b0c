"""Real exports, written again from their bundles: the same bytes, and read the same."""

import re
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from tracekit.tables.bundle.bundle import Bundle
from tracekit.tables.bundle_xml import write_exports
from tracekit.tables.flat import read_flat

pytestmark = pytest.mark.corpus
FOLDER = "Oichkatzelesfrettschen+steinmarder/_history_8227983"
NAMES = ("gpu_baseline", "cpu_time_profiler")
PLACE = re.compile(r"table\[\d+\]")
# Of labels only the words are written, and one bundle lacks kinds of cores and symbols.
SAME_BYTES = {
    "dyld-library-load",
    "gcd-perf-event",
    "metal-application-encoders-list",
    "metal-command-buffer-completed",
    "metal-driver-event-per-thread-intervals",
    "metal-gpu-counter-intervals",
    "metal-shader-profiler-intervals",
    "process-info",
}
UNNAMED = {"gpu_baseline time-sample", "gpu_baseline time-profile"}


@pytest.fixture(scope="module")
def pairs(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, Path, Path]]:
    return [
        (f"{name} {ours.stem}", corpus / FOLDER / f"xctrace_{name}_{ours.name}", ours)
        for name in NAMES
        for ours in written(corpus / FOLDER, name, tmp_path_factory.mktemp(name) / "out")
    ]


def written(folder: Path, name: str, output: Path) -> Iterator[Path]:
    there = {one.stem.split(f"{name}_")[1] for one in folder.glob(f"xctrace_{name}_*.xml")}
    done = write_exports(Bundle(folder / f"{name}.trace"), output, there.__and__, str)
    assert (done.warnings, done.damage) == ((), ())
    yield from done.files[1:]


def test_tables_without_labels_are_written_byte_for_byte(
    pairs: list[tuple[str, Path, Path]],
) -> None:
    same = {
        ours.stem
        for _, real, ours in pairs
        if PLACE.sub("", real.read_text(), 1) == PLACE.sub("", ours.read_text(), 1)
    }
    assert same >= SAME_BYTES


def test_all_tables_are_read_as_the_real_exports_are(pairs: list[tuple[str, Path, Path]]) -> None:
    for name, real, ours in pairs:
        if name not in UNNAMED:
            pd.testing.assert_frame_equal(read_flat(ours).frame, read_flat(real).frame, obj=name)
