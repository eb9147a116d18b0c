"""The recorded rows that are believed, and the losses that are reported for the others."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from tracekit.analysis.physics.laws import FEW, Breach, Cost, Flags
from tracekit.analysis.physics.lives import judge_lives, judge_numbers, possible_time
from tracekit.analysis.physics.rows import STAKES, ExaminedTable
from tracekit.analysis.physics.times import (
    judge_lanes,
    judge_samples,
    judge_shares,
    judge_states,
    judge_times,
)
from tracekit.base import units
from tracekit.tables import SCHEMAS, Flaw, Loss
from tracekit.tables import losses as tables_losses

TOGETHER = ("gpu_intervals", "completions", "commits", "submissions", "encoders")
"""Tables that are held against each other: a request for one reads all of them."""
JUDGED = tuple(name for name in STAKES if name != "gpu_states")
"""Tables that findings use; the states of the device are only drawn."""


@dataclass(frozen=True, eq=False)
class Judgment:
    """The breaches of a table, and the rows and lengths of it that are believed.

    `share` is how much of it is left out: of its rows, or of the time of its work. The rows
    themselves are not held: a table that is examined is not in memory twice.
    """

    breaches: tuple[Breach, ...]
    credible: Flags
    has_end: Flags
    share: float

    def leave_out(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the table without rows and lengths that cannot be; itself if all can."""
        if not self.breaches:
            return frame
        if not self.has_end.all():
            known_durations = frame["duration"].mask(~self.has_end)
            frame = frame.assign(duration=known_durations)
        if not self.credible.all():
            frame = frame[self.credible].reset_index(drop=True)
        return frame


_NO_FLAGS = np.empty(0, np.bool_)
_UNBROKEN = Judgment((), _NO_FLAGS, _NO_FLAGS, 0.0)


class Belief:
    """The belief in the tables of a recording.

    A table is examined once, on its first use; its breaches are reported as losses then.
    """

    def __init__(
        self,
        read: Callable[[str], pd.DataFrame | None],
        recorded: int | None = None,
        created: Callable[[], int | None] = lambda: None,
        read_further: Callable[[str], Mapping[str, pd.Series] | None] = lambda _: None,
    ) -> None:
        """Take a function that reads a table, or returns None without it.

        `recorded` is the recorded time, `created` returns when the target was created; ns.
        `read_further` returns the columns that a table has and its frame lacks.
        """
        self._read = read
        self._recorded = recorded
        self._created = created
        self._read_further = read_further
        self._judgments: dict[str, Judgment] = {}
        self._doubtful = 0

    def believe(self, name: str, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the table without its impossible rows."""
        judgment = self._examine(name)
        if judgment is None:
            return frame
        return judgment.leave_out(frame)

    def breaches(self, names: Iterable[str] = JUDGED) -> tuple[Breach, ...]:
        """Return the breaches in those of the tables that exist."""
        breaches: list[Breach] = []
        for name in names:
            judgment = self._examine(name)
            if judgment is not None:
                breaches.extend(judgment.breaches)
        return tuple(breaches)

    def doubt(self, name: str) -> str:
        """Return a sentence that says why a table may not be used; "" if its rows are believed."""
        if name not in STAKES:
            return ""
        judgment = self._examine(name)
        if judgment is None:
            return ""
        breaches = [breach for breach in judgment.breaches if not breach.missing]
        if not breaches:
            return ""
        for breach in breaches:
            if breach.cost is Cost.NOTHING:
                return (
                    f"{units.percent(breach.share)} of the rows of {name} that "
                    f"{breach.witness} tells "
                    f"of cannot be, as each {breach.law.words}."
                )
        if judgment.share <= FEW:
            return ""
        share_words = units.percent(judgment.share)
        return (
            f"impossible rows of {name} may make up {share_words} of it; the first "
            f"{breaches[0].law.words}."
        )

    @property
    def doubtful(self) -> int:
        """How long device intervals of the target whose end is not believed may have run, in ns.

        The device may have been idle for less time than the believed rows show, by so much.
        """
        self._examine("gpu_intervals")
        return self._doubtful

    def losses(self) -> tuple[Loss, ...]:
        """Return the losses of the tables that were examined so far."""
        losses: list[Loss] = []
        for judgment in self._judgments.values():
            losses.extend(map(_loss_of, judgment.breaches))
        return tuple(losses)

    def _measure_share(self, rows: ExaminedTable) -> float:
        """Return the share of a table that is left out: of its rows, or of the time of its work."""
        is_usable = rows.credible & rows.has_end
        left_out = np.count_nonzero(~is_usable)
        share = left_out / max(rows.start.size, 1)
        if rows.table != "gpu_intervals" or not rows.credible.any():
            return share
        credible_starts = rows.start[rows.credible]
        start = int(credible_starts.min())
        credible_ends = rows.end[rows.credible]
        end = int(credible_ends.max())
        doubtful_share = self._doubtful / max(end - start, 1)
        return max(share, doubtful_share)

    def _examine(self, name: str) -> Judgment | None:
        if name not in STAKES:
            return None
        if name in TOGETHER:
            return self._joint.get(name)
        if name not in self._judgments:
            rows = self._rows(name)
            if rows is None:
                return None
            judge_samples(rows)
            judge_shares(rows)
            if name in {"gpu_performance_states", "gpu_states"}:
                judge_states(rows)
            self._enter(rows)
        return self._judgments[name]

    @cached_property
    def _joint(self) -> dict[str, Judgment]:
        tables: dict[str, ExaminedTable] = {}
        for name in TOGETHER:
            rows = self._rows(name)
            if rows is not None:
                tables[name] = rows
        judge_lives(tables, self._created())
        work = tables.get("gpu_intervals")
        if work is not None:
            judge_lanes(work)
            if "encoders" in tables:
                judge_numbers(work, tables["encoders"])
            self._doubtful = possible_time(work, tables.get("completions"))
        for rows in tables.values():
            self._enter(rows)
        return {name: self._judgments[name] for name in tables}

    def _rows(self, name: str) -> ExaminedTable | None:
        """Read a table and judge its times; None without any."""
        frame = self._read(name)
        if frame is None:
            return None
        if "start" not in frame and "time" not in frame:
            return None
        rows = ExaminedTable.from_frame(name, frame, self._read_further(name))
        judge_times(rows, self._recorded)
        return rows

    def _enter(self, rows: ExaminedTable) -> None:
        """Report the breaches of a table."""
        judgment = _UNBROKEN
        if rows.breaches:
            share = self._measure_share(rows)
            judgment = Judgment(tuple(rows.breaches), rows.credible, rows.has_end, share)
        self._judgments[rows.table] = judgment
        tables_losses.report(_loss_of(breach) for breach in rows.breaches)


def _loss_of(breach: Breach) -> Loss:
    flaw = Flaw.NOTED if breach.missing else Flaw.IMPOSSIBLE
    sources = SCHEMAS[breach.table].sources
    schema = ""
    if sources:
        schema = sources[0].schema
    sentence = sentence_of(breach)
    return Loss(flaw, sentence, table=breach.table, schema=schema, rows=breach.rows)


def sentence_of(breach: Breach) -> str:
    """Return a sentence that says which rows cannot be, and why."""
    first_time = units.duration(int(breach.start[0]))
    place = f"the first at {first_time}"
    if breach.missing:
        return _of_missing(breach, place)
    if breach.rows == 1:
        rows = "1 row"
        subject = "it"
        limit = ""
    else:
        rows = f"{units.count(breach.rows)} rows"
        subject = "each"
        limit = "up to "
    excess = ""
    if breach.worst is not None:
        excess = f" by {limit}{units.duration(breach.worst)}"
    cost = _COSTS[breach.cost].format(breach.witness)
    return (
        f"{breach.table}: {rows} cannot be, {place}: {subject} {breach.law.words}{excess}; {cost}."
    )


def _of_missing(breach: Breach, place: str) -> str:
    if breach.rows == 1:
        words = "1 row is missing"
        numbers = "number"
    else:
        words = f"{units.count(breach.rows)} rows are missing"
        numbers = "numbers"
    if breach.table == "gpu_intervals":
        return f"{breach.table}: {words}, or had no work, {place}: encoders has the {numbers}."
    return f"{breach.table}: {words}, {place}: gpu_intervals has the {numbers}."


_COSTS = {
    Cost.ROW: "left out",
    Cost.LENGTH: "the length is left out",
    Cost.NOTHING: "it is at odds with {}, and nothing is made of it",
}
