"""Two variants in turns, now: what the words mean, and what comes of real pairs."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from real_nights import git
from tracekit.analysis.result import Better
from tracekit.base.errors import UsageError
from tracekit.compare.spread import Limits
from tracekit.compare.verdicts import Change, Verdict
from tracekit.nightly.ab import Effort, Side, half_width, measure_ab, parse_side

Run = Callable[..., Any]
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
    git(folder, "init", "-q", "..")
    for cost in (30_000, 10_000):
        (folder / "spin.py").write_text(SPIN.format(cost=cost))
        git(folder, "add", "-A")
        git(folder, "commit", "-q", "-m", f"cost {cost}")
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


def test_two_variants_are_asked_for(tracekit: Run) -> None:
    for words in (["paged"], ["paged", "--", "x=1", "--", "x=2"]):
        shown = tracekit("ab", *words)
        assert (shown.code, "both sides of a --" in shown.err) == (2, True)


@pytest.mark.processes
def test_a_cheaper_value_is_better_and_the_session_ends_when_it_is_sure_or_time_is_up(
    spins: Path, tracekit: Run, tmp_path: Path
) -> None:
    page, usual = tmp_path / "ab.html", ("--workloads", spins, "--any-state", "--turn", "20ms")
    words = ("cost=20000", "--", "cost=5000", "--within", "0.5", "--html", page, "--exit-code")
    shown = tracekit("ab", "spin", *words, *usual)
    assert shown.code == 0, shown.err
    assert shown.out.startswith("Better: step_p50 and tokens_per_second are better.")
    assert "parameter cost\t20000\t5000" in shown.out
    assert "pairs count; the intervals are narrower than ±50.0 %." in shown.err
    assert "Better" in page.read_text()
    assert "Timelines" not in page.read_text()
    shown = tracekit("ab", "spin", "--", "spin", "--time-limit", "1ms", *usual)
    assert shown.code == 0
    assert "1 of 1 pairs count; stopped after 0.001 s" in shown.err
    assert "1 pairs count, and an interval takes 6" in shown.out


@pytest.mark.processes
def test_a_revision_is_measured_in_a_work_tree_of_its_own(spins: Path) -> None:
    compared = measure_ab(
        Side("spin"),
        Side("spin", revision="HEAD~1"),
        workloads=spins,
        effort=Effort(within=0.5, turn=0.02, state=None),
        limits=Limits(metrics=("step_p50",)),
    )
    assert compared.verdict is Verdict.WORSE
    (change,) = [change for change in compared.changes if change.deciding]
    assert change.paired
    assert change.change is not None
    assert 1.0 < change.change < 4.0
    assert [difference.what for difference in compared.environment] == ["commit"]
    assert compared.after == ("spin at HEAD~1",)


def test_a_difference_below_nothing_has_a_width() -> None:
    change = Change("idle", "count", Better.LOWER, 5.0, 1.0, relative=False, low=-4.0, high=-2.0)
    assert half_width(change) == 1.0
    ratio = replace(change, relative=True, low=-0.5, high=1.0)
    assert half_width(ratio) == pytest.approx(math.log(2))
    assert half_width(replace(change, low=None)) == math.inf
