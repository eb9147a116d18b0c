"""Every alarm on a real recording is one that was read by hand and is listed in the docs."""

import re
from pathlib import Path

import pytest

from tracekit import pipeline
from tracekit.analysis.analyze import used_tables
from tracekit.analysis.given import Given
from tracekit.analysis.physics.laws import LAWS

pytestmark = pytest.mark.corpus
PAGE = Path(__file__).parents[3] / "docs" / "explanation" / "rows-that-cannot-be.md"
TEXT = PAGE.read_text()
ROW = re.compile(r"^\| `(\w+)` \| `(\w+)` \| `([\w-]+)` \| ([\d,]+) \|", re.MULTILINE)
PROBE = "Oichkatzelesfrettschen+steinmarder"
RESULTS = f"{PROBE}/src/re/apple/results"
RECORDINGS = {
    **{
        name: f"{RESULTS}/tranche1_20260330_204856/*{name}*.xml"
        for name in (
            *("gpu_baseline", "gpu_occupancy_heavy", "gpu_register_pressure"),
            *("gpu_threadgroup_heavy", "gpu_threadgroup_minimal"),
        )
    },
    **{
        f"{name}, raw": f"{RESULTS}/tranche1_raw_20260330_analysis/*{name}*.xml"
        for name in ("gpu_baseline", "gpu_compare", "cpu_time_profiler")
    },
    **{
        f"{name}, older": f"{PROBE}/_history_8227983/*{name}*.xml"
        for name in ("gpu_baseline", "cpu_time_profiler")
    },
    "the bundle of GPU work": f"{PROBE}/_history_8227983/gpu_baseline.trace",
    "the bundle of samples": f"{PROBE}/_history_8227983/cpu_time_profiler.trace",
    "MPS": "ncwn+speech-to-text/*.xml",
    "signposts": "robtaylor+apple-profiler/tests/fixtures/real/signpost*.xml",
    "27.0": "sforteln+xctrace-query-mcp-server/tests/fixtures/xcode-27.0/schema-table/*.xml",
}


@pytest.mark.parametrize("name", RECORDINGS)
def test_each_alarm_is_listed_with_its_row(name: str, corpus: Path, tmp_path: Path) -> None:
    files = sorted(corpus.glob(RECORDINGS[name]))
    assert files
    [recording] = pipeline.import_(files, tmp_path / "run")
    given_tables = Given(pipeline.tables_of(recording), recording.provenance(), used_tables())
    breaches = [*given_tables.breaches("gpu_states"), *given_tables.breaches()]
    alarms = {
        (breach.table, breach.law.name, start)
        for breach in breaches
        for start in breach.start.tolist()
    }
    listed = {
        (table, law, int(start.replace(",", "")))
        for row_name, table, law, start in ROW.findall(TEXT)
        if row_name == name
    }
    assert alarms == listed


def test_each_law_is_described() -> None:
    described = re.findall(r"^\| `([\w-]+)` \| (?!`)", TEXT, re.MULTILINE)
    assert described == list(LAWS)
