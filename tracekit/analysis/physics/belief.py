"""Which recorded rows are believed, and what is said of the others."""

from collections.abc import Callable, Iterable
from functools import cached_property

import numpy as np
import pandas as pd

from tracekit.analysis.physics.laws import FEW, Breach, Cost
from tracekit.analysis.physics.lives import judge_lives, judge_numbers, possible_time
from tracekit.analysis.physics.rows import STAKES, ExaminedTable
from tracekit.analysis.physics.times import (
    judge_lanes,
    judge_samples,
    judge_shares,
    judge_states,
    judge_times,
)
from tracekit.base import count, duration, percent
from tracekit.tables import SCHEMAS, Flaw, Loss, report

TOGETHER = ("gpu_intervals", "completions", "commits", "submissions", "encoders")
"""Tables that are held against each other: who asks for one has all of them read."""
JUDGED = tuple(name for name in STAKES if name != "gpu_states")
"""Tables of which findings are made; the states of the device are only drawn."""


class Belief:
    """What is believed of the tables of a recording.

    A table is examined when somebody asks for it, once; its breaches are reported as losses then.
    """

    def __init__(
        self,
        read: Callable[[str], pd.DataFrame | None],
        recorded: int | None = None,
        created: Callable[[], int | None] = lambda: None,
    ) -> None:
        """Take what reads a table, or returns None without it.

        `recorded` is for how long was recorded, `created` tells when the target was created; ns.
        """
        self._read = read
        self._recorded = recorded
        self._created = created
        self._examined: dict[str, ExaminedTable] = {}

    def believe(self, name: str, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the table without the rows that cannot be."""
        rows = self._examine(name)
        return frame if rows is None or not rows.breaches else rows.believable

    def breaches(self, names: Iterable[str] = JUDGED) -> tuple[Breach, ...]:
        """Return what was found in those of the tables that there are."""
        examined = [self._examine(name) for name in names]
        return tuple(breach for rows in examined if rows is not None for breach in rows.breaches)

    def doubt(self, name: str) -> str:
        """Say in a sentence why nothing may be made of a table; "" where its rows are believed."""
        if name not in STAKES:
            return ""
        rows = self._examine(name)
        breaches = (
            [] if rows is None else [breach for breach in rows.breaches if not breach.missing]
        )
        for breach in breaches:
            if breach.cost is Cost.NOTHING:
                return (
                    f"{percent(breach.share)} of the rows of {name} that {breach.witness} tells "
                    f"of cannot be, as each {breach.law.words}."
                )
        if rows is None or not breaches:
            return ""
        share = self._share(rows)
        if share <= FEW:
            return ""
        return (
            f"rows of {name} that cannot be may stand for {percent(share)} of it; the first "
            f"{breaches[0].law.words}."
        )

    @cached_property
    def doubtful(self) -> int:
        """For how long device intervals of the target whose end is not believed may have run, ns.

        So much less of the device's time may have been idle than the believed rows show.
        """
        work = self._examine("gpu_intervals")
        return 0 if work is None else possible_time(work, self._examine("completions"))

    def losses(self) -> tuple[Loss, ...]:
        """Return what is not believed of the tables that were examined so far."""
        return tuple(
            _loss_of(breach) for rows in self._examined.values() for breach in rows.breaches
        )

    def _share(self, rows: ExaminedTable) -> float:
        """Return which share of a table was left out: of its rows, or of the time of its work."""
        share = np.count_nonzero(~(rows.credible & rows.has_end)) / max(rows.start.size, 1)
        if rows.table != "gpu_intervals" or not rows.credible.any():
            return share
        length = int(rows.end[rows.credible].max()) - int(rows.start[rows.credible].min())
        return max(share, self.doubtful / max(length, 1))

    def _examine(self, name: str) -> ExaminedTable | None:
        if name not in STAKES:
            return None
        if name in TOGETHER:
            return self._joint.get(name)
        if name not in self._examined:
            rows = self._rows(name)
            if rows is None:
                return None
            for judge in (judge_samples, judge_shares):
                judge(rows)
            if name in {"gpu_performance_states", "gpu_states"}:
                judge_states(rows)
            self._enter(rows)
        return self._examined[name]

    @cached_property
    def _joint(self) -> dict[str, ExaminedTable]:
        read = {name: self._rows(name) for name in TOGETHER}
        tables = {name: rows for name, rows in read.items() if rows is not None}
        judge_lives(tables, self._created())
        if "gpu_intervals" in tables:
            judge_lanes(tables["gpu_intervals"])
        if {"gpu_intervals", "encoders"} <= tables.keys():
            judge_numbers(tables["gpu_intervals"], tables["encoders"])
        for rows in tables.values():
            self._enter(rows)
        return tables

    def _rows(self, name: str) -> ExaminedTable | None:
        """Read a table and judge its times; None where there are none."""
        frame = self._read(name)
        if frame is None or not {"start", "time"} & set(frame.columns):
            return None
        rows = ExaminedTable.from_frame(name, frame)
        judge_times(rows, self._recorded)
        return rows

    def _enter(self, rows: ExaminedTable) -> None:
        self._examined[rows.table] = rows
        report(_loss_of(breach) for breach in rows.breaches)


def _loss_of(breach: Breach) -> Loss:
    source = next((source.schema for source in SCHEMAS[breach.table].sources), "")
    flaw = Flaw.NOTED if breach.missing else Flaw.IMPOSSIBLE
    return Loss(flaw, sentence_of(breach), table=breach.table, schema=source, rows=breach.rows)


def sentence_of(breach: Breach) -> str:
    """Say which rows cannot be, and why."""
    is_single = breach.rows == 1
    place = f"the first at {duration(int(breach.start[0]))}"
    number = f"{count(breach.rows)} {'row' if is_single else 'rows'}"
    if breach.missing:
        return _of_missing(breach, f"{number} {'is' if is_single else 'are'} missing", place)
    subject = "it" if is_single else "each"
    excess = ""
    if breach.worst is not None:
        excess = f" by {'' if is_single else 'up to '}{duration(breach.worst)}"
    return (
        f"{breach.table}: {number} cannot be, {place}: {subject} {breach.law.words}{excess}; "
        f"{_COSTS[breach.cost].format(breach.witness)}."
    )


def _of_missing(breach: Breach, words: str, place: str) -> str:
    numbers = "number" if breach.rows == 1 else "numbers"
    if breach.table == "gpu_intervals":
        return f"{breach.table}: {words}, or had no work, {place}: encoders has the {numbers}."
    return f"{breach.table}: {words}, {place}: gpu_intervals has the {numbers}."


_COSTS = {
    Cost.ROW: "left out",
    Cost.LENGTH: "the length is left out",
    Cost.NOTHING: "it is at odds with {}, and nothing is made of it",
}
