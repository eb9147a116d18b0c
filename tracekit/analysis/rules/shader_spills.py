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
    is_target = shader_spills["target"].fillna(value=False)
    spills = shader_spills[is_target]
    is_after_begin = spills["time"] >= loop.start
    is_before_end = spills["time"] <= loop.end
    is_in_loop = is_after_begin & is_before_end
    loop_spills = spills[is_in_loop]
    spilled = int(loop_spills["spilled"].sum())
    if spilled <= limit:
        return
    worst = loop_spills.dropna(subset=["spilled"])
    worst = worst.sort_values("spilled", ascending=False, kind="stable")
    encoder_count = loop_spills["encoder"].nunique() or len(loop_spills)
    spilled_median = loop_spills["spilled"].median()
    median = float(spilled_median)
    labels = _list_labels(loop_spills, encoders)
    facts = (
        Fact("encoders", encoder_count),
        Fact("window", loop.name),
        Fact("spilled", spilled, "bytes"),
        Fact("median", median, "bytes"),
        Fact("labels", labels),
    )
    spilled_sizes = worst["spilled"].astype(int)
    size_texts = map(units.size, spilled_sizes)
    evidence = moments("shader_spills", worst["time"], size_texts)
    yield finding(
        wording="shader-spills",
        facts=facts,
        lever="spills",
        evidence=evidence,
    )


def _list_labels(spills: pd.DataFrame, encoders: pd.DataFrame | None) -> str:
    """Return the encoders that spilled most, by label, with their shares."""
    if encoders is None:
        return ""
    labelled_encoders = encoders.dropna(subset=["encoder", "label"])
    labels = labelled_encoders.drop_duplicates("encoder")
    by_id = labels.set_index("encoder")["label"].astype("string")
    spill_labels = spills["encoder"].map(by_id)
    all_labelled_spills = spills.assign(label=spill_labels)
    labelled_spills = all_labelled_spills.dropna(subset=["label"])
    sizes_by_label = labelled_spills.groupby("label")["spilled"]
    label_sums = sizes_by_label.sum()
    sums = label_sums.sort_values(ascending=False, kind="stable")
    if sums.empty:
        return ""
    total = int(spills["spilled"].sum())
    named_sums = sums.head(_NAMED).items()
    words = [
        f"{label} {units.percent(int(label_bytes) / total)}" for label, label_bytes in named_sums
    ]
    more = len(sums) - len(words)
    return ", ".join(words) + (f" and {more:,} more" if more else "")
