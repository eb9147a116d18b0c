"""From the command line to the page, where the bundle is read instead of exported."""

from collections.abc import Callable
from pathlib import Path

import pytest

from command_line import run, small
from tracekit.run import open as open_run

pytestmark = pytest.mark.processes

Scenario = Callable[..., None]
INTERVALS = "metal-gpu-intervals"


def capture(folder: Path, *more: str) -> int:
    return run("capture", "--workload", "paged", "--output", folder, *small(20), *more)


def test_the_second_capture_exports_nothing_and_says_as_much(
    scenario: Scenario,
    packages: list[str],
    exported: Callable[[], list[str]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    scenario(packages=packages)
    first, second = tmp_path / "first", tmp_path / "second"
    assert capture(first) == 0
    assert INTERVALS in exported()
    assert capture(second) == 0
    assert exported() == []
    tables = {one.name for one in (second / "exports").iterdir()}
    assert {one for one in tables if not one.startswith("host-")} == {"direct.json", "toc.xml"}
    opened = open_run(second)
    assert opened.tables["gpu_intervals"]["target"].any()
    assert opened.provenance.target_rows is True
    assert not any("xport" in one for one in opened.provenance.warnings)
    busy = opened.result.metric("gpu_busy")
    assert busy is not None
    assert busy.value is not None
    assert "<canvas" in (second / "report.html").read_text()
    capsys.readouterr()
