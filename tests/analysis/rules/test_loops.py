"""Rules on what belongs to the loop, and on prompts in it: `left-out-time`, `serial-prefill`."""

import pytest

from analysed import MS, Golden, given, intervals, judged, phases, row_of_steps, table
from stock import Stock, frame
from tracekit.analysis.inject import Unavailable, inject
from tracekit.analysis.rule import Finding, Severity
from tracekit.analysis.rules import RULES


def loop(made: Stock, number: int = 20, rest: float = 500) -> Stock:
    for _ in range(number):
        made.buffer([2_000])
        made.wait()
        made.spend(rest)
    return made


def notes(made: Stock) -> list[str]:
    found = list(inject(RULES["left-out-time"].judge, given(**made.tables())))
    assert all(one.severity is Severity.NOTE for one in found)
    return [one.message for one in found]


def allocating(gibibytes: int, spent: float) -> Stock:
    made = Stock()
    cells = {"event": "Allocation", "size": gibibytes << 30, "type": "Buffer"}
    made.add("resource_allocations", made.now, **cells)
    made.spend(spent)
    return made


def test_a_loop_alone_and_what_its_first_iteration_allocates_leave_nothing_out() -> None:
    assert not notes(loop(Stock()))
    assert not notes(loop(allocating(9, spent=500)))
    [said] = notes(loop(allocating(9, spent=1_500)))
    assert "within 1.5" in said


def test_the_load_before_the_loop_is_named() -> None:
    made = Stock()
    made.add("compiler_activity", made.now, 200_000, compiler="x", program="Compute")
    made.spend(200_000)
    made.rows |= allocating(3, spent=0).rows
    label = "Wire  3.00 GiB   System Memory"
    made.add("driver_events", made.now, 90_000, event="Wire Memory", label=label)
    made.buffer([40_000])
    made.wait()
    made.spend(100_000)
    [said] = notes(loop(made))
    for part in ("compiled for 200 ms", "3 GiB were allocated", "wired for 90 ms", "for 40 ms"):
        assert part in said


@pytest.mark.parametrize(("pause", "left_out"), [(250_000, 0), (350_000, 1)])
def test_a_pause_counts_from_a_third_of_a_second_on(pause: float, left_out: int) -> None:
    made = loop(Stock())
    made.spend(pause)
    found = notes(loop(made))
    assert len(found) == left_out
    assert all("nobody asked" in said for said in found)


def test_a_pause_in_which_the_program_ran_is_no_pause() -> None:
    made = loop(Stock())
    for at in range(0, 400_000, 1_000):
        made.add("cpu_profile", made.now + at, weight=1_000_000, leaf="gc_collect")
    made.spend(400_000)
    assert not notes(loop(made))


def test_steps_of_a_workload_say_what_belongs_to_them_and_without_a_loop_it_abstains() -> None:
    steps = row_of_steps([1_000] * 9)
    assert not judged("left-out-time", gpu_intervals=intervals([(0, 9_000)]), steps=steps)
    sent = frame([{"start": 0, "duration": 1, "target": True, "command_buffer": 5}])
    with pytest.raises(Unavailable, match="no repeating structure"):
        judged("left-out-time", gpu_intervals=intervals([(0, 5)]), submissions=sent)


Spans = list[tuple[str, int, int]]
Asked = list[tuple[int, int | None, int | None]]
DECODES: Spans = [("decode", at, 5) for at in (20, 25, 60, 65, 70, 75, 80, 85, 90, 95)]
ASKED: Asked = [(0, 20, 100)]


def judge(spans: Spans, asked: Asked = ASKED, **limits: float) -> list[Finding]:
    """Judge spans and requests of (start, first token, last token); times in ms."""
    requests = table("start first_token last_token", *asked)
    tables = {"spans": table("name start duration", *spans), "requests": requests}
    return judged("serial-prefill", limits, phases=phases(0, 100 * MS), **tables)


def test_a_prompt_that_stops_the_others_is_found(golden: Golden) -> None:
    spans = [("prefill", 5, 15), *DECODES, ("prefill", 30, 30)]
    golden(*judge(spans, [*ASKED, (10, None, None)]))  # 30 of the 80 ms from 20 on


@pytest.mark.parametrize(
    ("prefills", "limits", "found"),
    [
        ([("prefill", 5, 15)], {}, False),  # alone
        ([("prefill", 60, 30)], {}, False),  # beside decodes
        ([("prefill", 30, 10), ("prefill", 45, 10)], {}, False),  # in short pieces
        ([("prefill", 30, 9), ("prefill", 45, 9)], {"stall": 1.0}, True),
        ([("prefill", 30, 9), ("prefill", 45, 9)], {"stall": 1.0, "limit": 0.5}, False),
    ],
)
def test_a_prompt_alone_beside_decodes_or_in_short_pieces_stops_nobody(
    prefills: Spans, limits: dict[str, float], *, found: bool
) -> None:
    assert bool(judge([*DECODES, *prefills], **limits)) == found


def test_without_requests_or_spans_nothing_is_claimed() -> None:
    with pytest.raises(Unavailable, match="named prefill and decode"):
        judge([("allocate", 0, 5)])
    with pytest.raises(Unavailable, match="more than one token"):
        judge([("prefill", 5, 15), *DECODES], [(0, 20, 20), (5, None, None)])
