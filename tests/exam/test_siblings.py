"""Programs with a practised mechanism are answered; those that only look like it are not."""

from pathlib import Path

import pytest

from command_line import run
from practice import later_siblings as later
from practice import siblings as earlier
from tracekit.analysis import Result
from tracekit.base import Recording
from tracekit.pipeline import analyze
from tracekit.tables import Severity

SIBLINGS = {**earlier.SIBLINGS, **later.SIBLINGS}
NEAR_MISSES = {**earlier.NEAR_MISSES, **later.NEAR_MISSES}
HEALTHY = earlier.HEALTHY | later.HEALTHY
QUICK = {
    *("textures-each-frame", "dense-scans", "small-and-short", "of-no-display"),
}


def cases(names: dict[str, object]) -> list[object]:
    return [
        pytest.param(name, marks=() if name in QUICK else pytest.mark.campaign) for name in names
    ]


def judge(name: str, folder: Path) -> Result:
    write, _ = {**SIBLINGS, **NEAR_MISSES}[name]
    write(folder / "exports")
    assert run("import", folder / "exports", "--output", folder / "run") == 0
    return analyze(Recording(folder / "run"))


@pytest.mark.parametrize("name", cases(dict(SIBLINGS)))
def test_the_first_finding_names_the_lever_of_a_sibling(name: str, tmp_path: Path) -> None:
    assert str(judge(name, tmp_path).findings[0].lever) == SIBLINGS[name][1]


@pytest.mark.parametrize("name", cases(dict(NEAR_MISSES)))
def test_no_finding_names_the_lever_of_a_near_miss(name: str, tmp_path: Path) -> None:
    findings = judge(name, tmp_path).findings
    assert NEAR_MISSES[name][1] not in {str(finding.lever) for finding in findings}
    if name in HEALTHY:
        assert {finding.severity for finding in findings} <= {Severity.NOTE}
