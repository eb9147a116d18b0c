"""From the table of a capture to the capture; each mistake in it is noted with its line.

Conditions on several keys are checked once each key is right by itself.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from tracekit.analysis import RULES
from tracekit.base import InputError, UsageError, paired, suggest_name
from tracekit.nightly.plan.document import Route
from tracekit.nightly.plan.followed import (
    NEEDS_TRACE,
    add_usual_metrics,
    find_default_threshold,
    find_unfit,
    from_traces,
)
from tracekit.nightly.plan.mistakes import Mistakes
from tracekit.nightly.plan.plan import Capture, Gated, Reference, allow_imports
from tracekit.record import patterns
from tracekit.workload import find, plan

_COMMIT_KEYS = ("revision", "merge_base", "previous_night")


class CaptureReading:
    """The reading of one capture, whose table lies at `route`; mistakes are added to `mistakes`."""

    def __init__(self, route: Route, mistakes: Mistakes, folder: Path) -> None:
        self._route = route
        self._mistakes = mistakes
        self._folder = folder

    def capture(self, values: dict[str, Any], *, right: bool, work: bool) -> Capture | None:
        """Return the capture; None if mistakes leave nothing to check.

        `values` are those that could be read; `right` is whether all could. Without `work`,
        workloads are not loaded.
        """
        has_mistakes = not right
        if "program" in values and not self._take_program(values):
            has_mistakes = True
        if "workload" not in values:
            if not has_mistakes:
                hint = 'Write workload = "paged"; `tracekit list workloads` lists them.'
                self._refuse((), "has no workload.", hint)
            has_mistakes = True
        reference: Reference | None = None
        reference_table = values.pop("reference", False)
        if reference_table is not False:
            reference = self._reference(reference_table)
            if reference is None:
                has_mistakes = True
        metric_table = values.pop("metrics", {})
        if not self._mistakes.is_table(self._extend_route("metrics"), metric_table):
            has_mistakes = True
        if has_mistakes:
            return None
        capture = self._make_capture(values, reference)
        self._check_capture(capture, work=work)
        return replace(capture, metrics=tuple(self._metrics(metric_table, capture)))

    def _make_capture(self, values: dict[str, Any], reference: Reference | None) -> Capture:
        """Return the capture of right values, without its metrics."""
        if "workloads" in values:
            values["workloads"] = self._folder / values["workloads"]
        name = values["workload"]
        if "program" in values:
            name = Path(values["program"][0]).name
        values.setdefault("name", name)
        return Capture(reference=reference, **values)

    def _check_capture(self, capture: Capture, *, work: bool) -> None:
        """Check the conditions on several keys."""
        reference = capture.reference
        if work and not capture.program:
            self._check_work(capture)
        if not capture.program and reference is not None and reference.program:
            keys = ("reference", "program")
            self._refuse(keys, "is for a capture of a program.", "Give the capture a program too.")
        self._check_keys(capture)

    def _take_program(self, values: dict[str, Any]) -> bool:
        """Make a program the work; tell whether its keys are right."""
        mistakes: list[tuple[tuple[str, ...], str, str]] = []  # keys, words, hint
        no_meaning = "has no meaning for a program."
        hint = "Leave it out, or leave out program."
        mistakes += [
            ((key,), no_meaning, hint) for key in ("workload", "parameters") if key in values
        ]
        reference_table = values.get("reference")
        if isinstance(reference_table, dict):
            for key in ("workload", "parameters", "python"):
                if key in reference_table:
                    words = "Give the other command as program."
                    mistakes.append((("reference", key), no_meaning, words))
        for pattern in values.get("read", ()):
            try:
                patterns.parse_pattern(pattern)
            except UsageError as error:
                mistakes.append((("read",), f"is wrong: {error.message}", error.hint))
        for keys, words, hint in mistakes:
            self._refuse(keys, words, hint)
        values |= {"workload": plan.ANY_PROGRAM, "traced": 0, "parity": "off"}
        return not mistakes

    def _extend_route(self, *keys: str) -> Route:
        return (*self._route, *keys)

    def _refuse(self, keys: Sequence[str], words: str, hint: str = "") -> None:
        self._mistakes.add(self._extend_route(*keys), words, hint)

    def _reference(self, table: Any) -> Reference | None:
        route = self._extend_route("reference")
        if not self._mistakes.is_table(route, table):
            return None
        values = self._mistakes.read(Reference, table, route)
        if len(values) < len(table):
            return None
        commit_keys = [key for key in _COMMIT_KEYS if values.get(key)]
        for key in commit_keys[1:]:
            words = f"names a commit, and {commit_keys[0].replace('_', '-')} names one as well."
            keys = ("reference", key.replace("_", "-"))
            self._refuse(keys, words, "Leave one of them out.")
        if not (commit_keys or {"workload", "parameters", "python", "program"} & values.keys()):
            hint = "It differs by revision, merge-base, python, workload, parameters or program."
            self._refuse(("reference",), "does not say how it differs.", hint)
        if not commit_keys:
            for key in sorted({"setup", "pythonpath", "anchor_every"} & values.keys()):
                keys = ("reference", key.replace("_", "-"))
                self._refuse(keys, "is for a commit's worktree, and none is named.")
            if "python" in values:
                values["python"] = self._folder / values["python"]
        revisions = (values.get("revision", ""), values.get("merge_base", ""))
        if any(revision.startswith("-") for revision in revisions):
            self._refuse(("reference",), "must name a revision, not an option.")
        return Reference(**values)

    def _check_work(self, capture: Capture) -> None:
        """Load the workloads of both sides and bind their parameters.

        A file that cannot be loaded is not a mistake of the plan: its capture fails, others run.
        """
        self._check_side((), capture.workload, capture.parameters, capture)
        reference = capture.reference
        if reference is not None and not reference.same_work:
            workload = reference.workload or capture.workload
            self._check_side(("reference",), workload, reference.parameters, capture)

    def _check_side(
        self, keys: tuple[str, ...], name: str, parameters: dict[str, Any], capture: Capture
    ) -> None:
        """Load the workload of a side, whose table lies at `keys`, and bind its parameters."""
        if name == plan.ANY_PROGRAM:
            words = "is any program, which cannot be measured in turns."
            self._refuse((*keys, "workload"), words)
            return
        part = "workload"
        try:
            with allow_imports(capture.reference, self._folder), suppress(InputError):
                workload = find(name, capture.workloads)
                if parameters:
                    part = "parameters"
                workload.bind(parameters)
        except UsageError as error:
            self._refuse((*keys, part), f"is not fit: {error.message}", error.hint)

    def _check_keys(self, capture: Capture) -> None:
        for name in capture.fail_on:
            if name not in RULES:
                hint = suggest_name(name, RULES, otherwise="`tracekit list rules` lists them.")
                self._refuse(("fail-on",), f"names no rule: {name!r}.", hint)
        if capture.fail_on and not capture.traced:
            self._refuse(("fail-on",), "needs a trace, and traced is 0.", NEEDS_TRACE)
        if any(words[0].startswith("-") for words in capture.checks):
            hint = 'Write [["python", "-m", "pytest"]], or ["python -m pytest"].'
            self._refuse(("checks",), "must be an array of commands.", hint)

    def _metrics(self, metric_table: dict[str, Any], capture: Capture) -> list[Gated]:
        """Return all metrics of a capture, those first that its plan names."""
        dropped: set[str] = set()
        metrics: list[Gated] = []
        for name, value in metric_table.items():
            if value is False:
                dropped.add(name)
                continue
            gated = self._metric(name, value, capture)
            if gated is not None:
                metrics.append(gated)
        if not capture.program:
            metrics = add_usual_metrics(metrics, frozenset(dropped), capture)
        self._check_pairs(metrics, capture)
        return metrics

    def _check_pairs(self, metrics: Sequence[Gated], capture: Capture) -> None:
        """Check that there are enough pairs for the metrics that decide."""
        minimum_pairs = paired.least_pairs()
        if capture.pairs >= minimum_pairs:
            return
        words = (
            f"must be at least {minimum_pairs} if a metric decides: fewer have no 95 % interval."
        )
        if capture.program and capture.reference:
            self._refuse(("pairs",), words, "Measure more pairs.")
        if any(metric.gate and not from_traces(metric.metric) for metric in metrics):
            self._refuse(("pairs",), words, "Measure more pairs, or let gate be false.")

    def _metric(self, name: str, value: Any, capture: Capture) -> Gated | None:
        if value is True:
            table = {}
        elif isinstance(value, dict):
            table = value
        else:
            table = {"threshold": value}
        route = self._extend_route("metrics", name)
        values = self._mistakes.read(Gated, table, route)
        if len(values) < len(table):
            return None
        scale, threshold = find_default_threshold(name, values.get("scale"))
        values["scale"] = scale
        values.setdefault("threshold", threshold)
        values.setdefault("gate", capture.reference is not None)
        gated = Gated(name, **values)
        for words, hint in find_unfit(gated, capture):
            self._refuse(("metrics", name), words, hint)
        return gated
