"""How a run was captured, and what its exports lack, as tables that rules may ask for."""

from collections.abc import Iterable

import pandas as pd

from tracekit.base.errors import InputError
from tracekit.base.recording import Overhead, Provenance, Stage
from tracekit.tables.bundle.errors import BundleError
from tracekit.tables.drift import DamagedExportError, DriftError, Flaw, Remark
from tracekit.tables.tables import Tables

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
        (one.flaw.value, one.table, one.schema, ", ".join(one.columns), one.text) for one in found
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
        said = any(error.message in one.text for one in tables.remarks)
        return [] if said else [Remark(Flaw.DAMAGED, name, "", (), error.message)]
    except DriftError as error:
        return [Remark(Flaw.UNREADABLE, name, "", (), error.message)]
    except (KeyError, InputError):
        return []
    return []


def _nanoseconds(seconds: float | None) -> int | None:
    return None if seconds is None else round(seconds * 1e9)
