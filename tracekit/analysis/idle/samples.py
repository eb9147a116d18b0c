"""The functions of the target's threads, by samples of the CPU, while the device was idle.

Metal System Trace samples threads that run, about once a millisecond: a thread without samples
slept or waited.
"""

import numpy as np
import pandas as pd

from tracekit.analysis.idle.cause import Cause, Party
from tracekit.analysis.intervals import IntervalSet, spans
from tracekit.base import units

FEWEST = 20
"""Fewer samples than this show nothing."""
_OTHERS = r"\s*←\s*\(\d+ other frames?\)\s*$"  # as tables shorten stacks
_UNNAMED = r"^0x[0-9a-fA-F]+$"
_MOST = 0.5  # share of the time from which a thread is at work
_NAMED = 2


def meanwhile_table(
    gaps: pd.DataFrame, cpu_profile: pd.DataFrame, threads: pd.DataFrame | None
) -> pd.DataFrame:
    """Return the table `meanwhile`: the target's functions while the device had nothing to do.

    Columns: `thread` (its name), `function` (the innermost one, "" if it has no name) and the
    number of `samples`; the most first. Only the host's time counts, in which nothing was committed
    and everything was reported.
    """
    is_of_host = gaps["party"] == str(Party.HOST)
    of_host = gaps[is_of_host]
    host_times = IntervalSet.from_spans(*spans(of_host))
    host_samples = _select_samples(cpu_profile, host_times)
    thread = _name_threads(host_samples, threads).astype(str)
    function = _name_functions(host_samples).astype(str)
    labels = pd.DataFrame(
        {
            "thread": thread,
            "function": function,
        }
    )
    counts = labels.groupby(["thread", "function"], sort=True).size()
    table = counts.rename("samples").reset_index()
    return table.sort_values("samples", ascending=False, kind="stable", ignore_index=True)


def _name_functions(samples: pd.DataFrame) -> pd.Series:
    leaves = samples["leaf"].astype("string")
    cleaned = leaves.str.replace(_OTHERS, "", regex=True)
    functions = cleaned.fillna("")
    return functions.mask(functions.str.match(_UNNAMED), "")


def _name_threads(samples: pd.DataFrame, threads: pd.DataFrame | None) -> pd.Series:
    if threads is None or "tid" not in samples:
        return pd.Series("a thread", samples.index)
    distinct_threads = threads[threads["target"]].drop_duplicates("tid")
    target_threads = distinct_threads.set_index("tid")
    is_main = target_threads["main"].fillna(value=False).astype(bool)
    names = target_threads["name"].fillna("a thread").astype(str)
    names = names.mask(is_main, "the main thread")
    return samples["tid"].map(names).fillna("a thread")


def _select_samples(samples: pd.DataFrame, window: IntervalSet) -> pd.DataFrame:
    target_samples = samples[samples["target"]]
    times = target_samples["time"].to_numpy(dtype=np.int64)
    return target_samples[window.contains(times)]


def host_words(meanwhile_rows: pd.DataFrame | None) -> str:
    """Return a sentence, headed by a space, about the busiest thread; "" with too few samples."""
    if meanwhile_rows is None or meanwhile_rows.empty or meanwhile_rows["samples"].sum() < FEWEST:
        return ""
    by_thread = meanwhile_rows.groupby("thread", sort=True)["samples"].sum()
    busiest = str(by_thread.idxmax())
    rows = meanwhile_rows[meanwhile_rows["thread"] == busiest]
    sample_count = int(rows["samples"].sum())
    has_name = rows["function"] != ""
    named_rows = rows[has_name][:_NAMED]
    if named_rows.empty:
        return ""
    shares: list[str] = []
    counted_functions = zip(named_rows["function"], named_rows["samples"], strict=True)
    for function, count in counted_functions:
        share = units.percent(count / sample_count)
        shares.append(f"{share} in {function}")
    share_words = " and ".join(shares)
    return f" Meanwhile, of {sample_count:,} samples of {busiest}, {share_words}."


def other_thread(
    gaps: pd.DataFrame, cpu_profile: pd.DataFrame | None, submissions: pd.DataFrame | None
) -> bool:
    """Return whether a thread that commits nothing worked while committed work started late."""
    if cpu_profile is None or submissions is None or "tid" not in submissions:
        return False
    is_late = gaps["cause"] == str(Cause.LATE_START)
    late_rows = gaps[is_late]
    late = IntervalSet.from_spans(*spans(late_rows))
    late_times = late.ends - late.starts
    late_time = int(late_times.sum())
    target_samples = _select_samples(cpu_profile, late)
    thread_ids = submissions.loc[submissions["target"], "tid"]
    committing = thread_ids.dropna().unique()
    is_committing = target_samples["tid"].isin(committing)
    other_samples = target_samples[~is_committing]
    if len(other_samples) < FEWEST:
        return False
    other_weight = int(other_samples["weight"].sum())
    return other_weight > _MOST * late_time
