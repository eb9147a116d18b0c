"""The data set of a batch, and the tables beside it."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracekit.analysis import Finding, Result
from tracekit.base import Provenance, Recording
from tracekit.base.errors import UsageError
from tracekit.fleet.batch.results import (
    BatchRow,
    KnownSource,
    Results,
    RowFinding,
    as_table,
    fill_row,
    find_month,
    forget_tables,
    wanted_tables,
)
from tracekit.tables import Severity

ROW = BatchRow(
    recording="runs/a",
    key="k",
    source="k",
    stamp="s1",
    form="run",
    state="ok",
    metrics={"gpu_busy": 12.5},
    findings=(RowFinding("bubbles", "warning", "Idle.", "Submit ahead.", 1.5),),
    warnings=("One row is cut.",),
)


def test_a_rewritten_row_exists_once_and_a_damaged_one_does_not(tmp_path: Path) -> None:
    results = Results(tmp_path / "results")
    results.write((ROW, replace(ROW, key="k-2")))
    results.write((replace(ROW, stamp="s2", state="failed"),))
    other_row = replace(ROW, source="other", key="other")
    results.write((other_row, replace(other_row, key="other-2", state="failed")))
    assert [row.stamp for row in results.rows()] == ["s2", "s1", "s1"]
    (results.folder / "x.parquet").write_bytes(b"PAR1 nonsense")
    assert results.load_sources() == {
        "k": KnownSource("s2", True),
        "other": KnownSource("s1", False),
    }
    assert Results(results.folder / "nothing").load_sources() == {}


def test_a_row_has_the_effects_of_a_finding_as_findings_within_it(tmp_path: Path) -> None:
    idle = Finding("bubbles", Severity.WARNING, "Idle.", "Wait once.", effects=("shallow-queue",))
    row = fill_row(ROW, Recording(tmp_path), Result(Provenance(), (), (idle,), ()))
    row_findings = [(finding.rule, finding.within) for finding in row.findings]
    assert row_findings == [("bubbles", ""), ("shallow-queue", "bubbles")]


texts = st.text(st.characters(codec="utf-8"), max_size=20)
numbers = st.dictionaries(texts, st.floats(allow_nan=False), max_size=4)


@settings(max_examples=50, deadline=None)
@given(texts, numbers, st.lists(texts, max_size=3), st.none() | st.floats(0, 1e9))
def test_whatever_a_row_holds_comes_back(
    name: str, metrics: dict[str, float], warnings: list[str], duration: float | None
) -> None:
    row = replace(ROW, recording=name, metrics=metrics, warnings=tuple(warnings), duration=duration)
    [read] = as_table((row,)).to_pylist(maps_as_pydicts="strict")
    assert (read["recording"], read["metrics"]) == (name, metrics)
    assert (read["warnings"], read["duration"]) == (warnings, duration)


def test_a_list_of_tables_is_understood_or_refused_with_a_suggestion() -> None:
    assert wanted_tables("none") == wanted_tables("") == ()
    assert wanted_tables("all") == ("all",)
    assert wanted_tables("steps, gpu_intervals,steps") == ("gpu_intervals", "steps")
    with pytest.raises(UsageError, match="There is no table 'gpu_interval'") as raised:
        wanted_tables("steps,gpu_interval")
    assert "gpu_intervals" in raised.value.hint
    with pytest.raises(UsageError) as raised:
        wanted_tables("xyzzy")
    assert raised.value.hint == "Use all, none or names of tables."


def test_only_tables_of_that_recording_that_were_not_kept_again_are_removed(tmp_path: Path) -> None:
    for name in ("steps/k.parquet", "gaps/k.parquet", "gaps/k-2.parquet"):
        (tmp_path / "tables" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "tables" / name).write_text("")
    forget_tables(tmp_path, "k", ("steps",))
    remaining_files = sorted(
        str(file.relative_to(tmp_path / "tables")) for file in tmp_path.rglob("*.parquet")
    )
    assert remaining_files == ["gaps/k-2.parquet", "steps/k.parquet"]
    forget_tables(tmp_path / "nowhere", "k")


@pytest.mark.parametrize(
    ("started", "month"),
    [
        ("2026-03-30T20:49:19.103-07:00", "2026-03"),
        ("2026-03-31T23:30:00-07:00", "2026-03"),
        ("2026-03-05T17:52:11.171Z", "2026-03"),
        ("2026-12-01", "2026-12"),
        ("", None),
        ("yesterday", None),
        ("2026-13-01T00:00:00Z", None),
    ],
)
def test_a_month_is_that_of_the_recordings_clock_or_unknown(
    started: str, month: str | None
) -> None:
    assert find_month(started) == month
