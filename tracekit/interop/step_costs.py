"""The cost of each step as CSV: its tokens, lengths, shape and time on the GPU, by phase."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, BinaryIO

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tracekit import analysis
from tracekit.base import InputError, Provenance, TracekitError
from tracekit.tables import Tables

COLUMNS = (
    *("tokens", "seq_len", "heads", "head_dim", "BLOCK_SIZE", "TG_SIZE", "gpu_ms"),
    *("phase", "step", "start_ms", "step_ms", "sequences"),
    *("admit_ms", "prefill_ms", "decode_ms", "retire_ms", "reason"),
)
_ACTIVITIES = ("admit", "prefill", "decode", "retire")
_NS = 1e6  # of a millisecond


def write_step_costs(tables: Tables, provenance: Provenance, file: BinaryIO) -> None:
    """Write a row for each step of the steady phase, in the order of their starts.

    `seq_len` is the mean length of the sequences that got a token in the step, the new one
    included, of those with a known prompt; `sequences` is the number of all. A workload that serves
    nobody has both of its parameters, and no length if lengths are drawn. `phase` is ramp,
    steady or tail of a server, else that of the workload. `gpu_ms` is empty, with the `reason`, if
    no time of the GPU is known.

    Raises:
        InputError: The run has no steps.
    """
    given_tables = analysis.Given(tables, provenance)
    try:
        steps = analysis.scope.steady_steps(given_tables["steps"])
    except (KeyError, TracekitError, analysis.Unavailable) as error:
        raise InputError(
            "The run has no steps.", hint="Only a workload of tracekit reports its steps."
        ) from error
    ordered_steps = steps.sort_values("start", kind="stable")
    starts, ends = analysis.intervals.spans(ordered_steps)
    columns = {
        "tokens": ordered_steps["tokens"],
        **_list_shape(provenance.parameters),
        "phase": _name_phases(ordered_steps, given_tables),
        "step": ordered_steps["index"],
        "start_ms": starts / _NS,
        "step_ms": (ends - starts) / _NS,
        **_measure_sequences(starts, ends, given_tables),
        **_measure_activities(starts, ends, given_tables),
        **_measure_gpu(ordered_steps, given_tables),
    }
    frame = pd.DataFrame({name: columns.get(name) for name in COLUMNS}, index=ordered_steps.index)
    file.write(frame.to_csv(index=False, float_format=_format_number).encode())


def _format_number(value: object) -> str:
    """Return a float with six digits after the point, of which milliseconds need all."""
    return f"{value:.6f}".rstrip("0").rstrip(".")


def _list_shape(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the sizes that a workload's parameters give all of its steps."""
    length = None
    if "active_blocks" in parameters and not parameters.get("ragged"):
        length = parameters["active_blocks"] * parameters["block_size"]
    return {
        "sequences": parameters.get("batch"),
        "seq_len": length,
        "heads": parameters.get("q_heads"),
        "head_dim": parameters.get("head_dim"),
        "BLOCK_SIZE": parameters.get("block_size"),
        "TG_SIZE": parameters.get("tg_size"),
    }


def _name_phases(steps: pd.DataFrame, tables: Mapping[str, Any]) -> "pd.Series[str]":
    """Return the part of a server's run in which each step begins, else its phase."""
    phases = steps["phase"].astype("string")
    with suppress(KeyError, TracekitError, analysis.Unavailable):
        for name, part in analysis.serving.parts(tables["steps"], tables["gauges"]).items():
            begins_inside = steps["start"].between(part.window.start, part.window.end, "left")
            phases = phases.mask(begins_inside, name)
    return phases


def _measure_sequences(
    starts: analysis.intervals.Times, ends: analysis.intervals.Times, tables: Mapping[str, Any]
) -> dict[str, Any]:
    """Return how many sequences got a token in each step, and their mean length."""
    try:
        requests = tables["requests"]
        tokens = tables["request_tokens"]
    except (KeyError, TracekitError, analysis.Unavailable):
        return {}
    if not len(requests):
        return {}
    prompts = requests.set_index("number")["prompt_tokens"]
    lengths = tokens["request"].map(prompts).to_numpy(dtype=np.float64) + tokens["index"] + 1
    ordered = tokens.assign(length=lengths).sort_values("time", kind="stable")
    times = ordered["time"].to_numpy(dtype=np.int64)
    sums = _sum_up(ordered["length"].fillna(0.0))
    known_counts = _sum_up(ordered["length"].notna())
    first_places = np.searchsorted(times, starts, side="right")
    last_places = np.searchsorted(times, ends, side="right")
    with np.errstate(invalid="ignore"):
        means = (sums[last_places] - sums[first_places]) / (
            known_counts[last_places] - known_counts[first_places]
        )
    return {"sequences": last_places - first_places, "seq_len": means}


def _sum_up(values: "pd.Series[Any]") -> "np.ndarray[Any, np.dtype[np.float64]]":
    """Return the sum of the values before each place, and at last of all."""
    return np.concatenate(([0.0], np.cumsum(values.to_numpy(dtype=np.float64))))


def _measure_activities(
    starts: analysis.intervals.Times, ends: analysis.intervals.Times, tables: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the time of each activity in each step, in milliseconds, by the host's clock."""
    times: dict[str, Any] = {}
    with suppress(KeyError, TracekitError, analysis.Unavailable):
        spans = tables["spans"]
        for activity in _ACTIVITIES:
            rows = spans[spans["name"] == activity]
            if len(rows):
                work = analysis.intervals.IntervalSet.from_spans(*analysis.intervals.spans(rows))
                times[f"{activity}_ms"] = work.measure_within(starts, ends) / _NS
    return times


def _measure_gpu(steps: pd.DataFrame, tables: Mapping[str, Any]) -> dict[str, Any]:
    """Return the time in which the GPU ran for the target in each step, or the reason."""
    try:
        gpu = tables["gpu"]
        work = analysis.intervals.IntervalSet.from_spans(*gpu.spans)
    except (KeyError, TracekitError, analysis.Unavailable) as error:
        return {"reason": str(error)}
    starts, ends = analysis.intervals.spans(steps)
    begins, finishes = analysis.intervals.spans(gpu.intervals)
    first = int(begins.min())
    last = int(finishes.max())
    is_seen = _find_seen_steps(steps, first, last)
    reason = f"the GPU trace covers {first / _NS:.6f} to {last / _NS:.6f} ms alone."
    return {
        "gpu_ms": np.where(is_seen, work.measure_within(starts, ends) / _NS, np.nan),
        "reason": np.where(is_seen, "", reason),
    }


def _find_seen_steps(steps: pd.DataFrame, first: int, last: int) -> NDArray[np.bool_]:
    """Return whether a trace whose rows last from `first` to `last` shows the work of each step.

    A trace that lacks whole steps with tokens, as one of a window does, cuts the next step in two.
    """
    starts, ends = analysis.intervals.spans(steps)
    has_tokens = steps["tokens"].to_numpy(dtype=np.float64, na_value=0) > 0
    is_before = ends <= first
    is_after = starts >= last
    is_unseen = is_before | is_after
    if (has_tokens & is_before).any():
        is_unseen |= starts < first
    if (has_tokens & is_after).any():
        is_unseen |= ends > last
    return ~is_unseen
