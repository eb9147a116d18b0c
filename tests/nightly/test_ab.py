"""Two variants in turns, now: what the words mean, and what comes of real pairs."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from git_program import git
from tracekit.analysis.result import Better
from tracekit.base import Verdict
from tracekit.base.errors import InconclusiveError, UsageError
from tracekit.comparison.spread import Limits
from tracekit.comparison.verdicts import Change
from tracekit.machine.state import StateLimits
from tracekit.nightly.ab import (
    PairEffort,
    Side,
    differences,
    half_width,
    judge_metrics,
    measure_ab,
    parse_side,
)
from tracekit.nightly.history.night import Described, Pair, Quantity
from tracekit.nightly.programs import measure_programs
from tracekit.nightly.session.busy_notice import with_busy_notice

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


def test_words_name_a_variant() -> None:
    for words, workload, side in (
        ("paged", "", Side("paged")),
        ("paged block_size=8", "", Side("paged", {"block_size": 8})),
        ("paged@v1.4 hd-tile=2", "", Side("paged", {"hd_tile": 2}, "v1.4")),
        ("kernel=split", "paged", Side("paged", {"kernel": "split"})),
        ("@main", "paged", Side("paged", {}, "main")),
        ("ragged=true", "paged", Side("paged", {"ragged": True})),
        ("", "paged", Side("paged")),
    ):
        assert parse_side(words.split(), workload) == side
    for words, complaint in (
        ("", "workload"),
        ("block_size=8", "workload"),
        ("paged sdpa", "'sdpa'"),
    ):
        with pytest.raises(UsageError, match=complaint):
            parse_side(words.split())


def pairs_of(values: Sequence[tuple[float, float]], *names: str) -> list[Pair]:
    """Make pairs in which each metric has the same values, the reference's first, in two turns."""
    return [
        Pair(
            session=1,
            number=number,
            order="abba",
            candidate=dict.fromkeys(names, (candidate_value, candidate_value)),
            reference=dict.fromkeys(names, (reference_value, reference_value)),
        )
        for number, (reference_value, candidate_value) in enumerate(values, 1)
    ]


SLOWER, TENTH = (100, 110), pytest.approx(0.1)
FEW = "5 pairs count, and an interval takes 6"


def test_a_metric_is_judged_by_the_interval_of_its_pairs(subtests: pytest.Subtests) -> None:
    for name, values, expected in (
        ("step_p50", [SLOWER] * 6, (True, TENTH, Verdict.WORSE, "")),
        ("tokens_per_second", [SLOWER] * 6, (True, TENTH, Verdict.BETTER, "")),
        ("steady_compiles", [(0, 3)] * 6, (False, 3, Verdict.WORSE, "")),
        ("step_p50", [SLOWER] * 5, (True, TENTH, Verdict.UNCLEAR, FEW)),
        ("step_p50", [(100, 80), (100, 130)] * 3,
         (True, pytest.approx(0.02, abs=0.01), Verdict.UNCLEAR,
              "a change of 3 % could hide in it")),
        ("hits", [SLOWER] * 6, (True, TENTH, None, "")),
        ("hits", [SLOWER] * 5, (True, TENTH, None, FEW)),
    ):  # fmt: skip
        with subtests.test(expected=expected):
            (judgement,) = judge_metrics(
                pairs_of(values, name), {"hits": Quantity("hits", "neither")}, Limits()
            )
            assert (
                judgement.relative,
                judgement.change,
                judgement.verdict,
                judgement.reason,
            ) == expected
            assert (judgement.values_before, judgement.values_after) == tuple(
                zip(*values, strict=True)
            )
            bounds = (judgement.low, judgement.change, judgement.high) if len(values) > 5 else ()
            assert list(bounds) == sorted(bounds)  # pyright: ignore[reportArgumentType]
            assert judgement.paired


def test_named_metrics_decide_and_come_first_and_else_a_speed() -> None:
    pairs = pairs_of([(1, 1)] * 6, "depth", "step_p50")
    for metrics, leading_metric in (((), "step_p50"), (("depth",), "depth")):
        leading, followed_judgement = judge_metrics(pairs, {}, Limits(metrics=metrics))
        assert (leading.metric, leading.deciding, followed_judgement.deciding) == (
            leading_metric,
            True,
            False,
        )
    with pytest.raises(UsageError, match="No variant has the metric 'hits'"):
        judge_metrics(pairs, {}, Limits(metrics=("hits",)))
    half = [replace(pair, reference={}) for pair in pairs]
    assert judge_metrics(half, {}, Limits()) == ()


def test_differences_of_code_and_parameters_are_listed() -> None:
    reference_side = Described(
        "paged", {"batch": 8, "seed": 1, "k": 3}, "3.11", "0.32", "0.1", "1a2b3c4"
    )
    candidate_side = replace(
        reference_side, parameters={"batch": 16, "seed": 1, "tile": 2}, commit="5d6e7f8"
    )
    changes = differences({"reference": reference_side, "candidate": candidate_side})
    assert [(difference.what, difference.before, difference.after) for difference in changes] == [
        ("commit", "1a2b3c4", "5d6e7f8"),
        ("parameter batch", "8", "16"),
        ("parameter k", "3", "default"),
        ("parameter tile", "default", "2"),
    ]


def test_two_variants_are_asked_for(tracekit: Run) -> None:
    for words in (["paged"], ["paged", "--", "x=1", "--", "x=2"]):
        result = tracekit("bench", "ab", *words)
        assert (result.code, "each side of a --" in result.err) == (2, True), words


@pytest.mark.processes
def test_a_cheaper_value_is_better_and_the_session_ends_when_it_is_sure_or_time_is_up(
    spins: Path, tracekit: Run, tmp_path: Path
) -> None:
    page, common_options = (
        tmp_path / "ab.html",
        ("--workloads", spins, "--any-state", "--turn", "20ms"),
    )
    words = ("cost=20000", "--", "cost=5000", "--within", "0.5", "--html", page, "--exit-code")
    result = tracekit("bench", "ab", "spin", *words, *common_options)
    assert result.code == 0, result.err
    assert result.out.startswith("Better: step_p50 is faster by ")
    assert "parameter cost\t20000\t5000" in result.out
    assert "pairs count; the intervals are narrower than ±50.0 %." in result.err
    assert "Better" in page.read_text()
    assert "Timelines" not in page.read_text()
    result = tracekit("bench", "ab", "spin", "--", "spin", "--time-limit", "1ms", *common_options)
    assert result.code == 0
    assert "1 of 1 pairs count; stopped after 0.001 s" in result.err
    assert "1 pairs count, and an interval takes 6" in result.out


@pytest.mark.processes
def test_a_revision_is_measured_in_a_work_tree_of_its_own(spins: Path) -> None:
    compared = measure_ab(
        Side("spin"),
        Side("spin", revision="HEAD~1"),
        workloads=spins,
        effort=PairEffort(max_half_width=0.5, turn=0.02, state=None),
        limits=Limits(metrics=("step_p50",)),
    )
    assert compared.verdict is Verdict.WORSE
    (change,) = [change for change in compared.changes if change.deciding]
    assert change.paired
    assert 1.0 < (change.change or 0.0) < 4.0
    assert [difference.what for difference in compared.environment] == ["commit"]
    assert compared.after == ("spin at HEAD~1",)


def test_a_difference_below_nothing_has_a_width() -> None:
    change = Change("idle", "count", Better.LOWER, 5.0, 1.0, relative=False, low=-4.0, high=-2.0)
    assert half_width(change) == 1.0
    ratio = replace(change, relative=True, low=-0.5, high=1.0)
    assert half_width(ratio) == pytest.approx(math.log(2))
    assert half_width(replace(change, low=None)) == math.inf


@pytest.mark.processes
def test_numbers_of_a_machine_that_is_not_fit_are_shown_as_not_counted() -> None:
    effort = PairEffort(seconds=4.0, state=StateLimits(calibration=None, memory_free=1 << 60))
    with pytest.raises(InconclusiveError, match=r"Measured, but not counted: wall_time [+-]"):
        measure_programs(("sh", "-c", "exit 0"), ("sh", "-c", "sleep 0.1"), effort=effort)


def test_a_busy_machine_is_reported_after_a_while_with_its_users() -> None:
    heard: list[str] = []
    for load_limit, quiet_seconds in ((-1.0, 0.0), (-1.0, 3600.0), (1e9, 0.0)):
        with_busy_notice(heard.append, load_limit, delay=quiet_seconds)("3 of 4 pairs count")
    assert heard[0].startswith("3 of 4 pairs count; the machine is busy: ")
    assert heard[1:] == ["3 of 4 pairs count"] * 2
    assert with_busy_notice(heard.append, None) == heard.append
