"""Other users of the cores during a recording's steady window, from the host recorder."""

from collections.abc import Mapping

import pandas as pd

from tracekit.analysis.inject import Unavailable
from tracekit.analysis.intervals import steady_window
from tracekit.base import Provenance, TracekitError
from tracekit.machine import Crowd


def crowd_of(tables: Mapping[str, pd.DataFrame], provenance: Provenance) -> Crowd | None:
    """Return the other users of the cores, by the median sample; None without a sample."""
    cores = provenance.machine.get("cores")
    try:
        samples = tables["process_samples"]
        phases = tables.get("phases")
    except (KeyError, Unavailable, TracekitError):
        return None
    instants = samples.assign(start=samples["time"], duration=0)
    window = steady_window(phases, instants)
    if window is None or not isinstance(cores, int) or "machine" not in samples:
        return None
    is_within = samples["time"].between(window.start, window.end)
    window_samples = samples[is_within]
    used_cores = window_samples["machine"].median()
    own_cores = window_samples["cpu"].median()
    if pd.isna(used_cores) or pd.isna(own_cores):
        return None  # no sample in the window, or none from the system
    other_cores = max(0.0, float(used_cores - own_cores))
    return Crowd(other_cores, float(used_cores), cores)


def explain_crowd(crowd: Crowd | None) -> str:
    """State that others used cores while times were measured; empty if they did not."""
    if crowd is None or not crowd.spoils:
        return ""
    words = f"{crowd.words[0].upper()}{crowd.words[1:]}"
    return f"{words} in the steady window, so its times are not those of an idle machine."
