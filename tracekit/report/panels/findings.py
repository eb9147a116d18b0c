"""The findings, the worst first, each with its advice and its evidence."""

from tracekit import analysis
from tracekit.analysis import Finding, Result
from tracekit.report.panel import Context, Tables, panel
from tracekit.report.panels.verdict import SIGNS, cost_of
from tracekit.report.text import split_words

MOST_WINDOWS = 3
MOST_WORDS = 60
"""The words of an advice that are read at once; the sentences behind them are folded."""


@panel("Findings")
def findings(result: Result, tables: Tables) -> Context | None:  # noqa: ARG001  a panel's signature
    """List the findings in the order of the result; None without any, as the verdict says so."""
    if not result.findings:
        return None
    return {
        "findings": list(map(_lay_out, result.findings)),
        "signs": SIGNS,
        "most": MOST_WINDOWS,
    }


def _lay_out(finding: Finding) -> tuple[Finding, str, str, str]:
    """Return a finding with its title, its advice, and the part of the advice that is folded."""
    title = analysis.line_of(finding, cost_of(finding))
    advice, more_advice = split_words(finding.advice, MOST_WORDS)
    return finding, title, advice, more_advice
