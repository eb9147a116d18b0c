"""What the traces of a night have found: in how many of the candidate's, and of the reference's."""

from collections.abc import Sequence
from pathlib import Path

from tracekit.analysis.result import load
from tracekit.analysis.rule import Finding
from tracekit.base.recording import Recording
from tracekit.nightly.history.night import Found, Pair


def findings_of(pairs: Sequence[Pair], folder: Path) -> tuple[Found, ...]:
    """Return the findings in the candidate's traces that count, the most frequent first.

    A rule that finds several things in a trace is told by the first of them.

    Args:
        pairs: All pairs of a capture.
        folder: The night's folder, where the runs are.

    Raises:
        TracekitError: A run has no result, or one that cannot be read.
    """
    counted = [one for one in pairs if one.traced and one.runs and not one.contaminated]
    own = [_findings(folder / one.runs[0]) for one in counted]
    others = [_findings(folder / one.runs[1]) for one in counted if len(one.runs) > 1]
    first: dict[str, Finding] = {}
    for found in own:
        first = found | first
    told = [
        Found(
            rule=rule,
            message=finding.message,
            severity=str(finding.severity),
            traces=_having(rule, own),
            of=len(own),
            in_reference=_having(rule, others),
            saving_per_token=finding.saving_per_token,
            saving=finding.saving,
        )
        for rule, finding in first.items()
    ]
    return tuple(sorted(told, key=lambda one: -one.traces))


def _findings(run: Path) -> dict[str, Finding]:
    found: dict[str, Finding] = {}
    for one in load(Recording(run).result_file).findings:
        found.setdefault(one.rule, one)
    return found


def _having(rule: str, traces: Sequence[dict[str, Finding]]) -> int:
    return sum(rule in one for one in traces)
