"""What the target's threads did, by samples of the CPU, while the device had nothing to do.

Metal System Trace samples threads that run, about once a millisecond: a thread without samples
slept or waited.
"""

import numpy as np
import pandas as pd

from tracekit.analysis.idle.pieces import Cause, Party
from tracekit.analysis.intervals import IntervalSet, spans
from tracekit.base import percent

FEWEST = 20
"""Fewer samples than this tell nothing."""
_OTHERS = r"\s*←\s*\(\d+ other frames?\)\s*$"  # as tables shorten stacks
_UNNAMED = r"^0x[0-9a-fA-F]+$"
_MOST = 0.5  # of the time, in which a thread is seen at work
_NAMED = 2


def meanwhile_table(
    gaps: pd.DataFrame, cpu_profile: pd.DataFrame, threads: pd.DataFrame | None
) -> pd.DataFrame:
    """Return the table `meanwhile`: what the target ran while nothing was handed to the device.

    Columns: `thread` (its name), `function` (the innermost one, "" where it has no name) and the
    number of `samples`; the most first. Only the host's time counts, in which nothing was committed
    and everything was reported.
    """
    of_host = gaps[gaps["party"] == str(Party.HOST)]
    own = _within(cpu_profile, IntervalSet.of(*spans(of_host)))
    functions = own["leaf"].astype("string").str.replace(_OTHERS, "", regex=True).fillna("")
    functions = functions.mask(functions.str.match(_UNNAMED), "")
    names = pd.Series("a thread", own.index)
    if threads is not None and "tid" in own:
        known = threads[threads["target"]].drop_duplicates("tid").set_index("tid")
        words = known["name"].fillna("a thread").astype(str)
        words = words.mask(known["main"].fillna(value=False).astype(bool), "the main thread")
        names = own["tid"].map(words).fillna("a thread")
    made = pd.DataFrame({"thread": names.astype(str), "function": functions.astype(str)})
    counts = made.groupby(["thread", "function"], sort=True).size()
    table = counts.rename("samples").reset_index()
    return table.sort_values("samples", ascending=False, kind="stable", ignore_index=True)


def _within(samples: pd.DataFrame, when: IntervalSet) -> pd.DataFrame:
    own = samples[samples["target"]]
    return own[when.contains(own["time"].to_numpy(dtype=np.int64))]


def host_words(meanwhile: pd.DataFrame | None) -> str:
    """Say, with a blank before it, what the busiest thread ran; nothing by too few samples."""
    if meanwhile is None or meanwhile.empty or meanwhile["samples"].sum() < FEWEST:
        return ""
    by_thread = meanwhile.groupby("thread", sort=True)["samples"].sum()
    busiest = str(by_thread.idxmax())
    rows = meanwhile[meanwhile["thread"] == busiest]
    whole = int(rows["samples"].sum())
    named = rows[rows["function"] != ""][:_NAMED]
    if named.empty:
        return ""
    shares = [
        f"{percent(count / whole)} in {function}"
        for function, count in zip(named["function"], named["samples"], strict=True)
    ]
    return f" Meanwhile, of {whole:,} samples of {busiest}, {' and '.join(shares)}."


def other_thread(
    gaps: pd.DataFrame, cpu_profile: pd.DataFrame | None, submissions: pd.DataFrame | None
) -> bool:
    """Tell whether a thread that commits nothing was at work while committed work started late."""
    if cpu_profile is None or submissions is None or "tid" not in submissions:
        return False
    late = IntervalSet.of(*spans(gaps[gaps["cause"] == str(Cause.LATE_START)]))
    own = _within(cpu_profile, late)
    committing = submissions.loc[submissions["target"], "tid"].dropna().unique()
    others = own[~own["tid"].isin(committing)]
    whole = int((late.ends - late.starts).sum())
    return len(others) >= FEWEST and int(others["weight"].sum()) > _MOST * whole
