"""Bundles through the command line: names as Apple shows them, files that are refused."""

import signal
import zlib
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from bundle_writer import Process
from bundle_writer.examples import small_bundle
from command_line import assert_error
from every_command import signal_at_event
from small_bundle import intervals, process, write_documented_bundle


@contextmanager
def files_opened() -> Generator[Counter[str]]:
    """Count the files that are opened meanwhile, by their paths."""
    opened = Counter[str]()

    def note(event: str, name: str) -> bool:
        opened[name] += event == "open"
        return False

    with signal_at_event(signal.SIGINT, note):
        yield opened


SIMULATOR = "com.apple.CoreSimulator.CoreSimulatorService"


def test_a_process_without_a_path_has_its_whole_name(tracekit: Any, tmp_path: Path) -> None:
    table = intervals((0, 10, Process(6723, SIMULATOR)))
    run = {"startTime": 5, "processDatas": [process(6723, SIMULATOR, "CoreSimulatorService")]}
    bundle = write_documented_bundle(tmp_path, run, tables=[table]).path
    result = tracekit("tables", bundle, "gpu_intervals")
    assert f"\t{SIMULATOR}\t" in result.out, result.out
    result = tracekit("query", "select process from gpu_intervals", bundle, "--format", "csv")
    assert result.out.split() == ["process", SIMULATOR]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("strings", bytes(1 << 27)),
        ("strings", b"no property list"),
        ("EngineeringTypes.etypes", b"no property list"),
        ("arrayUniquer/integeruniquer.data", b"no arrays"),
        ("typedArrayUniquer/integeruniquer.index", b"no index"),
    ],
    ids=["too many texts", "no texts", "no types", "no arrays", "no index"],
)
def test_an_error_of_all_tables_is_reported_once(
    tracekit: Any, tmp_path: Path, name: str, content: bytes
) -> None:
    bundle = small_bundle(tmp_path / "b.trace")
    file = bundle / "corespace/run1/core/uniquing" / name
    file.write_bytes(zlib.compress(content))
    with files_opened() as opened:
        result = tracekit("convert", bundle, tmp_path / "out", "--to", "csv")
    assert_error(result, 3, name)
    assert opened[str(file)] == 1, "each table that needs it had it inflated again"


def test_a_damaged_table_is_read_once_for_all_that_is_made_of_it(
    tracekit: Any, tmp_path: Path
) -> None:
    bundle = small_bundle(tmp_path / "b.trace")
    file = bundle / "corespace/run1/core/stores/indexed-store-0/bulkstore"
    file.write_bytes(file.read_bytes()[:-1])
    assert tracekit("import", bundle, "--output", tmp_path / "run").code == 0
    with files_opened() as opened:
        result = tracekit("analyze", tmp_path / "run")
    assert "bulkstore cannot be inflated" in result.out, result.err
    # For its rows, for the digest that names what is kept of it, and for that of its run.
    assert opened[str(tmp_path / "run/recording.trace" / file.relative_to(bundle))] == 3
