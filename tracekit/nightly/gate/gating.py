"""The gates on a night and on runs: from a name or paths to a report, and to its error."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from tracekit.base import InconclusiveError, TracekitError
from tracekit.comparison import runs
from tracekit.nightly.gate.report.model import (
    Case,
    GateReport,
    Suite,
    of_comparison,
    of_night,
    of_no_night,
)
from tracekit.nightly.gate.report.text import verdict
from tracekit.nightly.gate.repository import in_repository
from tracekit.nightly.history.night import LATEST, Outcome

_REMEDIES = {
    Outcome.INCONCLUSIVE: "Measure again: `tracekit nightly run`.",
    Outcome.UNJUDGED: "Give a capture of the plan a reference, and a metric that decides.",
}


def gate_night(
    name: str = LATEST,
    plan: Path | None = None,
    history: str = "",
    *,
    longest: float | None = None,
) -> GateReport:
    """Return the report of a night as it was judged by its plan.

    The arguments are those of `find_night`. If there is no such night on this machine, or it began
    more than `longest` seconds ago, the report is inconclusive.
    """
    # A night needs the history and its database, which runs do not.
    from tracekit.nightly.gate.lookup import (  # noqa: PLC0415
        add_plan_lines,
        find_night,
        judge_age,
    )

    try:
        night, night_plan = find_night(name, plan, history)
    except InconclusiveError as error:
        return of_no_night(error.message, error.hint)
    report = add_plan_lines(of_night(night, night_plan), night_plan)
    if longest is None:
        return report
    return judge_age(report, longest)


ReportedAnswer = tuple[str, Outcome, str]
"""A question, the outcome of its answer, and the reason."""


def report_answers(
    heading: GateReport, answers: Mapping[str, Sequence[ReportedAnswer]]
) -> GateReport:
    """Return a report with questions and answers, a suite for each thing that was asked about.

    `heading` is the report without them: its title, outcome, lead and reason.
    """
    suites: list[Suite] = []
    for name, suite_answers in answers.items():
        cases: list[Case] = []
        suite_outcome = Outcome.OK
        for question, answer_outcome, message in suite_answers:
            cases.append(Case(name, question, "finding", answer_outcome, message))
            if suite_outcome is not Outcome.REGRESSION and answer_outcome is not Outcome.OK:
                suite_outcome = answer_outcome
        suites.append(Suite(name, suite_outcome, cases=tuple(cases)))
    return replace(heading, suites=tuple(suites))


def gate_runs(compared: runs.ComparedRuns, place: Path) -> GateReport:
    """Return the report of a comparison of runs.

    `place` is the first path after, as the user named it: annotations are shown at its file.
    """
    provenance = compared.samples_after[0].result.provenance
    environment = provenance.machine | {"tracekit": provenance.tracekit}
    report = of_comparison(compared.comparison, environment, provenance.workload)
    file = ""
    for candidate in (place, place / "result.json"):
        if candidate.is_file():
            file = in_repository(candidate)
    return replace(report, file=file, commit=provenance.git_commit)


def require_decided(report: GateReport, remedy: str = "") -> None:
    """Raise the error of a report that is neither ok nor a regression.

    `remedy` is the hint for a report that decides nothing, by default that for a night.

    Raises:
        TracekitError: The night failed.
        InconclusiveError: The report is inconclusive, or nothing was judged.
    """
    if report.outcome is Outcome.FAILED:
        raise TracekitError(verdict(report), hint="The night's folder has the logs.")
    hint = _REMEDIES.get(report.outcome)
    if hint is not None:
        raise InconclusiveError(verdict(report), hint=remedy or hint)
