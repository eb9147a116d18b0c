"""The metrics that a capture's plan names: read, completed, and checked for whether they can be."""

import difflib
from typing import Any

from tracekit.analysis.metrics import METRICS
from tracekit.base.paired import least_pairs
from tracekit.nightly.plan.following import counted, followed, from_traces, has_direction, usual
from tracekit.nightly.plan.given import Given, Table, fields, read
from tracekit.nightly.plan.keys import METRIC
from tracekit.nightly.plan.mistakes import Mistakes
from tracekit.nightly.plan.places import Route
from tracekit.nightly.plan.plan import Capture, Gated

_LARGEST_RATIO = 10
_NEAR = 0.8  # of difflib's: a workload's own results are no slips of ours


def read_metrics(
    named: Table, table: Table, route: Route, capture: Capture, mistakes: Mistakes
) -> tuple[Gated, ...]:
    """Return all metrics of a capture, those first that its plan names.

    Args:
        named: What the plan says of metrics, by name.
        table: What it says of the capture.
        route: Where the capture stands.
        capture: The capture, without metrics.
        mistakes: Where they go.
    """
    dropped = frozenset(name for name, one in named.items() if one.value is False)
    read_ones = [
        (one, _metric(name, one, capture, mistakes))
        for name, one in named.items()
        if name not in dropped
    ]
    for given, gated in read_ones:
        _check(given, gated, capture, mistakes)
    metrics = followed([gated for _, gated in read_ones], dropped, capture)
    least = least_pairs()
    if capture.pairs < least and any(one.gate and not from_traces(one.metric) for one in metrics):
        mistakes.add(
            table["pairs"].route if "pairs" in table else route,
            f"must be at least {least} where a metric decides: fewer have no 95 % interval.",
            "Measure more pairs, or let gate be false.",
        )
    return tuple(metrics)


def _metric(name: str, given: Given, capture: Capture, mistakes: Mistakes) -> Gated:
    given_ones = _values(given, mistakes)
    scale, threshold = usual(name, given_ones.get("scale"))
    gate = capture.reference is not None
    values: dict[str, Any] = {"scale": scale, "threshold": threshold, "gate": gate} | given_ones
    if scale == "ratio" and values["threshold"] >= _LARGEST_RATIO:
        words = f"must be below {_LARGEST_RATIO} for a ratio; it is {values['threshold']:g}."
        mistakes.add(_threshold_of(given), words, "0.03 is 3 %.")
    return Gated(name, **values)


def _values(given: Given, mistakes: Mistakes) -> dict[str, Any]:
    if given.value is True:
        return {}
    if isinstance(given.value, dict):
        return read(fields(given, METRIC, mistakes), METRIC, mistakes)
    return read({"threshold": given}, METRIC, mistakes)


def _threshold_of(given: Given) -> Route:
    return given.at("threshold") if isinstance(given.value, dict) else given.route


def _check(given: Given, gated: Gated, capture: Capture, mistakes: Mistakes) -> None:
    """Add what keeps a metric from being known, or from deciding."""
    name, least = gated.metric, least_pairs()
    near = difflib.get_close_matches(name, METRICS, n=1, cutoff=_NEAR)
    if name not in METRICS and near:
        mistakes.add(given.route, "is no metric.", f"Did you mean {near[0]}?")
    if from_traces(name) and not capture.traced:
        words = "comes from traces, and traced is 0."
        mistakes.add(given.route, words, "Let traced be 1 or more.")
    if not gated.gate:
        return
    if capture.reference is None:
        words = "cannot decide without a reference; it can be followed."
        mistakes.add(given.route, words, "Add [nightly.capture.reference], or let gate be false.")
    if not has_direction(gated):
        words = "cannot decide: neither direction is good news by itself."
        mistakes.add(given.route, words, 'Say better = "lower" or "higher", or let gate be false.')
    exact = gated.scale == "difference" and counted(name)
    if from_traces(name) and 0 < capture.traced < least and not exact:
        words = f"cannot decide by fewer than {least} traces: they have no 95 % interval."
        mistakes.add(given.route, words, f"Let traced be {least}, or let gate be false.")
