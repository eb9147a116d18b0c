"""What a monitor of the machine read beside the run."""

import pandas as pd

from tracekit.analysis.inject import Unavailable
from tracekit.workload.workload import REFERENCE

_HELP = {
    "gpu_clock": "macmon and powermetrics tell the GPU's clock",
    "gpu_power": "macmon and powermetrics tell the GPU's power",
    "thermal_pressure": "powermetrics tells the thermal pressure",
}


def readings(gauges: pd.DataFrame) -> pd.DataFrame:
    """Return what monitors told: neither the workload's own gauges nor anybody's reference work."""
    told_by_run = gauges["source"].eq("workload") | gauges["name"].eq(REFERENCE)
    return gauges[~told_by_run.fillna(value=False).astype(bool)]


def monitored(gauges: pd.DataFrame | None, name: str) -> pd.DataFrame:
    """Return what a monitor told of one name; the workload's own gauges are no monitor's.

    Raises:
        Unavailable: No monitor told it.
    """
    who = "no monitor was read"
    if gauges is not None:
        read = readings(gauges)
        own = read[read["name"] == name]
        if not own.empty:
            return own
        sources = ", ".join(sorted({str(one) for one in read["source"].dropna()}))
        who = f"{sources}, which was read, does not tell {name}" if sources else who
    raise Unavailable(f"{who}; {_HELP[name]}: see `tracekit capture --telemetry`.")
