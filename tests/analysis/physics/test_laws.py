"""Each law by literal rows: a row that breaks it is named, and its neighbours are not."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tracekit.analysis.physics.belief import Belief
from tracekit.analysis.physics.laws import LAWS, Cost
from typed_rows import frame

US, MS = 1_000, 1_000_000
NUMBER = 60
"""Command buffers of the loop: one interval each, every millisecond."""
Rows = list[dict[str, Any]]
OWN = {"process": "python3", "pid": 4711, "target": True, "tid": 1, "clock": "gpu", "device": "M1"}
RECORDED = 200 * MS


def loop() -> dict[str, Rows]:
    """Return tables of a loop that waits for each command buffer: none of its rows is wrong."""
    tables: dict[str, Rows] = {
        name: [] for name in ("gpu_intervals", "submissions", "encoders", "completions", "commits")
    }
    for number in range(NUMBER):
        start = (10 + number) * MS
        buffer_cells = OWN | {"command_buffer": 1_000 + number, "frame": number}
        unit = buffer_cells | {"encoder": 5_000 + number}
        work = {"start": start, "duration": 300 * US, "start_latency": 80 * US, "depth": 0}
        tables["gpu_intervals"].append(unit | work | {"channel": "Compute"})
        tables["encoders"].append(unit | {"start": start - 100 * US, "duration": 10 * US})
        submission_cells = {
            "start": start - 110 * US,
            "duration": 30 * US,
            "event": "CommandBufferSubmission",
        }
        tables["submissions"].append(buffer_cells | submission_cells)
        tables["commits"].append(buffer_cells | {"time": start, "committed": start - 80 * US})
        tables["completions"].append(buffer_cells | {"time": start + 360 * US})
    return tables


def make_samples(weight: int) -> Rows:
    return [OWN | {"time": number * MS, "weight": weight} for number in range(NUMBER)]


def state(start: int, length: int) -> dict[str, Any]:
    return OWN | {"start": start * MS, "duration": length * MS, "state": "Maximum"}


def shares(odd: float, counter: str = "ALU Limiter", **cells: Any) -> Rows:
    cells = {"counter": counter, "percentage": True, "clock": "gpu"} | cells
    values = [odd if number == 9 else 40.0 for number in range(NUMBER)]
    return [
        cells | {"start": number * MS, "duration": MS, "value": value}
        for number, value in enumerate(values)
    ]


@dataclass(frozen=True)
class Case:
    """A law, a table, and the changes of one row, by default the tenth; or other tables."""

    law: str
    table: str
    changes: Mapping[str, Any] = field(default_factory=dict[str, Any])
    more: Mapping[str, Rows] = field(default_factory=dict[str, Rows])
    place: int = 9
    cost: Cost = Cost.ROW
    copies: int = 0
    created: int | None = None
    without: frozenset[str] = frozenset()


TENTH = 19 * MS
"""When the device begins with the tenth."""
ALONE = frozenset({"submissions", "encoders", "completions", "commits"})
CASES = {
    "an interval ends before it starts": Case(
        "ends-before-start", "gpu_intervals", {"duration": -5}, cost=Cost.LENGTH
    ),
    "a driver's row ends before it starts": Case(
        "ends-before-start",
        "driver_intervals",
        {"duration": -1},
        {"driver_intervals": [OWN | {"start": n * MS, "duration": 5} for n in range(NUMBER)]},
    ),
    "an interval takes no time": Case("no-length", "gpu_intervals", {"duration": 0}),
    "an interval outlasts the recording": Case(
        "longer-than-recording", "gpu_intervals", {"duration": 9_000 * MS}, cost=Cost.LENGTH
    ),
    "an encoder outlasts the recording": Case(
        "longer-than-recording", "encoders", {"duration": 1 << 62}
    ),
    "a commit of a clock that ran back": Case("before-recording", "commits", {"time": -1}),
    "an encoder behind the end": Case("after-recording", "encoders", {"start": 1_300 * MS}),
    "a report behind the end": Case("after-recording", "completions", {"time": 1_300 * MS}),
    "reports at 0": Case("zero-time", "completions", {"time": 0}, copies=1),
    "a row twice": Case("duplicate", "gpu_intervals", copies=1, cost=Cost.ROW),
    "a report twice": Case("duplicate", "completions", copies=1),
    "an interval goes on while the next ones start": Case(
        "two-at-once",
        "gpu_intervals",
        {"duration": 5 * MS},
        cost=Cost.LENGTH,
        without=frozenset({"completions"}),
    ),
    "an interval ends in the next one": Case(
        "two-at-once",
        "gpu_intervals",
        {"duration": 1_100 * US},
        cost=Cost.LENGTH,
        without=frozenset({"completions"}),
    ),
    "an interval outlasts its report": Case(
        "outlasts-report", "gpu_intervals", {"duration": 480 * US}, cost=Cost.LENGTH
    ),
    "a report before the start": Case(
        "reported-before-start", "completions", {"time": TENTH - 10 * US}
    ),
    "a report before the commit": Case(
        "reported-before-commit", "completions", {"time": TENTH - 90 * US}
    ),
    "an interval before its own commit": Case(
        "negative-latency", "gpu_intervals", {"start_latency": -3}
    ),
    "a commit after the start": Case("committed-after-start", "commits", {"committed": TENTH + 1}),
    "a submission that ends after the start": Case(
        "committed-after-start", "submissions", {"duration": 500 * US}
    ),
    "an encoder after the commit": Case(
        "encoded-after-commit", "encoders", {"start": TENTH - 70 * US}
    ),
    "an encoder after the commit, by the latency": Case(
        "encoded-after-commit",
        "encoders",
        {"start": TENTH - 70 * US},
        without=frozenset({"commits", "submissions"}),
    ),
    "work before the launch": Case(
        "before-launch", "gpu_intervals", {"start": 4 * MS}, created=5 * MS, without=ALONE
    ),
    "a counter of 400 %": Case(
        "over-100-percent", "gpu_counters", {}, {"gpu_counters": shares(400)}
    ),
    "a counter under 0 %": Case(
        "over-100-percent", "gpu_counters", {}, {"gpu_counters": shares(-1)}
    ),
    "two states at once": Case(
        "two-states-at-once",
        "gpu_performance_states",
        {},
        {"gpu_performance_states": [state(n * 3, 3 + (n == 9)) for n in range(NUMBER)]},
    ),
}


def examine_tables(
    tables: Mapping[str, pd.DataFrame], created: int | None = None, recorded: int = RECORDED
) -> Belief:
    return Belief(tables.get, recorded, lambda: created)


def tables_of(case: Case) -> dict[str, pd.DataFrame]:
    rows = {
        name: table_rows for name, table_rows in loop().items() if name not in case.without
    } | dict(case.more)
    rows[case.table][case.place] |= case.changes
    rows[case.table] += [rows[case.table][case.place]] * case.copies
    return {name: frame(name, table_rows) for name, table_rows in rows.items()}


@pytest.mark.parametrize("name", CASES)
def test_a_row_that_cannot_be_is_named_and_its_neighbours_are_not(name: str) -> None:
    case = CASES[name]
    tables = tables_of(case)
    belief = examine_tables(tables, case.created)
    [breach] = belief.breaches()
    assert (breach.law.name, breach.table, breach.cost) == (case.law, case.table, case.cost)
    frame, believed = tables[case.table], belief.believe(case.table, tables[case.table])
    if case.law == "zero-time":
        assert (breach.rows, len(believed)) == (2, NUMBER - 1)
        return
    assert breach.rows == 1
    place = NUMBER if case.copies else case.place
    if case.cost is Cost.ROW:
        pd.testing.assert_frame_equal(believed, frame.drop(index=place).reset_index(drop=True))
        return
    assert believed["duration"].isna().tolist() == [index == place for index in range(NUMBER)]
    shortened_frame = frame.assign(duration=believed["duration"])
    pd.testing.assert_frame_equal(believed, shortened_frame)


@pytest.mark.parametrize("name", CASES)
def test_columns_that_only_laws_ask_for_may_be_apart(name: str) -> None:
    case = CASES[name]
    tables = tables_of(case)
    further: dict[str, dict[str, pd.Series]] = {}
    for table, rows in tables.items():
        apart = rows.columns.intersection(["depth", "frame", "submission", "state"])
        if table == "gpu_intervals":
            further[table] = {str(column): rows[column] for column in apart}
            tables[table] = rows.drop(columns=apart)
    belief = Belief(tables.get, RECORDED, lambda: case.created, further.get)
    [breach] = belief.breaches()
    assert (breach.law.name, breach.table) == (case.law, case.table)


def test_rows_that_differ_in_a_column_apart_do_not_repeat() -> None:
    intervals = frame("gpu_intervals", [row for row in loop()["gpu_intervals"] for _ in range(2)])
    alike = {"submission": pd.Series(1, intervals.index)}
    unlike = {"submission": pd.Series(intervals.index)}
    lean = {"gpu_intervals": intervals.drop(columns="submission")}
    names: list[list[str]] = []
    for apart in (alike, unlike):
        belief = Belief(lean.get, RECORDED, lambda: None, {"gpu_intervals": apart}.get)
        names.append([breach.law.name for breach in belief.breaches()])
    assert names[0] == ["duplicate"]
    assert "duplicate" not in names[1]


def test_every_law_has_a_row_that_breaks_it() -> None:
    elsewhere = {"more-than-wall-time", "missing-number"}
    assert {case.law for case in CASES.values()} | elsewhere == set(LAWS)
    assert len(LAWS) >= 12


SOUND = {
    "nothing is wrong": Case("", "gpu_intervals"),
    "an overlap on another lane": Case("", "gpu_intervals", {"duration": 1_100 * US, "depth": 1}),
    "an overlap of another process": Case("", "gpu_intervals", {"duration": 1_100 * US, "pid": 9}),
    "an overlap on another channel": Case(
        "", "gpu_intervals", {"duration": 1_100 * US, "channel": "Fragment"}
    ),
    "an overlap on another device": Case(
        "", "gpu_intervals", {"duration": 1_100 * US, "device": "M2"}
    ),
    "a depth that is not known": Case("", "gpu_intervals", {"duration": 1_100 * US, "depth": None}),
    "one that ends when the next starts": Case("", "gpu_intervals", {"duration": MS}),
    "a length that is not known": Case("", "gpu_intervals", {"duration": None}),
    "a clock that is off by less than a report takes": Case(
        "", "gpu_intervals", {"duration": 450 * US}
    ),
    "an id that is used again": Case("", "gpu_intervals", {"command_buffer": 1_002}),
    "an id that two reports have": Case("", "completions", {"command_buffer": 1_002}),
    "a row of the end, a little late": Case("", "completions", {"time": 1_200 * MS}),
    "a counter slightly over 100 %": Case("", "gpu_counters", {}, {"gpu_counters": shares(104)}),
    "a counter that is no share": Case(
        "", "gpu_counters", {}, {"gpu_counters": shares(400, percentage=False)}
    ),
    "states that follow one another": Case(
        "",
        "gpu_performance_states",
        {},
        {"gpu_performance_states": [state(number * 3, 3) for number in range(NUMBER)]},
    ),
    "a thread that always runs": Case("", "cpu_profile", {}, {"cpu_profile": make_samples(MS)}),
    "a row at 0": Case("", "completions", {"time": 0, "command_buffer": 7}),
}


@pytest.mark.parametrize("name", SOUND)
def test_a_row_that_can_be_is_believed(name: str) -> None:
    case = SOUND[name]
    overlaps = case.changes.get("duration") in {1_100 * US, MS}
    without = frozenset({"completions"}) if overlaps else frozenset[str]()
    tables = tables_of(Case("", case.table, case.changes, case.more, without=without))
    belief = examine_tables(tables)
    assert belief.breaches() == ()
    assert belief.believe(case.table, tables[case.table]) is tables[case.table]
    assert belief.doubtful == 0


def test_ids_that_are_all_alike_accuse_no_encoder() -> None:
    rows = loop()
    for table_rows in rows.values():
        for row in table_rows:
            row["command_buffer"] = 1
    alike = {name: frame(name, table_rows) for name, table_rows in rows.items()}
    assert examine_tables(alike).breaches() == ()


def test_rows_out_of_order_are_not_a_clock_that_runs_back() -> None:
    mixed = {
        name: frame(name, table_rows).sample(frac=1, random_state=3, ignore_index=True)
        for name, table_rows in loop().items()
    }
    assert examine_tables(mixed).breaches() == ()


def test_a_thread_does_not_run_for_longer_than_time_goes_by() -> None:
    tables = {"cpu_profile": frame("cpu_profile", make_samples(2 * MS))}
    [breach] = examine_tables(tables).breaches()
    assert (breach.law.name, breach.rows) == ("more-than-wall-time", NUMBER)


def test_a_frame_that_one_table_lacks_is_missing_there() -> None:
    rows = loop()
    del rows["encoders"][9]
    [breach] = examine_tables(
        {name: frame(name, table_rows) for name, table_rows in rows.items()}
    ).breaches()
    assert (breach.law.name, breach.table, breach.missing) == ("missing-number", "encoders", 1)
    assert breach.cost is Cost.NOTHING
    for unnumbered in (0, None):  # a program that does not number its command buffers
        plain_tables = {
            name: frame(name, [row | {"frame": unnumbered} for row in table_rows])
            for name, table_rows in rows.items()
        }
        assert examine_tables(plain_tables).breaches() == (), unnumbered


def test_one_that_covers_many_loses_its_length_and_those_in_it_keep_theirs() -> None:
    rows = loop()
    del rows["completions"]
    rows["gpu_intervals"][9]["duration"] = 30 * MS
    rows["gpu_intervals"][20]["duration"] = 1_100 * US
    belief = examine_tables({name: frame(name, table_rows) for name, table_rows in rows.items()})
    [breach] = belief.breaches()
    assert breach.start.tolist() == [19 * MS, 30 * MS]
    assert breach.excess.tolist() == [29 * MS, 100 * US]
    assert belief.doubtful == 2 * MS  # each ran at most until the next one


@pytest.mark.parametrize("depth", [0, None])
def test_a_depth_of_many_overlaps_is_not_a_lane(depth: int | None) -> None:
    rows = loop()
    del rows["completions"]
    for row in rows["gpu_intervals"]:
        row |= {"duration": 1_100 * US, "depth": depth}
    assert (
        examine_tables(
            {name: frame(name, table_rows) for name, table_rows in rows.items()}
        ).breaches()
        == ()
    )


def test_tables_that_contradict_each_other_often_are_not_rows_gone_wrong() -> None:
    rows = loop()
    for row in rows["completions"]:
        row["time"] -= 5 * MS
    tables = {name: frame(name, table_rows) for name, table_rows in rows.items()}
    belief = examine_tables(tables)
    assert {breach.cost for breach in belief.breaches()} == {Cost.NOTHING}
    assert belief.believe("completions", tables["completions"]) is tables["completions"]
    assert belief.doubt("completions") == (
        "100.0 % of the rows of completions that commits tells of cannot be, as each reports a "
        "command buffer complete that was not committed yet."
    )
    assert belief.doubt("gpu_intervals") == ""


def test_nothing_is_made_of_a_table_of_which_more_than_a_twentieth_cannot_be() -> None:
    for wrong, doubted in ((3, False), (4, True)):
        rows = loop()
        for row in rows["gpu_intervals"][:wrong]:
            row["duration"] = -1
        belief = examine_tables(
            {name: frame(name, table_rows) for name, table_rows in rows.items()}
        )
        assert bool(belief.doubt("gpu_intervals")) is doubted, wrong


def test_the_host_s_clock_keeps_other_laws() -> None:
    """Its intervals overlap: several calls wait for work that a pool of threads does."""
    rows = loop()
    for row in rows["gpu_intervals"]:
        row |= {"duration": 1_100 * US, "clock": "host"}
    rows["gpu_intervals"][9] |= {"start": -5, "duration": 0}
    tables = {
        name: frame(name, table_rows)
        for name, table_rows in rows.items()
        if name == "gpu_intervals"
    }
    assert examine_tables(tables).breaches() == ()


def test_a_table_without_rows_breaks_nothing() -> None:
    tables = {name: frame(name, []) for name in loop()}
    assert examine_tables(tables).breaches() == ()
    assert examine_tables({}).breaches() == ()
    assert np.isfinite(examine_tables(tables).doubtful)
