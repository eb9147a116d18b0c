"""Joined tables of literal ones: texts with a line for a row, cells apart at bars or blanks."""

from ast import literal_eval
from contextlib import suppress
from typing import Any

import pandas as pd
import pytest

from tracekit.base.errors import InputError
from tracekit.tables import derived
from tracekit.tables.joins import make_table, read_inputs
from tracekit.tables.normalize import dtype_of
from tracekit.tables.schema import ColumnKind
from tracekit.tables.schemas import SCHEMAS
from typed_rows import frame as typed


def parse_table(text: str) -> list[list[str]]:
    separator = "|" if "|" in text else None
    lines = text.strip().splitlines()
    return [[cell.strip() for cell in line.strip().split(separator)] for line in lines]


def value(cell: str) -> Any:
    """Read a cell: a number, a truth, null for a dash, else a text."""
    if cell == "-":
        return pd.NA
    with suppress(ValueError, SyntaxError):
        return literal_eval(cell)
    return cell


def literal(table: str, text: str) -> pd.DataFrame:
    names, *rows = parse_table(text)
    return typed(table, [dict(zip(names, map(value, row), strict=True)) for row in rows])


def require(name: str, expected: str, *expected_warnings: str, **tables: str) -> pd.DataFrame:
    """Join tables; require just these rows in these columns, declared dtypes, these warnings.

    Tables of the columns that the join declares to read must give the same.
    """
    schema = SCHEMAS[name]
    assert schema.join is not None
    literal_tables = {table: literal(table, text) for table, text in tables.items()}
    frame, warnings = make_table(schema, schema.join, literal_tables)
    read_columns = read_inputs(schema.join).columns
    narrow_tables = {
        table: rows[[column for column in rows if column in read_columns.get(table, rows)]]
        for table, rows in literal_tables.items()
    }
    narrow, _ = make_table(schema, schema.join, narrow_tables)
    pd.testing.assert_frame_equal(narrow, frame)
    declared = {
        column.name: "int64" if column.kind is ColumnKind.TIME else dtype_of(column.kind)
        for column in schema.columns
    }
    assert list(frame)[: len(declared)] == list(declared)
    assert bool(schema.more) or len(declared) == len(frame.columns)
    assert frame[list(declared)].dtypes.map(str).to_dict() == declared
    names, *rows = parse_table(expected)
    cells = frame[names].astype(object).where(frame[names].notna(), "-").map(str)
    assert cells.to_numpy().tolist() == rows
    assert [str(loss) for loss in warnings] == [
        f"{name}: {warning}" for warning in expected_warnings
    ]
    return frame


BUFFERS = """
    start duration command_buffer process pid target clock
    200 10 2 Other 8 False gpu
    105 30 1 App 7 True gpu
    100 10 1 App 7 True gpu
    300 - 3 App 7 True gpu
    400 5 - Other 8 False gpu
"""


def test_work_is_summed_up_by_command_buffer() -> None:
    expected = """command_buffer gpu_start gpu_end gpu_intervals gpu_time process target encoders
        1 100 135 2 40 App True -
        2 200 210 1 10 Other False -
        3 300 - 1 - App True -"""
    require("command_buffers", expected, gpu_intervals=BUFFERS)


def test_every_table_adds_its_knowledge_of_a_command_buffer() -> None:
    buffers = require(
        "command_buffers",
        """command_buffer label submitted committed completed frame process target clock error
        1 step 40 50 150 1 App True gpu 3
        4 - - 90 - 2 Other False gpu -
        2 frame - - - - Other False gpu -
        3 - - - - - App True gpu -
        5 - - - 160 - - False - -
        6 - - - - - - False - 4""",
        gpu_intervals=BUFFERS.replace("3 App 7 True", "3 - - False"),
        encoders="""start duration command_buffer command_buffer_label process pid target clock
            1 4 1 step App 7 True gpu
            6 2 1 step App 7 True gpu""",
        commits="""time command_buffer committed frame process pid target clock
            9 1 50 1 App 7 True gpu
            9 4 90 2 Other 8 False gpu
            9 3 - - App 7 True gpu""",
        submissions="""start duration command_buffer process pid target clock
            40 1 1 App 7 True gpu""",
        completions="time command_buffer\n150 1\n160 5",
        command_buffer_errors="time command_buffer error\n151 1 3\n152 6 4",
        object_labels="time object label\n0 1 taken-not\n0 2 frame",
    )
    spans = ["commit_to_start", "commit_to_complete", "encoders", "encoder_time"]
    assert buffers.loc[0, spans].tolist() == [50, 100, 2, 6]
    assert buffers.loc[1:, spans].isna().all(axis=None)


def test_contradictions_are_left_null() -> None:
    commits = """time command_buffer committed process pid target clock
        9 1 50 App 7 True gpu
        9 1 60 App 7 True gpu"""
    warning = "1 command buffers have several rows in commits, and take none of them"
    expected = "command_buffer committed\n1 -\n2 -\n3 -"
    require("command_buffers", expected, warning, gpu_intervals=BUFFERS, commits=commits)


WORK = """
    start duration command_buffer encoder process pid target clock start_latency
    100 9 1 11 App 7 True gpu -
    120 9 1 12 App 7 True gpu -
    140 9 2 21 Other 8 False gpu -
    160 9 - - Other 8 False gpu -
"""
ENCODERS = """start duration command_buffer encoder label command_buffer_label event
    1 2 1 11 attention step Compute
    3 2 1 12 gemm - -"""


def test_labels_of_work_come_from_its_encoder_by_both_ids() -> None:
    expected = """start encoder_label command_buffer_label encoder_kind target committed
        100 attention step Compute True -
        120 gemm - - True -
        140 - - - False -
        160 - - - False -"""
    require("gpu_jobs", expected, gpu_intervals=WORK, encoders=ENCODERS)


def test_labels_of_objects_complete_the_encoders() -> None:
    labels = "time object label\n0 11 taken-not\n0 21 render\n0 2 frame\n1 2 frame\n0 1 other"
    common_tables = {"gpu_intervals": WORK, "object_labels": labels}
    expected = """encoder_label command_buffer_label
        attention step
        gemm other
        render frame
        - -"""
    require("gpu_jobs", expected, encoders=ENCODERS, **common_tables)
    require("gpu_jobs", "encoder_label\ntaken-not\n-\nrender\n-", **common_tables)


def test_an_encoder_is_one_or_none(subtests: pytest.Subtests) -> None:
    for encoders, labels, warnings in (
        (f"{ENCODERS}\n5 2 1 12 gemm - -", "attention gemm - -", []),
        (
            f"{ENCODERS}\n5 2 1 12 softmax - -",
            "attention - - -",
            ["1 GPU intervals have several rows in encoders, and take none of them"],
        ),
        (
            ENCODERS.replace(" 11 ", " 99 ").replace(" 12 ", " 99 "),
            "- - - -",
            ["none of the 3 GPU intervals has its id in encoders"],
        ),
        (ENCODERS.splitlines()[0], "- - - -", []),
    ):
        with subtests.test(encoders):
            expected = "\n".join(["encoder_label", *labels.split()])
            require("gpu_jobs", expected, *warnings, gpu_intervals=WORK, encoders=encoders)


def test_the_way_of_a_command_buffer_is_joined_with_its_work() -> None:
    require(
        "gpu_jobs",
        """committed submitted completed commit_to_complete latency
        30 10 200 170 70
        30 10 200 170 90
        - 125 - - 15
        - - - - -""",
        "the latency of 1 GPU intervals is counted from the commit",
        "the latency of 1 GPU intervals is counted from the start of the submission",
        gpu_intervals=WORK.replace("100 9 1 11 App 7 True gpu -", "100 9 1 11 App 7 True gpu 70"),
        commits="time command_buffer committed\n20 1 30",
        submissions="start duration command_buffer\n10 5 1\n125 5 2",
        completions="time command_buffer\n200 1",
    )


INFOS = """time | counter | name | type | accelerator
    0 | 3 | Kernel Occupancy | Percentage | 1848
    0 | 58 | GPU Bandwidth | Value | 1848
    0 | 60 | Odd | Histogram | 1848"""
SAMPLES = "time counter value accelerator clock\n"


def test_samples_take_the_names_of_their_counters() -> None:
    require(
        "gpu_counters",
        """start | counter | value | percentage | duration | device | clock
        5 | GPU Bandwidth | 309.5 | False | - | M1 | gpu
        5 | Kernel Occupancy | 26.25 | True | - | M1 | gpu
        9 | Odd | 1.0 | - | - | M1 | gpu""",
        gpu_counter_values=f"{SAMPLES}5 58 309.5 1848 gpu\n5 3 26.25 1848 gpu\n9 60 1.0 1848 gpu",
        gpu_counter_infos=INFOS,
        gpus="time device accelerator\n0 M1 1848",
    )


def test_a_sample_of_no_device_is_that_of_the_only_one(subtests: pytest.Subtests) -> None:
    for infos, name in (
        (INFOS, "Odd M1"),  # one device
        (INFOS.replace("Odd | Histogram | 1848", "Odd | Histogram | -"), "Odd M1"),
        (INFOS.replace("1848", "-"), "- -"),  # no device
        (INFOS.replace("Value | 1848", "Value | 1849"), "- -"),  # two devices
    ):
        with subtests.test(infos):
            samples = f"{SAMPLES}1 60 1.0 - gpu"
            counter_tables = {"gpu_counter_values": samples, "gpu_counter_infos": infos}
            gpus = "time device accelerator\n0 M1 1848"
            require("gpu_counters", f"counter device\n{name}", gpus=gpus, **counter_tables)


def test_ids_without_one_name_stay_nameless_and_are_counted() -> None:
    infos = f"{INFOS}\n0 | 3 | Another | Percentage | 1848\n0 | 60 | Odd | Histogram | 1848"
    require(
        "gpu_counters",
        "counter\n-\nOdd\n-",
        "1 counter samples have several rows in gpu_counter_infos, and take none of them",
        "1 counter samples have an id that no name is known of",
        gpu_counter_values=f"{SAMPLES}1 3 1.0 1848 gpu\n1 60 2.0 1848 gpu\n1 99 3.0 1848 gpu",
        gpu_counter_infos=infos,
    )


COUNTERS = "start | counter | value | device | percentage | clock\n"


def test_counters_become_columns_under_their_names() -> None:
    wide = require(
        "gpu_counters_wide",
        """start | device | GPU Bandwidth | ALU Limiter
        5 | M1 | 1.0 | 2.0
        5 | M2 | - | 8.0
        9 | M1 | 3.0 | -""",
        gpu_counters=f"""{COUNTERS.strip()}
        9 | GPU Bandwidth | 3.0 | M1 | False | gpu
        5 | GPU Bandwidth | 1.0 | M1 | False | gpu
        5 | ALU Limiter | 2.0 | M1 | True | gpu
        5 | ALU Limiter | 8.0 | M2 | True | gpu
        5 | - | 1.0 | M1 | True | gpu
        5 | Empty | - | M1 | True | gpu""",
    )
    assert list(wide) == ["start", "device", "clock", "GPU Bandwidth", "ALU Limiter"]


@pytest.mark.parametrize(("name", "column"), [("B", "B"), ("start", "start (counter)")])
def test_two_values_at_one_time_are_left_out_and_any_name_will_do(name: str, column: str) -> None:
    rows = f"{COUNTERS}5 | A | 1.0 | M1 | True | gpu\n5 | A | 2.0 | M1 | True | gpu"
    wide = require(
        "gpu_counters_wide",
        f"start | {column}\n5 | 3.0",
        "2 samples share their counter and their time, and are left out",
        gpu_counters=f"{rows}\n5 | {name} | 3.0 | M1 | - | gpu",
    )
    assert list(wide) == ["start", "device", "clock", column]


def test_too_many_columns_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = f"{COUNTERS}5 | A | 1.0 | M1 | - | gpu\n6 | B | 2.0 | M1 | - | gpu"
    monkeypatch.setattr(derived, "_MOST_CELLS", 4)
    require("gpu_counters_wide", "start | A | B\n5 | 1.0 | -\n6 | - | 2.0", gpu_counters=rows)
    monkeypatch.setattr(derived, "_MOST_CELLS", 3)
    with pytest.raises(InputError, match="2 counters at 2 different times"):
        require("gpu_counters_wide", "", gpu_counters=rows)


def test_counters_are_summed_up_by_name_and_device() -> None:
    require(
        "gpu_counter_summaries",
        """counter | device | samples | mean | least | most | percentage | unit | description
        GPU Bandwidth | M1 | 2 | 2.0 | 1.0 | 3.0 | False | - | Bytes a second.
        ALU Limiter | M1 | 0 | - | - | - | True | percent | -
        ALU Limiter | M2 | 1 | 8.0 | 8.0 | 8.0 | True | percent | -
        Of two kinds | M2 | 2 | 5.0 | 2.0 | 8.0 | - | - | -""",
        "2 counters have several rows in gpu_counter_infos, and take none of them",
        gpu_counters=f"""{COUNTERS.strip()}
        5 | GPU Bandwidth | 1.0 | M1 | False | gpu
        6 | GPU Bandwidth | 3.0 | M1 | False | gpu
        5 | ALU Limiter | - | M1 | True | gpu
        5 | ALU Limiter | 8.0 | M2 | True | gpu
        5 | Of two kinds | 8.0 | M2 | True | gpu
        6 | Of two kinds | 2.0 | M2 | False | gpu""",
        gpu_counter_infos="time | name | description\n0 | GPU Bandwidth | Bytes a second.\n"
        "0 | ALU Limiter | One.\n0 | ALU Limiter | Another.",
    )


SHADERS = """time name shader pc_start pc_end pid pipeline kind
    0 gemm 1 100 200 7 p Compute
    0 attention 2 200 300 7 p Compute"""


def test_a_stretch_finds_its_shader_by_a_name_in_both_tables() -> None:
    stretches = """start duration name pipeline kind pid share
        1 2 attention p Compute 7 12.5
        1 2 gemm p Compute 8 -
        1 2 gemm p Compute 7 -"""
    expected = "shader pc_start share\n2 200 12.5\n- - -\n1 100 -"
    require("shader_runs", expected, shader_profiler_intervals=stretches, shaders=SHADERS)


def test_an_instruction_belongs_to_one_shader(subtests: pytest.Subtests) -> None:
    for more, counters, shaders, warnings in (
        ("", "99 100 199 200 299 300 - 0", "- 1 1 2 2 - - -", []),
        (
            "\n0 inlined 3 120 130 7 p Compute\n0 copy 4 100 110 7 p Compute",
            "105 115 125 150 250",
            "- 1 - 1 2",
            ["2 instructions have several rows in shaders, and take none of them"],
        ),
    ):
        with subtests.test(counters):
            stretches = "\n".join(["start duration pc", *(f"1 2 {pc}" for pc in counters.split())])
            rows = (f"{shader} {'-' if shader == '-' else 7}" for shader in shaders.split())
            require(
                "shader_pc_runs",
                "\n".join(["shader pid", *rows]),
                *warnings,
                shader_pc_intervals=stretches,
                shaders=SHADERS + more,
            )


def test_a_begin_and_the_next_end_under_the_same_key_are_an_interval(
    subtests: pytest.Subtests,
) -> None:
    for marks, expected, warnings in (
        (
            ["10 Begin step 1 work 7 go", "12 Begin other 1 work 7 -", "15 Event step 1 work 7 -",
             "20 End step 1 work 7 done", "30 End other 1 work 7 -"],
            """start duration name begin_message end_message pid tid target
            10 10 step go done 7 9 True
            12 18 other - - 7 9 True""",
            [],
        ),
        (
            ["1 Begin step 1 work 7 -", "2 Begin step 2 work 7 -", "3 Begin step 1 - 7 -",
             "4 Begin step 1 work 8 -", "5 End step 1 work 8 -", "6 End step 1 - 7 -",
             "7 End step 1 work 7 -", "9 End step 2 work 7 -", "9 Begin step 1 work 7 -",
             "9 End step 1 work 7 -"],
            "start duration\n1 6\n2 7\n3 3\n4 1\n9 0",
            [],
        ),
        (
            ["1 End step 1 work 7 -", "2 Begin step 1 work 7 -", "3 Begin step 1 work 7 -",
             "4 End step 1 work 7 -", "5 End step 1 work 7 -", "6 Begin step 1 work 7 -",
             "7 End other 1 work 7 -"],
            "start duration\n3 1",
            ["5 signposts have no counterpart and are left out"],
        ),
        ([], "start", []),
    ):  # fmt: skip
        with subtests.test(expected):
            names = (
                "time event name identifier category pid message subsystem process target tid clock"
            )
            signposts = "\n".join([names, *(f"{mark} app App True 9 gpu" for mark in marks)])
            require("signpost_intervals", expected, *warnings, signposts=signposts)


def test_only_the_target_s_signposts_of_the_agreed_kind_are_phases_or_spans() -> None:
    intervals = """start duration name subsystem category target clock
        1 5 prepare tracekit phases True gpu
        6 5 steady tracekit phases True gpu
        7 5 another's tracekit phases False gpu
        8 5 another com.apple.SkyLight phases True gpu
        9 5 none tracekit - True gpu
        10 - endless tracekit phases True gpu"""
    expected = "name start duration\nprepare 1 5\nsteady 6 5"
    require("phases", expected, signpost_intervals=intervals)
    spans = """start duration name subsystem category target clock
        1 5 admit tracekit spans True gpu
        2 5 steady tracekit phases True gpu
        3 5 decode tracekit spans False gpu"""
    require("spans", "name start duration\nadmit 1 5", signpost_intervals=spans)
