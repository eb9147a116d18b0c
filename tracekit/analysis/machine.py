"""The machine of a recording, as a table of one row that metrics may ask for."""

import pandas as pd

from tracekit.analysis.inject import Unavailable
from tracekit.base.recording import Provenance
from tracekit.machine.chips import Chip, chip


def machine_table(provenance: Provenance) -> pd.DataFrame:
    """Return the table `machine`: one row with the chip, its GPU cores and bytes of memory."""
    facts = provenance.machine
    return pd.DataFrame(
        {
            "system": pd.array([facts.get("system")], dtype="string"),
            "chip": pd.array([facts.get("chip")], dtype="string"),
            "gpu_cores": pd.array([facts.get("gpu_cores")], dtype="Int64"),
            "memory": pd.array([facts.get("memory")], dtype="Int64"),
        }
    )


def chip_of(machine: pd.DataFrame) -> Chip:
    """Return the chip of the machine; raise Unavailable where the recording does not name it."""
    row = machine.iloc[0]
    if pd.isna(row["chip"]):
        raise Unavailable("the recording does not say which chip it was made on.")
    cores = None if pd.isna(row["gpu_cores"]) else int(row["gpu_cores"])
    return chip(str(row["chip"]), cores)
