"""Whose rows count, what they are called, and which part of the run counts."""

from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tracekit.analysis.inject import ON_THE_CPU, Unavailable
from tracekit.analysis.intervals import (
    IntervalSet,
    Times,
    Window,
    busy,
    clip,
    marked_window,
    spans,
    steady_window,
)
from tracekit.base import Provenance, percent
from tracekit.workload import IDLE, REFERENCE

UNKNOWN = (
    "which process is the target is not known: no table of contents names it; "
    "`tracekit import --target PID|NAME` says it."
)


def targets_table(provenance: Provenance) -> pd.DataFrame:
    """Return the table `targets`: one row for each process that is the target (pid, name)."""
    return pd.DataFrame(
        {
            "pid": pd.array([target.pid for target in provenance.targets], dtype="Int64"),
            "name": pd.array([target.name for target in provenance.targets], dtype="string"),
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


UNLABELLED = "unlabelled"

# A trace labels work "Command Buffer 0:Compute Command 0   ( python3 (4711) )  0xf169adeb":
# who asked and which instance it was stand in columns of their own.
BLANK = r"[\s\v\x1c-\x1f\x{85}\p{Z}]"
INSTANCE = rf"{BLANK}+0x[0-9a-fA-F]+{BLANK}*$"
ASKER = rf"{BLANK}*\( .* \){BLANK}*$"
_SAMPLE = 4096


def families(labels: pd.Series) -> tuple[pd.Series, tuple[str, ...]]:
    """Return a code for each label and the distinct families that the codes stand for.

    A family is a label without the process and the instance that it names at its end.
    """
    texts = labels.fillna("")
    if not isinstance(texts.dtype, pd.StringDtype):
        texts = texts.astype("string")
    if texts[:_SAMPLE].nunique() > _SAMPLE // 2:
        codes, names = _named(texts)
    else:
        own, distinct = pd.factorize(texts)
        found, names = _named(pd.Series(distinct, dtype="string"))
        codes = found[own]
    return pd.Series(codes, index=labels.index, dtype="int64"), names


def _named(texts: pd.Series) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    shorter = pa.chunked_array(pa.array(texts, pa.string(), from_pandas=True))
    for end in (INSTANCE, ASKER):
        without = pc.ReplaceSubstringOptions(pattern=end, replacement="")
        shorter = pc.call_function("replace_substring_regex", [shorter], without)
    once = shorter.combine_chunks().dictionary_encode()
    names = [text.strip() or UNLABELLED for text in once.dictionary.to_pylist()]
    codes, distinct = pd.factorize(np.array(names, dtype=object))
    return codes[once.indices.to_numpy()], tuple(distinct)


class Recorded(pd.DataFrame):
    """A table of the recording that nobody changes: its target's rows are picked and named once."""

    @cached_property
    def own(self) -> pd.DataFrame:
        """The rows that belong to the target."""
        return self[self["target"].astype(bool)]

    @cached_property
    def on_the_host(self) -> bool:
        """Whether a CPU did the work."""
        return bool((self["clock"] == "host").any())

    @cached_property
    def named_work(self) -> dict[tuple[int, int], Any]:
        """The target's work with its names, by the window for which it was asked."""
        return {}

    @cached_property
    def own_families(self) -> tuple[pd.Series, tuple[str, ...]]:
        """The families of these rows' labels."""
        return families(self.own["label"])


def own_rows(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that belong to the target."""
    if isinstance(frame, Recorded):
        return frame.own.copy(deep=False)
    return frame[frame["target"].astype(bool)]


def named(targets: pd.DataFrame) -> str:
    """Return the target in words, such as "python3 (4711)"."""
    rows = targets.itertuples(index=False)
    return ", ".join(f"{row.name} ({row.pid})" if row.name else f"pid {row.pid}" for row in rows)


def on_gpu(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the frame if its clock is a GPU's; raise Unavailable if a CPU did the work."""
    host = frame.on_the_host if isinstance(frame, Recorded) else (frame["clock"] == "host").any()
    if host:
        raise Unavailable(ON_THE_CPU)
    return frame


def on_host(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the frame if its clock is the host's; raise Unavailable for a GPU's."""
    if (frame["clock"] != "host").any():
        raise Unavailable("the recording has GPU times; this number is for work on a CPU.")
    return frame


def reference_work(annotations: pd.DataFrame | None) -> tuple[Times, Times]:
    """Return when reference work began and ended, by the table `spans`."""
    if annotations is None:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    return spans(annotations[annotations["name"] == REFERENCE])


def reference_time(annotations: pd.DataFrame | None, window: Window) -> int:
    """Return the nanoseconds of a window in which reference work was done."""
    return busy(*clip(*reference_work(annotations), window.start, window.end))


_UNSEEN = 0.05
_PREFILL = "prefill"


def steady_steps(steps: pd.DataFrame) -> pd.DataFrame:
    """Return the steps of the steady phase; raise Unavailable where there are none.

    A step that only waited for load is none.
    """
    steady = steps[steps["phase"] == "steady"]
    if "variant" in steady:
        steady = steady[steady["variant"].fillna("") != IDLE]
    if steady.empty:
        raise Unavailable("the workload made no step in its steady phase.")
    return steady


def variants(steps: pd.DataFrame) -> list[str]:
    """Return which of several compared things the steps are, sorted; none where all are alike."""
    if "variant" not in steps:
        return []
    return sorted(str(name) for name in steps["variant"].dropna().unique() if name)


def steady_tokens(steps: pd.DataFrame) -> int:
    """Return the tokens of the steady steps; raise Unavailable where there are none.

    Steps of several variants, which are compared, count together: their time does too.
    """
    tokens = int(steady_steps(steps)["tokens"].fillna(0).sum())
    if tokens == 0:
        raise Unavailable("the workload produces no tokens.")
    return tokens


def require_seen(steady: pd.DataFrame, own: pd.DataFrame) -> None:
    """Raise Unavailable where device work of the target is missing in steady steps.

    What the device did for the steps that were recorded must not be set against all of them.
    """
    unseen = IntervalSet.of(*spans(own)).within(*spans(steady)) == 0
    if unseen.mean() > _UNSEEN:
        raise Unavailable(
            f"{percent(float(unseen.mean()))} of the steady steps have no interval of the target: "
            f"the capture does not show all of their work."
        )


def of_a_server(
    steps: pd.DataFrame, requests: pd.DataFrame | None, annotations: pd.DataFrame | None
) -> bool:
    """Tell whether a server made the steps: it has requests, prefills prompts, waits for load.

    Args:
        steps: The table of that name.
        requests: The same.
        annotations: The table `spans`.
    """
    if requests is not None and not requests.empty:
        return True
    if annotations is not None and (annotations["name"] == _PREFILL).any():
        return True
    return "variant" in steps and bool((steps["variant"] == IDLE).any())


def window_of(loop: pd.DataFrame) -> Window:
    """Return the window of the table `loop`, which has one row."""
    window = marked_window(loop)
    assert window is not None
    return window


def window_of_target(
    gpu_intervals: pd.DataFrame, targets: pd.DataFrame, phases: pd.DataFrame | None
) -> Window:
    """Return the steady window: by the workload's marks, else the span of the target's rows.

    Raises:
        Unavailable: The target is not known or has no rows, or the window has no length.
    """
    window = steady_window(phases, of_target(gpu_intervals, targets))
    assert window is not None
    if window.length == 0:
        raise Unavailable(f"{window.name} has no length.")
    return window
