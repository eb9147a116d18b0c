"""`gaps`: idle time in pieces, each with its cause, in literal traces; times in ms."""

import pandas as pd
import pytest

from analysed import (
    MS,
    completed,
    gaps_of,
    given,
    make_named_table,
    measure_tables,
    rows,
    table,
    work,
)
from tracekit.analysis.idle.cause import Party
from tracekit.analysis.inject import Unavailable

TWO = [(0, 1, 0, 1), (11, 1, 10, 2)]  # the second was committed as the first ended
LATER = [(0, 1, 0, 1), (10, 1, 5, 2)]
UNKNOWN = [(0, 1, None, 1), (10, 1, None, 2)]
TURNS = [(0, 4, 0, 1), (10, 4, 1, 2)]


def awake(*times: tuple[float, float]) -> dict[str, pd.DataFrame]:
    states = rows(*((start, length, 0) for start, length in times))
    return {"gpu_performance_states": states.drop(columns=["target", "command_buffer"])}


def describe_gaps(frame: pd.DataFrame) -> str:
    """Say when each cause begins in each gap, and when the gap ends."""
    descriptions: list[str] = []
    for _, pieces in frame.groupby("gap"):
        starts, ends = pieces["start"], pieces["start"] + pieces["duration"]
        assert ends[:-1].tolist() == starts[1:].tolist()
        words: list[str] = []
        for start, cause in zip(starts, pieces["cause"].astype(str), strict=True):
            words += [] if words and words[-1] == cause else [f"{start / MS:.9g}", cause]
        descriptions.append(" ".join([*words, f"{ends.iloc[-1] / MS:.9g}"]))
    return ", ".join(descriptions)


def until(end: float) -> dict[str, pd.DataFrame]:
    return {"phases": make_named_table(("steady", 0, end))}


CASES: dict[str, tuple[pd.DataFrame, dict[str, pd.DataFrame], str]] = {
    # what: the work, tables beside, the state of each gap and its pieces
    "a loop that commits and waits": (
        work([(0, 4, 0, 1), (20, 4, 7, 2)]),
        {
            "encoders": rows((8, 2.5, 2)),
            "completions": completed((6, 1), (25, 2)),
            "driver_intervals": rows((14, 3, 0)),
        },
        "4 way-back 6 host 8 encoding 10.5 host 13 late-start 14 driver 17 late-start 20",
    ),
    "a host that had begun the next was still encoding": (
        work(TURNS),
        {"encoders": rows((5.999999, 2.1, 2)), "completions": completed((6, 1))},
        "4 host 5.999999 encoding 8.099999 host 9 late-start 10",
    ),
    "a host that began at the very report had waited": (
        work(TURNS),
        {"encoders": rows((6, 2, 2)), "completions": completed((6, 1))},
        "4 way-back 6 encoding 8 host 9 late-start 10",
    ),
    "a host that was wiring memory at the report had not waited": (
        work(TURNS),
        {
            "encoders": rows((8, 2, 2)),
            "completions": completed((6, 1)),
            "driver_events": rows((5, 2, 0)).assign(event=["Wire Memory"]),
        },
        "4 host 5 wiring 7 host 8 encoding 9 late-start 10",
    ),
    "a host that was wiring memory at an end that nobody reported": (
        work([(0, 3, 0, 1), (3, 1, 0, 2), (10, 4, 1, 3)]),
        {
            "encoders": rows((8, 2, 3)),
            "completions": completed((3, 1)),
            "driver_events": rows((3.5, 2, 0)).assign(event=["Wire Memory"]),
        },
        "4 wiring 5.5 unattributed 8 encoding 9 late-start 10",
    ),
    **{
        f"committed work that waits {late} ms": (
            work([(0, 4, 0, 1), (4 + late, 4, late, 2)]),
            {},
            f"4 {cause} {4 + late}",
        )
        for late, cause in (
            *((0.0076, "start-latency"), (0.1, "start-latency")),
            (0.100001, "late-start"),
        )
    },
    "the driver, others, a late start": (
        work(TWO, other_work=[(3, 4)]),
        {"driver_intervals": rows((2, 3, 0))},
        "1 late-start 2 driver 5 other-process 7 late-start 11",
    ),
    "a late start is judged by all of the gap that nothing explains": (
        work([(0, 1, 0, 1), (1.15, 1, 0.2, 2)]),
        {"driver_intervals": rows((1.04, 0.06, 0))},
        "1 between-buffers 1.04 driver 1.1 between-buffers 1.15",
    ),
    "wiring before the driver": (
        work(TWO),
        {
            "driver_intervals": rows((2, 3, 0)),
            "driver_events": rows((4, 2, 0), (8, 1, 0)).assign(event=["Wire Memory", "Other"]),
        },
        "1 late-start 2 driver 4 wiring 6 late-start 11",
    ),
    "the driver's work on later buffers holds up no earlier one": (
        work([(0, 1, 0, 1), (10, 1, 9, 2)]),
        {"driver_intervals": rows((3, 2, 0), (4, 0.5, 0), (6, 2, 0)).assign(depth=[0, 1, 0])},
        "1 late-start 3 driver 5 late-start 10",
    ),
    "others on another channel": (
        pd.concat([work(TWO), work([], other_work=[(3, 4)]).assign(channel="Fragment")]),
        {},
        "1 late-start 11",
    ),
    "inside of a command buffer": (
        work([(0, 1, 0, 1), (5, 1, 5, 1), (9, 1, 5, 2)], other_work=[(2, 1)]),
        {},
        "1 between-encoders 2 other-process 3 between-encoders 5, 6 late-start 9",
    ),
    "others where nothing was queued": (
        work([(0, 1, 0, 1), (11, 1, 0, 2)], other_work=[(3, 4)]),
        {},
        "1 unattributed 11",
    ),
    "compiled for another process": (
        work([(0, 1, 0, 1), (10, 1, 0, 2)]),
        {"compiler_activity": rows((3, 6, 0), target=False)},
        "1 unattributed 10",
    ),
    **{
        f"compiled, by {source}": (
            work([(0, 1, 0, 1), (10, 1, 2, 2)]),
            {source: source_rows},
            "1 unattributed 3 compile 8 late-start 10",
        )
        for source, source_rows in (
            ("compiler_activity", rows((3, 6, 0))),
            ("spans", make_named_table(("compile", 3, 6))),
        )
    },
    "a device that had to wake": (
        work(LATER),
        awake((0, 3), (9, 4)),
        "1 unattributed 5 powering-up 9 late-start 10",
    ),
    "a device that never woke": (
        work(LATER),
        awake((0, 3), (11, 4)),
        "1 unattributed 5 late-start 10",
    ),
    "off for most of the gap": (
        work(TWO),
        awake((0, 1), (6.1, 6)),
        "1 powering-up 6.1 late-start 11",
    ),
    "off for half of the gap": (
        work(TWO),
        awake((0, 1), (6, 6)),
        "1 powering-up 6 late-start 11",
    ),
    "without a time of commits": (
        work(UNKNOWN, other_work=[(1, 2)]),
        {"driver_intervals": rows((3, 1, 0)), "compiler_activity": rows((5, 1, 0))},
        "1 unattributed 3 driver 4 unattributed 5 compile 6 unattributed 10",
    ),
    "a wait without a time of commits": (
        work([*UNKNOWN, (20, 1, None, 3)]),
        {"encoders": rows((3, 1, 2), (10.5, 1, 3)), "completions": completed((2, 1), (12, 2))},
        # the last may have been committed before
        "1 unattributed 3 encoding 4 unattributed 10, 11 encoding 11.5 unattributed 20",
    ),
    "submissions tell the commit": (
        work(UNKNOWN),
        {"submissions": rows((2, 2, 2))},
        "1 unattributed 2 encoding 4 late-start 10",
    ),
    "commits tell the commit": (
        work(UNKNOWN),
        {"commits": table("start duration command_buffer committed", (2, 2, 2, 4), target=True)},
        "1 unattributed 4 late-start 10",
    ),
    "a tail with nothing behind it": (work([(0, 1, 0, 1)]), until(9), "1 unattributed 9"),
    "a tail of unknown commits": (work(UNKNOWN[:1]), until(9), "1 unattributed 9"),
    "the shortest gap": (
        work([(0, 1, 0, 1), (1.000001, 1, 0, 2)]),
        {},
        "1 unattributed 1.000001",
    ),
    "on a CPU the calls tell a wait": (
        work([(0, 2, None, 0), (10, 2, None, 0), (20, 2, None, 0)], clock="host"),
        {
            "submissions": rows((5, 5, 0), (11, 9, 0)),
            "spans": make_named_table(("compile", 6, 3), ("readback", 13, 1)),
        },
        ("2 host 5 encoding 6 compile 9 encoding 10, 12 encoding 20"),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_each_piece_of_a_gap_has_the_cause_that_holds_then(case: str) -> None:
    work_rows, tables, expected = CASES[case]
    end = (work_rows["start"] + work_rows["duration"])[work_rows["target"]].max() / MS
    frame = given(gpu_intervals=work_rows, **{**until(end), **tables})["gaps"]
    assert describe_gaps(frame) == expected


def test_lead_in_and_tail_belong_to_the_window() -> None:
    frame = gaps_of(work([(5, 1, 2, 1), (8, 1, 0.1, 2), (30, 1, 4, 3)]), (2, 20))
    assert (
        describe_gaps(frame)
        == "2 host 3 late-start 5, 6 unattributed 7.9 start-latency 8, 9 unattributed 20"
    )
    assert frame["gap"].tolist() == [0, 0, 1, 1, 2]


def test_the_innermost_span_names_the_hosts_work() -> None:
    tick = make_named_table(("tick", 0, 11))
    for tables, pieces, doing in (
        (
            {"encoders": rows((5, 2, 2))},
            "1 unattributed 5 encoding 7 unattributed 10",
            " encoding ",
        ),
        ({"driver_intervals": rows((3, 9, 0))}, "1 unattributed 3 driver 10", " driver"),
        (
            {"spans": make_named_table(("idle", 3, 4), ("admit", 7, 2))},
            "1 unattributed 3, 7 unattributed 10",
            " admit ",
        ),
        (
            {"spans": make_named_table(("tick", 0, 11), ("readback", 3, 2))},
            *("1 unattributed 10", "tick readback tick"),
        ),
        (
            {"spans": tick, "compiler_activity": rows((3, 2, 0))},
            *("1 unattributed 3 compile 5 unattributed 10", "tick compiler tick"),
        ),
    ):
        frame = gaps_of(work([(0, 1, 0, 1), (10, 1, 0, 2)]), (0, 11), **tables)
        assert (describe_gaps(frame), " ".join(frame["during"].astype(str))) == (pieces, doing)


def test_a_span_may_have_the_name_of_an_activity() -> None:
    tables = {"spans": make_named_table(("driver", 3, 2)), "encoders": rows((6, 2, 2))}
    frame = gaps_of(work([(0, 1, 0, 1), (10, 1, 0, 2)]), (0, 11), **tables)
    assert frame["during"].astype(str).tolist() == ["", "driver", "", "encoding", ""]


def test_it_says_why_there_are_no_gaps() -> None:
    with pytest.raises(Unavailable, match="there was no load in the steady window"):
        gaps_of(work([(0, 1, 0, 1)]), (0, 9), spans=make_named_table(("idle", 0, 9)))
    with pytest.raises(Unavailable, match="the steady window has no length"):
        gaps_of(work([(0, 1, 0, 1)]), (5, 5))
    with pytest.raises(Unavailable, match="none of the 1 rows belongs to python3"):
        gaps_of(work([(0, 1, 0, 1)]).assign(target=False), (0, 9))


def test_each_of_several_devices_has_gaps_of_its_own() -> None:
    """Two devices in turns are each idle half of the time; to look at both at once hides it."""
    turns = work([(0, 5, 0, 1), (5, 5, 0, 2), (10, 5, 0, 3), (15, 5, 0, 4)])
    turns["device"] = ["A", "B", "A", "B"]
    reports = completed((5, 1), (10, 2), (15, 3), (20, 4))
    given_tables = given(gpu_intervals=turns, completions=reports, **until(20))
    frame = given_tables["gaps"]
    assert frame["device"].astype(int).tolist() == [0, 0, 1, 1]
    assert (frame["start"] // MS).tolist() == [5, 15, 0, 10]
    assert frame["cause"].astype(str).tolist() == ["other-device"] * 4
    assert (
        measure_tables("idle_ratio", gpu_intervals=turns, completions=reports, **until(20)) == 0.5
    )
    parties = given_tables["parties"]
    assert parties[Party.WORKS] == parties[Party.OTHER_DEVICE] == 10 * MS
    assert sum(parties.values()) == 20 * MS


def test_a_device_without_a_name_is_not_a_device_of_its_own() -> None:
    rows_of = work([(0, 5, 0, 1), (5, 5, 0, 2)]).assign(device=["M1", None])
    assert gaps_of(rows_of, (0, 10)).empty
