"""Whose rows count: only the target's, and only where it is known who that is."""

from weakref import finalize

import pandas as pd

from tracekit.analysis.inject import Unavailable
from tracekit.base.recording import Provenance

_SHARED: dict[int, list[pd.DataFrame]] = {}

UNKNOWN = (
    "which process is the target is not known: no table of contents names it; "
    "`tracekit import --target PID|NAME` says it."
)


ON_THE_CPU = (
    "the work ran on the CPU; only a recording of xctrace, on a Mac, shows what a GPU does."
)


def targets_table(provenance: Provenance) -> pd.DataFrame:
    """Return the table `targets`: one row for each process that is the target (pid, name)."""
    return pd.DataFrame(
        {
            "pid": pd.array([one.pid for one in provenance.targets], dtype="Int64"),
            "name": pd.array([one.name for one in provenance.targets], dtype="string"),
        }
    )


def of_target(frame: pd.DataFrame, targets: pd.DataFrame) -> pd.DataFrame:
    """Return the target's rows; raise Unavailable, with the reason, where there are none."""
    if frame.empty:
        raise Unavailable("the table has no rows, of any process.")
    if targets.empty:
        raise Unavailable(UNKNOWN)
    own = own_rows(frame)
    if own.empty:
        raise Unavailable(f"none of the {len(frame):,} rows belongs to {named(targets)}.")
    return own


def own_rows(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that belong to the target; of a shared frame they are picked once."""
    kept = _SHARED.get(id(frame))
    if kept is None:
        return frame[frame["target"].astype(bool)]
    if not kept:
        kept.append(frame[frame["target"].astype(bool)])
    return kept[0].copy(deep=False)


def share(frame: pd.DataFrame) -> pd.DataFrame:
    """Note that nobody will change the frame, so that its target's rows are picked but once."""
    if "target" in frame and id(frame) not in _SHARED:
        _SHARED[id(frame)] = []
        finalize(frame, _SHARED.pop, id(frame), None)
    return frame


def named(targets: pd.DataFrame) -> str:
    """Return the target in words, such as "python3 (4711)"."""
    rows = targets.itertuples(index=False)
    return ", ".join(f"{row.name} ({row.pid})" if row.name else f"pid {row.pid}" for row in rows)


def on_gpu(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the frame if its clock is a GPU's; raise Unavailable if a CPU did the work."""
    if (frame["clock"] == "host").any():
        raise Unavailable(ON_THE_CPU)
    return frame


def on_host(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the frame if its clock is the host's; raise Unavailable for a GPU's."""
    if (frame["clock"] != "host").any():
        raise Unavailable("the recording has GPU times; this number is for work on a CPU.")
    return frame
