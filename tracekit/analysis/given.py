"""The input of metrics, rules and panels: tables of a run, and values derived from them.

Three defects of tables differ. If an instrument did not record a table, the rest is still valid. If
rows of a table are missing, any value derived from it looks valid and is wrong. So nothing is
derived from a damaged export, nor from a table whose rows are missing while other tables of the
recording refer to them. Impossible rows are removed from the table that is given, and nothing is
derived from a table with too many of them.

Tables are requested by name. `provenance`, its `targets` and its `machine` exist from the start;
derived values are computed once, on the first request. So are `losses` (the problems that readers
of the used tables report), `settings` (the settings of the instruments), `launches` (the commands
that started processes) and `profile_frames` (the frames of sampled stacks).
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from copy import copy
from functools import lru_cache, partial
from typing import Any
from weakref import WeakMethod

import pandas as pd

from tracekit.analysis.allocating import allocating_of
from tracekit.analysis.channels import channels_table, work_groups_table
from tracekit.analysis.completeness import (
    Completeness,
    describe_missing_work,
    measure_completeness,
)
from tracekit.analysis.counters import counter_means, counter_samples, pressure
from tracekit.analysis.dispatches import list_dispatches
from tracekit.analysis.fixed import FixedTable
from tracekit.analysis.growth import growth_of
from tracekit.analysis.handover import handover_of
from tracekit.analysis.happenings import happenings
from tracekit.analysis.idle.gaps import gaps_table, loaded_table
from tracekit.analysis.idle.listing import list_gaps
from tracekit.analysis.idle.samples import meanwhile_table
from tracekit.analysis.idle.sources import causes_table
from tracekit.analysis.idle.sums import by_cause, by_party
from tracekit.analysis.idle.surroundings import surroundings
from tracekit.analysis.idle.waits import waits_table
from tracekit.analysis.idle.work import timeline_table, work_of
from tracekit.analysis.inject import NotApplicable, Unavailable, asked_tables, inject
from tracekit.analysis.iterations import (
    iterations_table,
    loop_of,
    pauses_table,
    structure_of,
)
from tracekit.analysis.lifetime import lifetime_of
from tracekit.analysis.memory import request_rises, room_of
from tracekit.analysis.metrics.roofline import roof_of
from tracekit.analysis.physics.belief import JUDGED, Belief
from tracekit.analysis.physics.laws import Breach
from tracekit.analysis.profile import PROFILES, frames_table
from tracekit.analysis.program import program_of
from tracekit.analysis.queueing import bursts_table, thread_names
from tracekit.analysis.replay import replay_of
from tracekit.analysis.residency import measure_residency
from tracekit.analysis.savings.estimate import savings_of
from tracekit.analysis.savings.readings import schedules_of
from tracekit.analysis.scope import Recorded, device_of, gpu_of, put_target_first
from tracekit.analysis.submission import habits_of
from tracekit.analysis.work_names import named_work
from tracekit.base import Provenance, TracekitError
from tracekit.tables import SCHEMAS, Flaw, Loss, Tables, losses
from tracekit.tables import schemas as tables_schemas
from tracekit.workload import IDLE, OWN_REFERENCE, REFERENCE

_Recorded = Mapping[str, pd.DataFrame]
OF_MARKS = frozenset(
    {
        *("phases", "steps", "specializations", "step_models", "spans", "gauges", "requests"),
        *("request_tokens", "results", "memory_profile"),
    }
)
"""The tables that a workload of tracekit writes, all of them together."""
# The table that was added last: a workload that writes it also writes all others.
_LATEST = "memory_profile"


def describe_damage(name: str, tables: _Recorded) -> str:
    """Return a sentence about a damaged export that the table is derived from; "" if none is.

    Damage is known only after reading, so this reads the table.
    """
    if not isinstance(tables, Tables) or name not in SCHEMAS or not _read(tables, name):
        return ""
    schemas = tables_schemas.every_source(name)
    texts = [
        loss.text.rstrip(".")
        for loss in tables.losses
        if loss.flaw is Flaw.DAMAGED and (loss.schema in schemas or loss.table == name)
    ]
    return f"rows of the table {name} are missing: {'; '.join(texts)}." if texts else ""


def describe_missing_rows(name: str, tables: _Recorded) -> str:
    """Return a sentence about missing rows of a workload's own table; "" without a sign of any.

    A workload writes all of its tables together, including empty ones.
    """
    if name not in OF_MARKS:
        return ""
    frame = _frame(tables, name)
    wrote_all_tables = (
        not _is_empty(_frame(tables, "steps")) and _frame(tables, _LATEST) is not None
    )
    if frame is None and wrote_all_tables:
        return f"the recording has no table {name}, which a workload always writes with its steps."
    witness, words = _WITNESSES.get(name, ("", ""))
    if witness and _is_empty(frame) and not _is_empty(_frame(tables, witness)):
        return f"the table {name} has no rows, although {words}."
    check = {"steps": _steps, "spans": _spans}.get(name)
    return check(frame, tables) if check else ""


_WITNESSES = {
    "phases": ("steps", "the workload made steps"),
    "requests": ("request_tokens", "requests got tokens"),
}


def _steps(frame: pd.DataFrame | None, tables: _Recorded) -> str:
    phases = _frame(tables, "phases")
    if not _is_empty(frame) or phases is None:
        return ""
    marked = (phases["name"] == "steady") & (phases["clock"] == "host")
    message = "the table steps has no rows, although the workload came to its steady phase."
    return message if marked.any() else ""


def _spans(frame: pd.DataFrame | None, tables: _Recorded) -> str:
    """Return a sentence if spans of reference work or of steps without load are missing."""
    span_names = frozenset[str]() if frame is None else frozenset(frame["name"].dropna())
    gauges, steps = _frame(tables, "gauges"), _frame(tables, "steps")
    if REFERENCE not in span_names and gauges is not None:
        by_worker = gauges["source"].fillna("").str.startswith(OWN_REFERENCE)
        if ((gauges["name"] == REFERENCE) & by_worker).any():
            return f"{_NO_SPANS} the reference work that the worker did between steps."
    waited = steps is not None and "variant" in steps and (steps["variant"] == IDLE).any()
    return f"{_NO_SPANS} the steps without load." if IDLE not in span_names and waited else ""


_NO_SPANS = "time outside the workload's own work cannot be left out: the table spans lacks"


def _is_empty(frame: pd.DataFrame | None) -> bool:
    return frame is None or frame.empty


def _frame(tables: _Recorded, name: str) -> pd.DataFrame | None:
    try:
        return tables[name]
    except (KeyError, TracekitError, Unavailable):
        return None


def _further_columns(tables: _Recorded, name: str) -> Mapping[str, pd.Series] | None:
    if isinstance(tables, Tables):
        return tables.further_columns(name)
    return None


def _read(tables: Tables, name: str) -> bool:
    """Read a table, without making a frame of it; return whether it is there."""
    try:
        tables.outline(name)
    except (KeyError, TracekitError):
        return False
    return True


def losses_of_used(
    tables: Tables, table_names: Iterable[str], more: Iterable[Loss] = ()
) -> pd.DataFrame:
    """Return the table `losses` of the used tables, of those that were read before, and `more`.

    This reads each used table that has not been read yet.
    """
    for name in sorted(table_names):
        with suppress(KeyError, TracekitError):  # recorded as a loss
            tables.outline(name)
    return tables.list_losses(more)


def settings_table(tables: Tables) -> pd.DataFrame:
    """Return the table `settings`: an `instrument` and one `setting` of it in each row.

    Settings have the wording of the table of contents, such as "Counter Set: Performance Limiters".
    """
    return pd.DataFrame(tables.settings, columns=["instrument", "setting"], dtype="string")


def launches_table(tables: Tables) -> pd.DataFrame:
    """Return the table `launches`: the known `pid`, `path` and `arguments` of processes.

    Paths and arguments may contain personal names, so never show them in full.
    """
    runs = (
        [run for run in tables.toc.runs if tables.run in {None, run.number}] if tables.toc else []
    )
    rows = [(pid, path, None) for run in runs for pid, path in run.paths.items()]
    rows += [(run.target.pid, None, run.arguments) for run in runs if run.target and run.arguments]
    return pd.DataFrame(rows, columns=["pid", "path", "arguments"])


GIVEN_BY_PROVENANCE = ("provenance", "targets", "machine")
DERIVED: Mapping[str, Callable[..., Any]] = {
    "device": device_of,
    "gpu": gpu_of,
    "handover": handover_of,
    "lifetime": lifetime_of,
    "life": work_of,
    "around": surroundings,
    "timeline": timeline_table,
    "structure": structure_of,
    "iterations": iterations_table,
    "pauses": pauses_table,
    "loop": loop_of,
    "captured": list_dispatches,
    "replay": replay_of,
    "work": named_work,
    "channels": channels_table,
    "work_groups": work_groups_table,
    "thread_names": thread_names,
    "bursts": bursts_table,
    "loaded": loaded_table,
    "waits": waits_table,
    "gaps": gaps_table,
    "gap_list": list_gaps,
    "idle_by_cause": by_cause,
    "parties": by_party,
    "causes": causes_table,
    "meanwhile": meanwhile_table,
    "schedules": schedules_of,
    "savings": savings_of,
    "allocating": allocating_of,
    "growth": growth_of,
    "residency": measure_residency,
    "request_rises": request_rises,
    "room": room_of,
    "habits": habits_of,
    "happenings": happenings,
    "counter_samples": counter_samples,
    "counter_means": counter_means,
    "loads": pressure,
    "steady_roof": roof_of,
    "program": program_of,
}
_OF_EXPORTS = (losses.LOSSES, "settings", "launches", "profile_frames")
IMPOSSIBLE = "impossible"
"""The impossible rows, as a tuple of breaches."""
DOUBTFUL = "doubtful"
"""The time for which intervals whose end cannot be may have run, in ns."""
COMPLETENESS = "completeness"
"""The recorded share of the workload's GPU work."""
_OF_BELIEF = (IMPOSSIBLE, DOUBTFUL, COMPLETENESS)
_OF_GPU = frozenset({"gpu_intervals", "encoders"})
"""The tables whose rows are missing if GPU work is."""
GIVEN = frozenset({*GIVEN_BY_PROVENANCE, *DERIVED, *_OF_EXPORTS, *_OF_BELIEF})


class _FixedTables(Mapping[str, Recorded]):
    """The recorded tables, none of which changes; a frame of each is made once."""

    def __init__(self, tables: Mapping[str, pd.DataFrame]) -> None:
        self._tables = tables
        self._made: dict[str, Recorded] = {}

    def __getitem__(self, name: str) -> Recorded:
        if name not in self._made:
            self._made[name] = Recorded.from_frame(self._tables[name])
        return self._made[name]

    def forget(self, name: str) -> None:
        """Do not hold a table any more."""
        self._made.pop(name, None)

    def __contains__(self, name: object) -> bool:
        return name in self._tables

    def __iter__(self) -> Iterator[str]:
        return iter(self._tables)

    def __len__(self) -> int:
        return len(self._tables)


class Given(Mapping[str, Any]):
    """The tables of a recording, and the tables and values derived from them.

    A second request for a table returns the same frame, so callers must not change it. Each request
    for a table that cannot be made raises Unavailable, with the reason.
    """

    def __init__(
        self,
        tables: Mapping[str, pd.DataFrame],
        provenance: Provenance,
        used_tables: Collection[str] = (),
        *,
        part: bool = False,
    ) -> None:
        """Take the tables; `losses` covers the `used_tables` and all other tables that were read.

        In a `part` of a recording, a table that another one refers to does not count as missing.
        """
        self._tables = tables
        self._fixed_tables = _FixedTables(tables)
        self._part = part
        self._used = used_tables
        self._made: dict[str, Any] = {
            "provenance": provenance,
            "targets": provenance.targets,
            "machine": provenance.machine,
        }
        self._lost: dict[str, str] = {}
        recorded = round((provenance.duration or 0) * 1e9)
        # A method of its own would keep all tables until the next search for cycles.
        find_creation_time = WeakMethod(self._find_creation_time)
        self._belief = Belief(
            partial(_frame, self._fixed_tables),
            recorded or None,
            lambda: _call_living(find_creation_time),
            partial(_further_columns, tables),
        )

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            try:
                self._made[name] = self._make(name)
            except (Unavailable, TracekitError) as reason:
                self._made[name] = copy(reason)
        value = self._made[name]
        if isinstance(value, Exception):
            raise copy(value)  # the traceback of one that is kept would keep its variables
        return value

    def __contains__(self, name: object) -> bool:
        """Return whether the recording has something of that name, even if it is damaged."""
        try:
            self[str(name)]
        except KeyError:
            return False
        except TracekitError:
            return True
        return True

    def _make(self, name: str) -> Any:
        if name in DERIVED:
            return _fix_table(inject(DERIVED[name], self))
        if name == COMPLETENESS:
            return self._measure_completeness()
        if name in _OF_BELIEF:
            return self._impossible() if name == IMPOSSIBLE else self._belief.doubtful
        if name in _OF_EXPORTS and isinstance(self._tables, Tables):
            return self._of_exports(name, self._tables)
        table = self._fixed_tables[name]
        believed_table = self._belief.believe(name, table)
        if name == "gpu_intervals":
            believed_table = self._put_target_first(believed_table)
        if believed_table is table:
            return table
        return Recorded.from_frame(believed_table)

    def _put_target_first(self, intervals: pd.DataFrame) -> pd.DataFrame:
        """Order the largest table so that the rows of the target are a part of it, not a copy.

        The table as it was read is not held, so that it is in memory once.
        """
        ordered = put_target_first(intervals)
        if ordered is not intervals and isinstance(self._tables, Tables):
            with suppress(Unavailable, TracekitError):  # which counts the rows as they were read
                self[COMPLETENESS]
            self._tables.forget("gpu_intervals")
            self._fixed_tables.forget("gpu_intervals")
        return ordered

    def _of_exports(self, name: str, tables: Tables) -> pd.DataFrame:
        if name == losses.LOSSES:
            return losses_of_used(tables, self._used, self.belief_losses)
        if name == "settings":
            return settings_table(tables)
        if name == "launches":
            return launches_table(tables)
        sampled = next((table for table in PROFILES if table in tables), None)
        if sampled is None:
            raise KeyError(name)
        return frames_table(tables.symbols(PROFILES[sampled]))

    def _find_recorded_table(self, name: str) -> pd.DataFrame | None:
        return _frame(self._fixed_tables, name)

    def _find_creation_time(self) -> int | None:
        with suppress(KeyError, Unavailable, TracekitError):
            return self["lifetime"].created
        return None

    def _impossible(self) -> tuple[Breach, ...]:
        if not any(name in self._tables for name in JUDGED):
            raise NotApplicable("there is no table of a trace whose rows could be examined.")
        return self._belief.breaches()

    def _measure_completeness(self) -> Completeness:
        provenance: Provenance = self._made["provenance"]
        if self._part:
            raise Unavailable("a part of a recording has only a part of its rows.")
        for name in ("gpu_intervals", "steps"):
            damage = describe_damage(name, self._tables)
            if damage:
                raise Unavailable(damage)
        margin = int(provenance.clock.get("uncertainty") or 0)
        return measure_completeness(self._find_recorded_table, margin)

    def _describe_missing_work(self, name: str) -> str:
        """Return a sentence if too little of the target's GPU work was recorded; "" otherwise."""
        if name not in _OF_GPU:
            return ""
        with suppress(Unavailable, TracekitError):
            completeness: Completeness = self[COMPLETENESS]
            if completeness.recorded:  # without any row, nothing can be derived from rows
                return describe_missing_work(completeness)
        return ""

    def breaches(self, *names: str) -> tuple[Breach, ...]:
        """Return the impossible rows of the named tables; without names, of all checked tables."""
        return self._belief.breaches(names or JUDGED)

    @property
    def belief_losses(self) -> tuple[Loss, ...]:
        """The rejected content of the used tables, and of those that were examined before."""
        self._belief.breaches(name for name in JUDGED if name in self._used)
        return self._belief.losses()

    def lost(self, name: str) -> str:
        """Return why a table of the recording must not be used; "" if nothing is wrong."""
        if name in GIVEN or self._part:
            return ""
        if name not in self._lost:
            reason = describe_damage(name, self._tables) or describe_missing_rows(
                name, self._fixed_tables
            )
            reason = reason or self._describe_missing_work(name)
            self._lost[name] = reason or self._belief.doubt(name)
        return self._lost[name]

    def __iter__(self) -> Iterator[str]:
        yield from dict.fromkeys((*GIVEN_BY_PROVENANCE, *DERIVED, *self._tables))

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _fix_table(value: object) -> object:
    """Return a value, or the fixed table of a frame."""
    if type(value) is pd.DataFrame:
        return FixedTable.from_frame(value)
    return value


def _call_living(method: "WeakMethod[Callable[[], int | None]]") -> int | None:
    living_method = method()
    if living_method is None:
        return None
    return living_method()


@lru_cache(maxsize=512)
def recorded_tables(function: Callable[..., object]) -> frozenset[str]:
    """Return the names of the recording's tables that the function uses, directly or derived."""
    table_names: set[str] = set()
    for name in asked_tables(function):
        table_names |= recorded_tables(DERIVED[name]) if name in DERIVED else {name}
    return frozenset(table_names - {*GIVEN_BY_PROVENANCE, *_OF_EXPORTS, *_OF_BELIEF})
