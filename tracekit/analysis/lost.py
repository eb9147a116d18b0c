"""Which tables of a recording are not there, or only in part, although they should be.

A table that an instrument did not record is one thing: what can be known without it is. A table
of which rows are missing is another: whatever is made of it looks like a number and is none. So
nothing is made of an export that is damaged, nor of a table whose rows are gone while other
tables of the recording speak of them.
"""

from collections.abc import Callable, Mapping

import pandas as pd

from tracekit.analysis.inject import Unavailable
from tracekit.base.errors import TracekitError
from tracekit.tables.derived.asked import asked
from tracekit.tables.drift import Flaw
from tracekit.tables.schemas import SCHEMAS
from tracekit.tables.tables import Tables
from tracekit.workload.workload import IDLE, OWN_REFERENCE, REFERENCE

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
        one.text.rstrip(".")
        for one in tables.remarks
        if one.flaw is Flaw.DAMAGED and (one.schema in schemas or one.table == name)
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
    told = "the table steps has no rows, although the workload came to its steady phase."
    return told if marked.any() else ""


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
        for one in (*needed.required, *needed.optional):
            found |= _exports(one)
    return frozenset(found)


def _bare(frame: pd.DataFrame | None) -> bool:
    return frame is None or frame.empty


def _frame(tables: _Recorded, name: str) -> pd.DataFrame | None:
    try:
        return tables[name]
    except (KeyError, TracekitError, Unavailable):
        return None
