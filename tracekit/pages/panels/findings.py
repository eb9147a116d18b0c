"""The findings, the worst first, each with its advice and its evidence."""

from tracekit import analysis
from tracekit.analysis import Finding, Result
from tracekit.pages.panel import Context, Tables, panel
from tracekit.pages.panels.verdict import SIGNS
from tracekit.pages.text import split_words

MOST_WINDOWS = 3


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
    title = analysis.wording.line_of(finding, finding.cost)
    advice, more_advice = split_words(finding.advice)
    return finding, title, advice, more_advice
