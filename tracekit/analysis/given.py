"""The tables of a run, and those that the analysis makes itself: its capture, what is lost.

A table that an instrument did not record is one thing: what can be known without it is. A table
of which rows are missing is another: whatever is made of it looks like a number and is none. So
nothing is made of an export that is damaged, nor of a table whose rows are gone while other
tables of the recording speak of them.

A metric, a rule or a panel asks for either kind by name. What is made of the provenance is there
from the start; what is made of other tables is made when somebody asks, once. So are `remarks`,
which has what readers of the exports had to say, `settings`, which has how instruments were set,
and `profile_frames`, which has the frames of sampled stacks.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import lru_cache

import pandas as pd

from tracekit.analysis.counters import counter_means, counter_samples
from tracekit.analysis.idle.gaps import causes_table, gaps_table, loaded_table
from tracekit.analysis.idle.samples import meanwhile_table
from tracekit.analysis.idle.work import timeline_table
from tracekit.analysis.inject import REMARKS, Unavailable, asked_tables, inject
from tracekit.analysis.iterations import iterations_table, loop_table, pauses_table
from tracekit.analysis.machine import machine_table
from tracekit.analysis.profile import PROFILES, frames_table
from tracekit.analysis.rhythm import happenings
from tracekit.analysis.scope import Recorded, targets_table
from tracekit.analysis.submission import habits_table
from tracekit.base import InputError, Overhead, Provenance, Stage, TracekitError
from tracekit.tables import (
    SCHEMAS,
    BundleError,
    DamagedExportError,
    DriftError,
    Flaw,
    Remark,
    Tables,
    asked,
)
from tracekit.workload import IDLE, OWN_REFERENCE, REFERENCE

_Recorded = Mapping[str, pd.DataFrame]
OF_MARKS = frozenset(
    {
        *("phases", "steps", "specializations", "step_models", "spans", "gauges", "requests"),
        *("request_tokens", "results", "memory_profile"),
    }
)
"""The tables that a workload of tracekit writes, all of them together."""
# A workload has had this table for as short as any; one that has it has the others as well.
_LATEST = "memory_profile"


def damaged(name: str, tables: _Recorded) -> str:
    """Say in a sentence that an export which the table is made of is damaged; "" if none is.

    Only what was read is known: the table is read for it.
    """
    if not isinstance(tables, Tables) or name not in SCHEMAS or _frame(tables, name) is None:
        return ""
    schemas = _exports(name)
    texts = [
        remark.text.rstrip(".")
        for remark in tables.remarks
        if remark.flaw is Flaw.DAMAGED and (remark.schema in schemas or remark.table == name)
    ]
    return f"rows of the table {name} are missing: {'; '.join(texts)}." if texts else ""


def gone(name: str, tables: _Recorded) -> str:
    """Say in a sentence which rows of a workload's own table are gone; "" if nothing tells.

    A workload writes all of its tables together, whether it has anything to say in them or not.
    """
    if name not in OF_MARKS:
        return ""
    frame = _frame(tables, name)
    together = not _bare(_frame(tables, "steps")) and _frame(tables, _LATEST) is not None
    if frame is None and together:
        return f"the recording has no table {name}, which a workload always writes with its steps."
    check = _CHECKS.get(name)
    return check(frame, tables) if check else ""


def _phases(frame: pd.DataFrame | None, tables: _Recorded) -> str:
    if not _bare(frame) or _bare(_frame(tables, "steps")):
        return ""
    return "the table phases has no rows, although the workload made steps."


def _steps(frame: pd.DataFrame | None, tables: _Recorded) -> str:
    phases = _frame(tables, "phases")
    if not _bare(frame) or phases is None:
        return ""
    marked = (phases["name"] == "steady") & (phases["clock"] == "host")
    lost = "the table steps has no rows, although the workload came to its steady phase."
    return lost if marked.any() else ""


def _requests(frame: pd.DataFrame | None, tables: _Recorded) -> str:
    if not _bare(frame) or _bare(_frame(tables, "request_tokens")):
        return ""
    return "the table requests has no rows, although requests got tokens."


def _spans(frame: pd.DataFrame | None, tables: _Recorded) -> str:
    """Look for the spans of reference work and of steps without load."""
    known = frozenset[str]() if frame is None else frozenset(frame["name"].dropna())
    gauges, steps = _frame(tables, "gauges"), _frame(tables, "steps")
    if REFERENCE not in known and gauges is not None:
        by_worker = gauges["source"].fillna("").str.startswith(OWN_REFERENCE)
        if ((gauges["name"] == REFERENCE) & by_worker).any():
            return f"{_NO_SPANS} the reference work that the worker did between steps."
    waited = steps is not None and "variant" in steps and (steps["variant"] == IDLE).any()
    return f"{_NO_SPANS} the steps without load." if IDLE not in known and waited else ""


_NO_SPANS = "time that is no work of the workload cannot be left out: the table spans lacks"
_CHECKS: dict[str, Callable[[pd.DataFrame | None, _Recorded], str]] = {
    "phases": _phases,
    "steps": _steps,
    "requests": _requests,
    "spans": _spans,
}


def _exports(name: str) -> frozenset[str]:
    """Return the schemas of all exports that a table may be made of."""
    schema = SCHEMAS[name]
    found = {source.schema for source in schema.sources}
    if schema.join is not None:
        needed = asked(schema.join)
        for table in (*needed.required, *needed.optional):
            found |= _exports(table)
    return frozenset(found)


def _bare(frame: pd.DataFrame | None) -> bool:
    return frame is None or frame.empty


def _frame(tables: _Recorded, name: str) -> pd.DataFrame | None:
    try:
        return tables[name]
    except (KeyError, TracekitError, Unavailable):
        return None


_NONE = Stage("", "")


def capture_table(provenance: Provenance) -> pd.DataFrame:
    """Return the table `capture`: one row on the recording itself.

    Columns: `recorder`, `method`, `end_reason`, `duration` (ns of the trace), `time_limit` and
    `uncertainty` of the marks' place on the trace's time (both ns); `record_state`,
    `record_message`, `export_state`, `export_message` of the stages; `overhead`, `spread` and
    `overhead_reason` of what recording cost. What is not known is null.
    """
    overhead = provenance.overhead or Overhead()
    record, export = (provenance.stages.get(name, _NONE) for name in ("record", "export"))
    words = {
        "recorder": provenance.recorder,
        "method": provenance.method,
        "end_reason": provenance.end_reason,
        "record_state": record.state,
        "record_message": record.message,
        "export_state": export.state,
        "export_message": export.message,
        "overhead_reason": overhead.reason,
    }
    uncertainty = provenance.clock.get("uncertainty")
    times = {
        "duration": _nanoseconds(provenance.duration),
        "time_limit": _nanoseconds(provenance.time_limit),
        "uncertainty": None if uncertainty is None else int(uncertainty),
    }
    ratios = {"overhead": overhead.ratio, "spread": overhead.spread}
    return pd.DataFrame(
        {name: pd.array([text or None], dtype="string") for name, text in words.items()}
        | {name: pd.array([time], dtype="Int64") for name, time in times.items()}
        | {name: pd.array([ratio], dtype="Float64") for name, ratio in ratios.items()}
    )


def remarks_table(tables: Tables, used: Iterable[str]) -> pd.DataFrame:
    """Return the table `remarks`: a row for each thing that is wrong with the used tables.

    Columns: `flaw` (see `Flaw`), `table`, `schema`, `columns` (the export's, with commas) and
    `text`. Tables that are used and were not read yet are read for it.
    """
    broken = [remark for name in sorted(used) for remark in _broken(tables, name)]
    found = [*tables.remarks, *broken]
    cells = [
        (remark.flaw.value, remark.table, remark.schema, ", ".join(remark.columns), remark.text)
        for remark in found
    ]
    names = ["flaw", "table", "schema", "columns", "text"]
    return pd.DataFrame(cells, columns=names, dtype="string")


def settings_table(tables: Tables) -> pd.DataFrame:
    """Return the table `settings`: the `instrument` and one `setting` of it in each row.

    They are in the words of the table of contents, such as "Counter Set: Performance Limiters".
    """
    return pd.DataFrame(tables.settings, columns=["instrument", "setting"], dtype="string")


def _broken(tables: Tables, name: str) -> list[Remark]:
    """Say why a table that is there cannot be read; that it is not there is another matter."""
    try:
        tables[name]
    except (DamagedExportError, BundleError) as error:
        said = any(error.message in remark.text for remark in tables.remarks)
        return [] if said else [Remark(Flaw.DAMAGED, name, "", (), error.message)]
    except DriftError as error:
        return [Remark(Flaw.UNREADABLE, name, "", (), error.message)]
    except (KeyError, InputError):
        return []
    return []


def _nanoseconds(seconds: float | None) -> int | None:
    return None if seconds is None else round(seconds * 1e9)


OF_PROVENANCE: Mapping[str, Callable[[Provenance], pd.DataFrame]] = {
    "targets": targets_table,
    "machine": machine_table,
    "capture": capture_table,
}
DERIVED: Mapping[str, Callable[..., pd.DataFrame]] = {
    "timeline": timeline_table,
    "iterations": iterations_table,
    "pauses": pauses_table,
    "loop": loop_table,
    "loaded": loaded_table,
    "gaps": gaps_table,
    "causes": causes_table,
    "meanwhile": meanwhile_table,
    "habits": habits_table,
    "happenings": happenings,
    "counter_samples": counter_samples,
    "counter_means": counter_means,
}
SETTINGS = "settings"
FRAMES = "profile_frames"
_OF_EXPORTS = (REMARKS, SETTINGS, FRAMES)
GIVEN = frozenset({*OF_PROVENANCE, *DERIVED, *_OF_EXPORTS})


class Given(Mapping[str, pd.DataFrame]):
    """The tables of a recording, and what the analysis adds.

    Who asks for a table twice gets the same frame twice, and so leaves it as it is.
    A table that cannot be made raises Unavailable, with the reason, as often as it is asked for.
    """

    def __init__(
        self,
        tables: Mapping[str, pd.DataFrame],
        provenance: Provenance,
        used: Collection[str] = (),
        *,
        part: bool = False,
    ) -> None:
        """Take the tables; `remarks` speaks of those that are `used` and of all others read.

        In a `part` of a recording no table is missed that another one speaks of.
        """
        self._tables = tables
        self._part = part
        self._used = used
        self._made = {name: make(provenance) for name, make in OF_PROVENANCE.items()}
        self._read: dict[str, pd.DataFrame] = {}
        self._reasons: dict[str, Unavailable] = {}
        self._unreadable: dict[str, TracekitError] = {}
        self._lost: dict[str, str] = {}

    def __getitem__(self, name: str) -> pd.DataFrame:
        if name in DERIVED and name not in self._made:
            self._make(name)
        if name in self._read_from_exports and name not in self._made:
            self._made[name] = self._of_exports(name)
        if name not in self._made and name not in self._read:
            self._read[name] = Recorded(self._readable(name))
        return self._made[name] if name in self._made else self._read[name]

    def _readable(self, name: str) -> pd.DataFrame:
        """Return a table of the recording; one that cannot be read is tried once."""
        if name in self._unreadable:
            raise self._unreadable[name]
        try:
            return self._tables[name]
        except TracekitError as error:
            self._unreadable[name] = error
            raise

    def lost(self, name: str) -> str:
        """Say why nothing may be made of a table of the recording; "" where nothing is wrong."""
        if name in GIVEN or self._part:
            return ""
        if name not in self._lost:
            self._lost[name] = damaged(name, self._tables) or gone(name, self._tables)
        return self._lost[name]

    def __iter__(self) -> Iterator[str]:
        yield from OF_PROVENANCE
        yield from DERIVED
        yield from self._read_from_exports
        yield from self._tables

    def __len__(self) -> int:
        made = len(OF_PROVENANCE) + len(DERIVED) + len(self._read_from_exports)
        return made + len(self._tables)

    @property
    def _read_from_exports(self) -> tuple[str, ...]:
        return _OF_EXPORTS if isinstance(self._tables, Tables) else ()

    def _of_exports(self, name: str) -> pd.DataFrame:
        assert isinstance(self._tables, Tables)
        if name == SETTINGS:
            return settings_table(self._tables)
        if name == FRAMES:
            sampled = next((table for table in PROFILES if table in self._tables), None)
            if sampled is None:
                raise KeyError(name)
            return frames_table(self._tables.symbols(PROFILES[sampled]))
        return remarks_table(self._tables, self._used)

    def _make(self, name: str) -> None:
        if name in self._reasons:
            raise self._reasons[name]
        try:
            self._made[name] = inject(DERIVED[name], self)
        except Unavailable as reason:
            self._reasons[name] = reason
            raise


@lru_cache(maxsize=512)
def recorded_tables(function: Callable[..., object]) -> frozenset[str]:
    """Return the names of the recording's tables that the function makes use of, derived or not."""
    found: set[str] = set()
    for name in asked_tables(function):
        found |= recorded_tables(DERIVED[name]) if name in DERIVED else {name}
    return frozenset(found - OF_PROVENANCE.keys() - {*_OF_EXPORTS})
