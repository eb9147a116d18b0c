"""`shader-spills`: shaders keep values in memory that did not fit into registers."""

import pandas as pd

from tracekit.analysis.inject import Unavailable
from tracekit.analysis.iterations import Loop
from tracekit.analysis.rule import Fact, Findings, finding, moments
from tracekit.analysis.scope import Device
from tracekit.base import units

_NOT_RECORDED = (
    "the recording has no table of spills (graphics-compiler-spill-events), which is new with "
    "the Instruments of Xcode 27; 26 does not record it."
)
_NAMED = 3


def shader_spills(
    shader_spills: pd.DataFrame | None,
    gpu: Device,
    loop: Loop,
    encoders: pd.DataFrame | None,
    *,
    limit: int = 0,
) -> Findings:
    """Shaders of the target spill registers to memory.

    What it looks for:
        Encoders of the target in the steady window whose shaders spilled according to the trace. It
        fires when they spilled more than `limit` bytes in all (0). Encoders are named by their
        labels, if these were recorded.

    Why it matters:
        A value that has no register is written to memory and read back, in each thread, inside the
        loop. This costs bandwidth that the kernel's model does not count, and cache space that the
        keys and values need.

    When it abstains:
        When the recording has no table of spills (Instruments 26 records none), when the target is
        not known or has no rows, and when a CPU did the work.
    """
    if shader_spills is None:
        raise Unavailable(_NOT_RECORDED)
    spills = shader_spills[shader_spills["target"].fillna(value=False)]
    loop_spills = spills[(spills["time"] >= loop.start) & (spills["time"] <= loop.end)]
    spilled = int(loop_spills["spilled"].sum())
    if spilled <= limit:
        return
    worst = loop_spills.dropna(subset=["spilled"])
    worst = worst.sort_values("spilled", ascending=False, kind="stable")
    yield finding(
        wording="shader-spills",
        facts=(
            Fact("encoders", loop_spills["encoder"].nunique() or len(loop_spills)),
            Fact("window", loop.name),
            Fact("spilled", spilled, "bytes"),
            Fact("median", float(loop_spills["spilled"].median()), "bytes"),
            Fact("labels", _list_labels(loop_spills, encoders)),
        ),
        lever="spills",
        evidence=moments(
            "shader_spills", worst["time"], map(units.size, worst["spilled"].astype(int))
        ),
    )


def _list_labels(spills: pd.DataFrame, encoders: pd.DataFrame | None) -> str:
    """Return the encoders that spilled most, by label, with their shares."""
    if encoders is None:
        return ""
    labels = encoders.dropna(subset=["encoder", "label"]).drop_duplicates("encoder")
    by_id = labels.set_index("encoder")["label"]
    labelled_spills = spills.assign(label=spills["encoder"].map(by_id)).dropna(subset=["label"])
    sums = (
        labelled_spills.groupby("label")["spilled"]
        .sum()
        .sort_values(ascending=False, kind="stable")
    )
    if sums.empty:
        return ""
    total = int(spills["spilled"].sum())
    words = [
        f"{label} {units.percent(int(label_bytes) / total)}"
        for label, label_bytes in sums.head(_NAMED).items()
    ]
    more = len(sums) - len(words)
    return ", ".join(words) + (f" and {more:,} more" if more else "")
