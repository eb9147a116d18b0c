"""`gaps` of traces made at random, against a judge that looks at each moment by itself."""

from collections.abc import Callable
from typing import NamedTuple

import pandas as pd
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from analysed import given as known_of
from analysed import make_named_table
from analysed import table as typed
from tracekit.analysis.idle.sums import by_cause, idle_time, loaded_time

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


late = st.lists(st.none() | st.integers(0, 9), min_size=4, max_size=4)


def table(pairs: Rows, *, target: bool = True) -> pd.DataFrame:
    return typed("start duration", *pairs, unit=UNIT, target=target).astype({"target": bool})


def device(pieces: list[Piece], other_rows: Rows) -> pd.DataFrame:
    all_rows = [(*piece, True) for piece in pieces] + [
        (*piece, None, False) for piece in other_rows
    ]
    frame = typed("start duration start_latency target", *all_rows, unit=UNIT)
    return frame.assign(command_buffer=frame.index // 2, channel="Compute", clock="gpu").astype(
        {"command_buffer": "UInt64", "target": bool}
    )


def completions(pieces: list[Piece], reports: list[int | None]) -> pd.DataFrame:
    """Make a report for each command buffer that has one, so long after its last piece's end."""
    ends = [start + length for start, length, _ in pieces]
    rows = [
        (max(ends[2 * number : 2 * number + 2]) + delay, number)
        for number, delay in enumerate(reports[: (len(pieces) + 1) // 2])
        if delay is not None
    ]
    frame = typed("time command_buffer", *rows, unit=UNIT)
    return frame.astype({"command_buffer": "UInt64"})


def make_coverage_test(pairs: Rows) -> Callable[[int], bool]:
    return lambda time: any(start <= time < start + length for start, length in pairs)


class Life(NamedTuple):
    """A command buffer: when it was committed, started, ended and reported; None: not known."""

    committed: int | None
    started: int
    end: int
    reported: int | None


def lives_of(pieces: list[Piece], reports: list[int | None]) -> list[Life]:
    """Join the pieces, two by two, to command buffers, each reported so long after its end."""
    lives: list[Life] = []
    for number in range(0, len(pieces), 2):
        pair = pieces[number : number + 2]
        late = reports[number // 2]
        commits = [start - latency for start, _, latency in pair if latency is not None]
        end = max(start + length for start, length, _ in pair)
        committed = min(commits) if len(commits) == len(pair) else None
        reported = None if late is None else end + late
        lives.append(Life(committed, min(piece[0] for piece in pair), end, reported))
    return sorted(lives, key=lambda life: life.started)


class Judge:
    """Judges one moment of idle time by the words of tracekit/analysis/idle/cause.py."""

    def __init__(
        self, pieces: list[Piece], lives: list[Life], around: dict[str, Rows], commits_known: bool
    ) -> None:
        self.busy = make_coverage_test([piece[:2] for piece in pieces])
        self.lives = lives
        self.around = around
        self.commits_known = commits_known

    def gap(self, time: int) -> tuple[int, int]:
        is_absent = make_coverage_test(self.around["annotated"])
        until = next((t for t in range(time, END) if self.busy(t) or is_absent(t)), END)
        since = next((t + 1 for t in range(time, -1, -1) if self.busy(t) or is_absent(t)), 0)
        return since, until

    def follower(self, until: int) -> Life | None:
        return next((life for life in self.lives if life.started >= until), None)

    def cause(self, time: int) -> str:
        since, until = self.gap(time)
        follower = self.follower(until)
        others_busy, driver, compiler = (
            make_coverage_test(self.around[name])(time) for name in ("others", "driver", "compiler")
        )
        if any(life.started <= time < life.end for life in self.lives):
            return "other-process" if others_busy else "between-encoders"
        if self.on_the_way(time):
            return self.held_up(time, follower) or self.start(since, until, follower)
        untold = follower.committed is None if follower else not self.commits_known
        if untold and not driver and not compiler:
            return "unattributed"
        awaited = self.find_awaited(follower)
        back = any(life.end <= time < (life.reported or 0) for life in awaited)
        for cause, holds in (("way-back", back), ("compile", compiler), ("driver", driver)):
            if holds:
                return cause
        started = [life for life in self.lives if life.started <= time]
        return "unattributed" if started and started[-1].reported is None else "host"

    def find_awaited(self, follower: Life | None) -> list[Life]:
        """Return those whose report the next commit may have waited for."""
        if follower is None:
            return self.lives
        reported_lives = [
            life for life in self.lives[: self.lives.index(follower)] if life.reported
        ]
        if follower.committed is not None:
            reported_lives = [
                life for life in reported_lives if life.reported <= follower.committed
            ]
        return sorted(reported_lives, key=lambda life: life.reported)[-1:]

    def on_the_way(self, time: int) -> bool:
        committed_lives = (life for life in self.lives if life.committed is not None)
        return any(life.committed <= time < life.started for life in committed_lives)

    def held_up(self, time: int, follower: Life | None) -> str:
        """Say what held committed work up at a moment."""
        driver = make_coverage_test(self.around["driver"])(time)
        if driver and time < through(follower, self.around["driver"]):
            return "driver"
        return "other-process" if make_coverage_test(self.around["others"])(time) else ""

    def start(self, since: int, until: int, follower: Life | None) -> str:
        """Name time on the way there that nothing explains, by its sum in the gap."""
        running = [
            make_coverage_test([(life.started, life.end - life.started)]) for life in self.lives
        ]
        unexplained = [
            t
            for t in range(since, until)
            if self.on_the_way(t)
            and not any(runs(t) for runs in running)
            and not self.held_up(t, follower)
        ]
        if len(unexplained) > 10:
            return "late-start"
        committed = END if follower is None else follower.committed
        return "between-buffers" if committed is not None and committed < since else "start-latency"


def through(follower: Life | None, driver: Rows) -> int:
    """Return when the driver is through with the work that ends the gap, by its order."""
    if follower is None or follower.committed is None:
        return END * 9
    following = sorted((row for row in driver if row[0] >= follower.committed), key=first_of)
    return sum(following[0]) if following else END * 9


def first_of(row: Row) -> int:
    return row[0]


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(own=work, reports=late, others=rows, driver=rows, compiler=rows, annotated=rows)
def test_every_moment_of_idle_time_has_the_one_cause_that_holds_then(
    own: list[Piece],
    reports: list[int | None],
    others: Rows,
    driver: Rows,
    compiler: Rows,
    annotated: Rows,
) -> None:
    intervals = device(own, others)
    phases = make_named_table(("steady", 0, END), unit=UNIT)
    spans = table(annotated).assign(name="idle")
    busy, is_absent = (
        make_coverage_test([piece[:2] for piece in own]),
        make_coverage_test(annotated),
    )
    present = [time for time in range(END) if not is_absent(time)]
    if not present:
        return
    tables = {
        "gpu_intervals": intervals,
        "phases": phases,
        "spans": spans,
        "driver_intervals": table(driver).assign(depth=0),
        "compiler_activity": table(compiler),
        "completions": completions(own, reports),
    }
    given_tables = known_of(**tables)
    loaded, gaps = given_tables["loaded"], given_tables["gaps"]
    idle = [time for time in present if not busy(time)]
    assert loaded_time(loaded) == len(present) * UNIT
    assert idle_time(gaps) == len(idle) * UNIT == sum(by_cause(gaps).values())
    starts = gaps["start"].to_numpy()
    ends = starts + gaps["duration"].to_numpy()
    assert (ends > starts).all()
    assert (starts[1:] >= ends[:-1]).all()
    around = {"others": others, "driver": driver, "compiler": compiler, "annotated": annotated}
    lives = lives_of(own, reports)
    commits_known = any(life.committed is not None for life in lives)
    judge = Judge(own, lives, around, commits_known)
    expected = {time: judge.cause(time) for time in idle}
    actual_causes = {
        time: str(cause)
        for start, end, cause in zip(starts // UNIT, ends // UNIT, gaps["cause"], strict=True)
        for time in range(start, end)
    }
    assert actual_causes == expected
