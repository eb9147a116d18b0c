"""`gaps` of traces made at random, against a judge that looks at each moment by itself."""

from collections.abc import Callable

import pandas as pd
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from analysed import given as known_of
from analysed import named
from analysed import table as typed
from tracekit.analysis.idle.gaps import by_cause, idle_time, loaded_time

UNIT = 10_000  # 100 µs, from which a start is late, are ten of them
END = 60

Row = tuple[int, int]
Rows = list[Row]
Piece = tuple[int, int, int | None]

rows = st.lists(st.tuples(st.integers(0, END), st.integers(1, 8)), max_size=6)
work = st.lists(
    st.tuples(st.integers(0, END), st.integers(1, 8), st.none() | st.integers(0, 9)),
    min_size=1,
    max_size=8,
)


def table(pairs: Rows, *, target: bool = True) -> pd.DataFrame:
    return typed("start duration", *pairs, unit=UNIT, target=target).astype({"target": bool})


def device(own: list[Piece], others: Rows) -> pd.DataFrame:
    every = [(*one, True) for one in own] + [(*one, None, False) for one in others]
    frame = typed("start duration start_latency target", *every, unit=UNIT)
    return frame.assign(command_buffer=frame.index // 2, channel="Compute", clock="gpu").astype(
        {"command_buffer": "UInt64", "target": bool}
    )


def inside(pairs: Rows) -> Callable[[int], bool]:
    return lambda at: any(start <= at < start + length for start, length in pairs)


def cause_at(at: int, own: list[Piece], around: dict[str, Rows]) -> str:
    """Judge one moment of idle time by the words of tracekit/analysis/idle/pieces.py."""
    busy, absent = inside([one[:2] for one in own]), inside(around["annotated"])
    until = next((t for t in range(at, END) if busy(t) or absent(t)), END)
    since = next((t + 1 for t in range(at, -1, -1) if busy(t) or absent(t)), 0)
    after = min((one for one in enumerate(own) if one[1][0] >= until), key=first, default=None)
    known = [late for *_, late in own] if after is None else [after[1][2]]
    committed = END * 9
    if after is not None and after[1][2] is not None:
        committed = after[1][0] - after[1][2]
    mates = [] if after is None else own[after[0] // 2 * 2 :][:2]
    if any(one[0] < since for one in mates):
        return "other-process" if inside(around["others"])(at) else "between-encoders"
    rest = "unattributed" if all(one is None for one in known) else "host-late"
    long = until - committed > 20 and 2 * (until - committed) > until - since
    if at < committed:
        if inside(around["compiler"])(at):
            return "compile"
        return "driver" if inside(around["driver"])(at) else rest
    queued = [held_up(moment, around, after) for moment in range(max(since, committed), until)]
    held = queued[at - max(since, committed)]
    if committed > since and not long:
        return "other-process" if inside(around["others"])(at) else rest
    late = committed > since or queued.count("") > 10
    return held or ("late-start" if late else "between-buffers")


def held_up(at: int, around: dict[str, Rows], after: tuple[int, Piece] | None) -> str:
    """Say what held committed work up at a moment."""
    if inside(around["driver"])(at) and at < through(after, around["driver"]):
        return "driver"
    return "other-process" if inside(around["others"])(at) else ""


def through(after: tuple[int, Piece] | None, driver: Rows) -> int:
    """Return when the driver is through with the work that ends the gap, by its order."""
    late = None if after is None else after[1][2]
    given_at = -END if late is None and after is not None else END * 2
    if after is not None and late is not None:
        given_at = after[1][0] - late
    following = sorted((one for one in driver if one[0] >= given_at), key=lambda one: one[0])
    return sum(following[0]) if following else END * 2


def first(one: tuple[int, Piece]) -> tuple[int, int]:
    """Order pieces of work by their start, then as they are given."""
    return one[1][0], one[0]


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(own=work, others=rows, driver=rows, compiler=rows, annotated=rows)
def test_every_moment_of_idle_time_has_the_one_cause_that_holds_then(
    own: list[Piece], others: Rows, driver: Rows, compiler: Rows, annotated: Rows
) -> None:
    intervals = device(own, others)
    phases = named(("steady", 0, END), unit=UNIT)
    spans = table(annotated).assign(name="idle")
    busy, absent = inside([one[:2] for one in own]), inside(annotated)
    present = [at for at in range(END) if not absent(at)]
    if not present:
        return
    tables = {
        "gpu_intervals": intervals,
        "phases": phases,
        "spans": spans,
        "driver_intervals": table(driver).assign(depth=0),
        "compiler_activity": table(compiler),
    }
    known = known_of(**tables)
    loaded, gaps = known["loaded"], known["gaps"]
    idle = [at for at in present if not busy(at)]
    assert loaded_time(loaded) == len(present) * UNIT
    assert idle_time(gaps) == len(idle) * UNIT == sum(by_cause(gaps).values())
    starts = gaps["start"].to_numpy()
    ends = starts + gaps["duration"].to_numpy()
    assert (ends > starts).all()
    assert (starts[1:] >= ends[:-1]).all()
    around = {"others": others, "driver": driver, "compiler": compiler, "annotated": annotated}
    expected = {at: cause_at(at, own, around) for at in idle}
    found = {
        at: str(cause)
        for start, end, cause in zip(starts // UNIT, ends // UNIT, gaps["cause"], strict=True)
        for at in range(start, end)
    }
    assert found == expected
