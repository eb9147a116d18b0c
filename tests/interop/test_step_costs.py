"""The costs of steps as CSV: a server's tokens, lengths, phases and time on the GPU."""

import io
from dataclasses import replace
from typing import Any

import pandas as pd
import pytest

from analysed import MS, TARGETS, UNKNOWN, intervals, make_named_table, table
from tracekit.base.errors import InputError
from tracekit.base.recording import Provenance
from tracekit.interop.step_costs import COLUMNS, write_step_costs

SHAPE = replace(
    UNKNOWN, targets=TARGETS, parameters={"q_heads": 8, "head_dim": 64, "block_size": 16}
)


def read_costs(tables: dict[str, pd.DataFrame], provenance: Provenance = SHAPE) -> pd.DataFrame:
    file = io.BytesIO()
    write_step_costs(tables, provenance, file)  # pyright: ignore[reportArgumentType]
    file.seek(0)
    return pd.read_csv(file)


def make_server() -> dict[str, pd.DataFrame]:
    """Make three ticks of 10 ms of a server of two slots; two requests, the second one later."""
    tick_columns = "start duration phase tokens index variant"
    ticks = [
        (10 * place, 10, "steady", tokens, place, "") for place, tokens in enumerate((1, 2, 1))
    ]
    levels = (
        (0, "limit_active_sequences", 2.0),
        (0, "active_sequences", 1.0),
        (12, "active_sequences", 2.0),
        (21, "active_sequences", 1.0),
    )
    produced = ((9, 0, 0), (18, 0, 1), (19, 1, 0), (28, 1, 1))
    return {
        "steps": table(tick_columns, *ticks),
        "phases": make_named_table(("steady", 0, 30)),
        "gauges": table("time name value", *levels).assign(unit="count"),
        "requests": table("number prompt_tokens", (0, 5), (1, 50)),
        "request_tokens": table("time request index", *produced),
        "spans": make_named_table(("prefill", 0, 4), ("decode", 4, 3), ("decode", 12, 6)),
        "gpu_intervals": intervals([(2 * MS, 3 * MS), (4 * MS, 2 * MS), (15 * MS, 8 * MS)]),
    }


def test_each_tick_has_its_lengths_phase_and_time_on_the_gpu() -> None:
    costs = read_costs(make_server())
    assert tuple(costs) == COLUMNS
    assert costs["tokens"].tolist() == [1, 2, 1]
    assert costs["sequences"].tolist() == [1, 2, 1]
    # the mean of prompt and tokens so far: 5 + 1; 5 + 2 and 50 + 1; 50 + 2
    assert costs["seq_len"].tolist() == [6, 29, 52]
    assert costs["phase"].tolist() == ["ramp", "steady", "tail"]
    assert costs["gpu_ms"].tolist() == [4, 5, 3], "overlapping work counts once"
    assert costs["prefill_ms"].tolist() == [4, 0, 0]
    assert costs["decode_ms"].tolist() == [3, 6, 0]
    assert costs[["heads", "head_dim", "BLOCK_SIZE"]].to_numpy().tolist() == [[8, 64, 16]] * 3
    assert costs["reason"].isna().all()


def test_times_late_in_a_run_keep_their_nanoseconds() -> None:
    tables = make_server()
    late = 1_200_000 * MS + 123_457
    for name, column in (("steps", "start"), ("gpu_intervals", "start")):
        tables[name] = tables[name].assign(**{column: tables[name][column] + late})
    tables["phases"] = make_named_table(("steady", 1_200_000, 31))
    tables["steps"]["duration"] += 1
    costs = read_costs(tables)
    assert costs["start_ms"].tolist() == [1200000.123457, 1200010.123457, 1200020.123457]
    assert costs["step_ms"].tolist() == [10.000001] * 3
    file = io.BytesIO()
    write_step_costs(tables, SHAPE, file)  # pyright: ignore[reportArgumentType]
    assert b",4,steady,0,1200000.123457,10.000001," in file.getvalue()


def test_a_request_of_unknown_prompt_leaves_other_lengths_as_they_are() -> None:
    tables = make_server()
    tables["requests"] = table("number prompt_tokens", (0, None), (1, 50))
    costs = read_costs(tables)
    assert costs["sequences"].tolist() == [1, 2, 1]
    assert costs["seq_len"].fillna(-1).tolist() == [-1, 51, 52]
    tables["requests"] = tables["requests"].iloc[1:]
    assert read_costs(tables)["seq_len"].fillna(-1).tolist() == [-1, 51, 52]


def test_a_run_without_a_gpu_has_a_reason_and_an_empty_time() -> None:
    tables = make_server()
    del tables["gpu_intervals"]
    costs = read_costs(tables)
    assert costs["gpu_ms"].isna().all()
    assert costs["reason"].str.contains("gpu_intervals").all()


def test_a_step_that_the_trace_of_the_gpu_does_not_cover_has_a_reason() -> None:
    tables = make_server()
    ticks = [(10 * place, 10, "steady", 1, place, "") for place in range(5)]
    tables["steps"] = table("start duration phase tokens index variant", *ticks)
    tables["gpu_intervals"] = intervals(
        [(15 * MS, 3 * MS), (22 * MS, 2 * MS)], other_times=[(31 * MS, MS)]
    )
    costs = read_costs(tables)
    assert costs["gpu_ms"].fillna(-1).tolist() == [-1, -1, 2, -1, -1], "the second one is cut"
    assert costs["reason"].isna().tolist() == [False, False, True, False, False]
    assert costs["reason"][0] == "the GPU trace covers 15.000000 to 32.000000 ms alone."


def test_a_workload_that_serves_nobody_has_its_own_phase() -> None:
    tables = make_server()
    for name in ("gauges", "spans"):
        del tables[name]
    for name in ("requests", "request_tokens"):
        tables[name] = tables[name].iloc[:0]
    costs = read_costs(tables)
    assert costs["phase"].tolist() == ["steady"] * 3
    assert costs[["sequences", "seq_len"]].isna().all(axis=None)
    assert costs["gpu_ms"].tolist() == [4, 5, 3]
    sizes = {**SHAPE.parameters, "batch": 4, "active_blocks": 3, "ragged": False}
    sized_costs = read_costs(tables, replace(SHAPE, parameters=sizes))
    assert sized_costs[["sequences", "seq_len"]].to_numpy().tolist() == [[4, 48]] * 3
    drawn_costs = read_costs(tables, replace(SHAPE, parameters={**sizes, "ragged": True}))
    assert drawn_costs["sequences"].tolist() == [4] * 3
    assert drawn_costs["seq_len"].isna().all(), "no length is known of drawn ones"


def test_a_run_without_steps_is_refused() -> None:
    tables: dict[str, Any] = {"gpu_intervals": intervals([(0, MS)])}
    with pytest.raises(InputError, match="no steps"):
        write_step_costs(tables, SHAPE, io.BytesIO())  # pyright: ignore[reportArgumentType]
