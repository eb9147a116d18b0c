"""Two variants in turns, now: what the words mean, and what comes of real pairs."""

import math
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tracekit.analysis.result import Better
from tracekit.base.errors import UsageError
from tracekit.compare.spread import Limits
from tracekit.compare.verdicts import Change, Verdict
from tracekit.nightly.ab import Effort, Side, half_width, measure_ab, parse_side

Command = Callable[..., Any]
SPIN = '''
from tracekit.workload import Step, workload


@workload
def spin(cost: int = {cost}) -> Step:
    """Add numbers."""
    return Step(submit=lambda: None, wait=lambda _: sum(range(cost)), backend="cpu", tokens=1)
'''


@pytest.fixture
def spins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a repository with a workload, which an earlier commit made three times as dear."""
    folder = tmp_path / "repository" / "workloads"
    folder.mkdir(parents=True)

    def git(*words: str) -> None:
        who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        subprocess.run(["git", *who, *words], cwd=folder.parent, check=True, capture_output=True)

    git("init", "-q")
    for cost in (30_000, 10_000):
        (folder / "spin.py").write_text(SPIN.format(cost=cost))
        git("add", "-A")
        git("commit", "-q", "-m", f"cost {cost}")
    monkeypatch.chdir(folder.parent)
    return folder


@pytest.mark.parametrize(
    ("words", "workload", "side"),
    [
        (["paged"], "", Side("paged")),
        (["paged", "block_size=8"], "", Side("paged", {"block_size": 8})),
        (["paged@v1.4", "hd-tile=2"], "", Side("paged", {"hd_tile": 2}, "v1.4")),
        (["kernel=split"], "paged", Side("paged", {"kernel": "split"})),
        (["@main"], "paged", Side("paged", {}, "main")),
        (["ragged=true"], "paged", Side("paged", {"ragged": True})),
        ([], "paged", Side("paged")),
        (["block_size=8"], "", "names a workload"),
        ([], "", "names a workload"),
        (["paged", "sdpa"], "", "'sdpa'"),
    ],
)
def test_a_variant_is_a_workload_a_revision_and_values(
    words: Sequence[str], workload: str, side: Side | str
) -> None:
    if isinstance(side, str):
        with pytest.raises(UsageError, match=side):
            parse_side(words, workload)
    else:
        assert parse_side(words, workload) == side


def test_two_variants_are_asked_for(tracekit: Command) -> None:
    for words in (["paged"], ["paged", "--", "x=1", "--", "x=2"]):
        shown = tracekit("ab", *words)
        assert shown.code == 2
        assert "both sides of a --" in shown.err


@pytest.mark.processes
def test_a_cheaper_value_is_better_and_the_session_ends_when_it_is_sure(
    spins: Path, tracekit: Command, tmp_path: Path
) -> None:
    page = tmp_path / "ab.html"
    words = ("cost=20000", "--", "cost=5000", "--any-state", "--turn", "20ms", "--within", "0.5")
    shown = tracekit("ab", "spin", *words, "--workloads", spins, "--html", page, "--exit-code")
    assert shown.code == 0, shown.err
    assert shown.out.startswith("Better: step_p50 and tokens_per_second are better.")
    assert "parameter cost\t20000\t5000" in shown.out
    assert "pairs count; the intervals are narrower than ±50.0 %." in shown.err
    assert "Better" in page.read_text()
    assert "Timelines" not in page.read_text()


@pytest.mark.processes
def test_a_revision_is_measured_in_a_work_tree_of_its_own(spins: Path) -> None:
    effort = Effort(within=0.5, turn=0.02, state=None)
    compared = measure_ab(
        Side("spin"),
        Side("spin", revision="HEAD~1"),
        workloads=spins,
        effort=effort,
        limits=Limits(metrics=("step_p50",)),
    )
    assert compared.verdict is Verdict.WORSE
    (change,) = [each for each in compared.changes if each.deciding]
    assert change.paired
    assert change.change is not None
    assert 1.0 < change.change < 4.0
    assert [each.what for each in compared.environment] == ["commit"]
    assert compared.after == ("spin at HEAD~1",)


@pytest.mark.processes
def test_time_that_is_up_ends_a_session_with_what_is_known(spins: Path, tracekit: Command) -> None:
    words = ("ab", "spin", "--", "spin", "--workloads", spins, "--time-limit", "1ms")
    shown = tracekit(*words, "--turn", "20ms", "--any-state")
    assert shown.code == 0
    assert "1 of 1 pairs count; stopped after 0.001 s" in shown.err
    assert "1 pairs count, and an interval takes 6" in shown.out


def test_a_difference_below_nothing_has_a_width() -> None:
    change = Change("idle", "count", Better.LOWER, 5.0, 1.0, relative=False, low=-4.0, high=-2.0)
    assert half_width(change) == 1.0
    assert half_width(replace(change, low=None)) == math.inf
