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
    host_samples = _select_samples(cpu_profile, IntervalSet.from_spans(*spans(of_host)))
    functions = (
        host_samples["leaf"].astype("string").str.replace(_OTHERS, "", regex=True).fillna("")
    )
    functions = functions.mask(functions.str.match(_UNNAMED), "")
    names = pd.Series("a thread", host_samples.index)
    if threads is not None and "tid" in host_samples:
        target_threads = threads[threads["target"]].drop_duplicates("tid").set_index("tid")
        words = target_threads["name"].fillna("a thread").astype(str)
        words = words.mask(
            target_threads["main"].fillna(value=False).astype(bool), "the main thread"
        )
        names = host_samples["tid"].map(words).fillna("a thread")
    labels = pd.DataFrame({"thread": names.astype(str), "function": functions.astype(str)})
    counts = labels.groupby(["thread", "function"], sort=True).size()
    table = counts.rename("samples").reset_index()
    return table.sort_values("samples", ascending=False, kind="stable", ignore_index=True)


def _select_samples(samples: pd.DataFrame, when: IntervalSet) -> pd.DataFrame:
    target_samples = samples[samples["target"]]
    return target_samples[when.contains(target_samples["time"].to_numpy(dtype=np.int64))]


def host_words(meanwhile_rows: pd.DataFrame | None) -> str:
    """Say, with a blank before it, what the busiest thread ran; nothing by too few samples."""
    if meanwhile_rows is None or meanwhile_rows.empty or meanwhile_rows["samples"].sum() < FEWEST:
        return ""
    by_thread = meanwhile_rows.groupby("thread", sort=True)["samples"].sum()
    busiest = str(by_thread.idxmax())
    rows = meanwhile_rows[meanwhile_rows["thread"] == busiest]
    sample_count = int(rows["samples"].sum())
    named_rows = rows[rows["function"] != ""][:_NAMED]
    if named_rows.empty:
        return ""
    shares = [
        f"{percent(count / sample_count)} in {function}"
        for function, count in zip(named_rows["function"], named_rows["samples"], strict=True)
    ]
    return f" Meanwhile, of {sample_count:,} samples of {busiest}, {' and '.join(shares)}."


def other_thread(
    gaps: pd.DataFrame, cpu_profile: pd.DataFrame | None, submissions: pd.DataFrame | None
) -> bool:
    """Tell whether a thread that commits nothing was at work while committed work started late."""
    if cpu_profile is None or submissions is None or "tid" not in submissions:
        return False
    late = IntervalSet.from_spans(*spans(gaps[gaps["cause"] == str(Cause.LATE_START)]))
    target_samples = _select_samples(cpu_profile, late)
    committing = submissions.loc[submissions["target"], "tid"].dropna().unique()
    other_samples = target_samples[~target_samples["tid"].isin(committing)]
    late_time = int((late.ends - late.starts).sum())
    return len(other_samples) >= FEWEST and int(other_samples["weight"].sum()) > _MOST * late_time
