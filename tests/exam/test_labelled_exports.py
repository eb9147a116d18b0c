"""The exports of a made trace are in xctrace's grammar, and hold what happened in the model."""

from pathlib import Path

import pytest

from fuzzing.comparison import judge
from labelled.folder import write
from labelled.grammar import COLUMNS, table
from labelled.setup import MICROSECOND, MILLISECOND, Counters, Hold
from labelled.world import TARGET, World
from small_trace import make_facts
from tracekit.base.recording import Recording
from tracekit.pipeline import tables_of
from tracekit.tables.xml.reader import ExactReader

CORPUS = "Oichkatzelesfrettschen+steinmarder/src/re/apple/results/tranche1_20260330_204856"


@pytest.fixture(scope="module")
def rich() -> World:
    return make_facts(
        version="27.0",
        ahead=0,
        rival=Hold(20 * MILLISECOND, 2 * MILLISECOND),
        compiles=((4, 9 * MILLISECOND),),
        allocations=2,
        wiring=300 * MICROSECOND,
        spilled=4096,
        errors=2,
        leak=1 << 20,
        clock=(0.5, 0.4),
        thermal="Serious",
        counters=Counters(),
        bytes_moved=10**8,
        flops=10**9,
        tells=True,
    ).world


@pytest.fixture(scope="module")
def run(rich: World, tmp_path_factory: pytest.TempPathFactory) -> Recording:
    return write(rich, tmp_path_factory.mktemp("rich") / "run")


def test_every_table_has_rows_and_lacks_no_column_and_both_readers_agree(run: Recording) -> None:
    exports = sorted(file for file in run.exports.glob("*.xml") if file.name != "toc.xml")
    assert len(exports) == len(COLUMNS)
    for path in exports:
        verdict = judge(path)
        assert (verdict.fast, verdict.difference) == (True, ""), path.name
    tables = tables_of(run)
    assert [name for name in tables if tables[name].empty] == ["losses"]
    assert tables.warnings == ()


def test_work_and_command_buffers_are_read_as_they_happened(rich: World, run: Recording) -> None:
    tables = tables_of(run)
    target_rows = tables["gpu_intervals"].query("target")
    work, buffers = rich.intervals, rich.buffers
    assert target_rows["start"].tolist() == [interval.start for interval in work]
    assert target_rows["duration"].tolist() == [interval.end - interval.start for interval in work]
    assert target_rows["start_latency"].tolist() == [
        interval.start - interval.committed for interval in work
    ]
    assert target_rows["command_buffer"].tolist() == [interval.buffer for interval in work]
    assert set(target_rows["process"]) == {TARGET.name}
    assert (
        target_rows["label"]
        .iloc[0]
        .startswith("Command Buffer 0:RMSNorm      ( python3 (4711) )  0x")
    )
    lives = tables["command_buffers"].query("target").sort_values("command_buffer")
    assert lives["submitted"].tolist() == [buffer.created for buffer in buffers]
    for name in ("committed", "gpu_start", "gpu_end", "completed", "encoders"):
        assert lives[name].tolist() == [getattr(buffer, name) for buffer in buffers], name


def test_printed_numbers_and_states_are_read_back(rich: World, run: Recording) -> None:
    tables = tables_of(run)
    steps = tables["steps"]
    assert steps["start"].tolist() == [step.start for step in rich.steps]
    assert steps["phase"].tolist() == [step.phase for step in rich.steps]
    steady = tables["phases"].query("name == 'steady'").iloc[0]
    assert (steady["start"], steady["start"] + steady["duration"]) == rich.steady
    late = tables["specializations"].query("time >= @steady.start")
    assert late["name"].tolist() == ["Command Buffer 0:RMSNorm_n3"]
    assert set(tables["spans"]["name"]) == {"compile", "readback"}
    assert tables["gpu_performance_states"]["state"].tolist() == ["Maximum", "Minimum", "Maximum"]
    assert tables["thermal_states"]["state"].tolist() == ["Fair", "Serious"]
    assert tables["allocated_sizes"]["size"].tolist() == [size for _, size in rich.memory]
    assert (len(tables["resource_allocations"]), len(tables["driver_events"])) == (40, 20)
    values = tables["gpu_counters"].query("counter == 'Compute Occupancy'")["value"]
    assert values.quantile(0.9) == pytest.approx(62, rel=0.2)
    assert values.min() < 5


def test_programs_without_marks_and_recordings_that_break_off_lack_their_rows(
    tmp_path: Path,
) -> None:
    tables = tables_of(write(make_facts(marks=False).world, tmp_path / "unmarked"))
    assert "gpu_intervals" in tables
    assert not {"steps", "phases", "spans", "specializations"} & set(tables)
    facts = make_facts(stopped=0.5)
    begin, end = facts.world.steady
    tables = tables_of(write(facts.world, tmp_path / "stopped"))
    assert (
        tables["gpu_intervals"]["start"].max() < (begin + end) / 2 < tables["steps"]["start"].max()
    )
    tables = tables_of(write(make_facts(cut=0.6).world, tmp_path / "cut"))
    assert 0 < len(tables["gpu_intervals"]) < len(make_facts().world.intervals)
    assert any("metal-gpu-intervals" in warning for warning in tables.warnings)


@pytest.mark.corpus
def test_columns_are_those_of_real_exports(corpus: Path) -> None:
    names = "gpu-intervals gpu-state-intervals application-encoders-list command-buffer-completed"
    for schema in (f"metal-{name}" for name in f"{names} driver-intervals".split()):
        real = ExactReader(corpus / CORPUS / f"xctrace_gpu_baseline_{schema}.xml")
        columns = next(iter(real.pieces())).columns
        real_columns = [
            f"{entry.column.mnemonic}:{entry.column.engineering_type}" for entry in columns
        ]
        ours = [f"{column.mnemonic}:{column.type}" for column in table(schema, "26.0", 1).columns]
        assert ours == real_columns, schema
