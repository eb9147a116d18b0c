"""What became of metrics of runs, and at which pace; runs by their paths, and the command."""

import itertools
import json
import math
import random
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from step_samples import (
    MACHINE,
    MS,
    make_paced_sample,
    noisy,
    reference_frame,
    sample_of,
    tables_of,
)
from tracekit import pipeline
from tracekit.analysis.result import Better, Measurement
from tracekit.analysis.rule import Finding, Severity
from tracekit.base import Verdict
from tracekit.base.errors import RecordingError, UsageError
from tracekit.base.recording import Recording
from tracekit.comparison.compare import (
    Comparison,
    compare,
    compare_runs,
    is_unconfirmed,
    parse_sides,
    read_samples,
    redaction_of_runs,
)
from tracekit.comparison.page import how_sure
from tracekit.comparison.page import tables as shown
from tracekit.comparison.samples import Order, Sample
from tracekit.comparison.samples import runs as side_of
from tracekit.comparison.spread import Limits
from tracekit.comparison.verdicts import Change, Pace, pace_of


def change_of(compared: Comparison, name: str = "step_p50") -> Change:
    return next(change for change in compared.changes if change.metric == name)


def ends(change: Change) -> tuple[float, float]:
    assert change.low is not None
    assert change.high is not None
    return change.low, change.high


def width(compared: Comparison) -> float:
    lower_bound, upper_bound = ends(change_of(compared))
    return math.log1p(upper_bound) - math.log1p(lower_bound)


def having(run: Sample, *metrics: Measurement) -> Sample:
    return replace(run, result=replace(run.result, metrics=metrics))


def make_samples(
    name: str, unit: str, *values: float | None, better: Better = Better.LOWER, reason: str = ""
) -> list[Sample]:
    run = replace(sample_of([1000]), tables=None)
    return [having(run, Measurement(name, value, unit, better, reason)) for value in values]


def format_start(minute: int) -> str:
    return f"2026-11-20T10:{minute:02d}:00+00:00"


def test_a_large_and_sure_change_counts() -> None:
    for time_before, time_after, verdict in (
        (1.0, 1.15, Verdict.WORSE),
        (1.15, 1.0, Verdict.BETTER),
        (1.0, 1.0, Verdict.UNCLEAR),
        (1.0, 1.02, Verdict.UNCLEAR),
        (1.0, 1.09, Verdict.UNCLEAR),
    ):
        sides = [sample_of(noisy(time_before * MS))], [sample_of(noisy(time_after * MS, seed=2))]
        compared = compare(*sides)
        step = change_of(compared)
        assert (time_after, compared.verdict) == (time_after, verdict)
        assert step.change == pytest.approx(time_after / time_before - 1, abs=0.01)
        assert ends(step)[0] < time_after / time_before - 1 < ends(step)[1]
        metrics = {change.metric for change in compared.changes}
        assert metrics == {"tokens_per_second", "step_p50"}, (time_before, time_after)
        if time_after == 1.02:
            narrow = compare(*sides, Limits(threshold=0.01, between=0.0))
            assert narrow.verdict is Verdict.WORSE, (time_before, time_after)
            wide = compare(*sides, Limits(threshold=0.1))
            assert wide.verdict is Verdict.EQUIVALENT, (time_before, time_after)
            assert wide.reason.startswith("step_p50 is equivalent within 10 %: +2."), (
                time_before,
                time_after,
            )


def test_a_run_that_drifts_is_unclear() -> None:
    drifting = [round(length * (1 + place / 400)) for place, length in enumerate(noisy(MS))]
    compared = compare([sample_of(noisy(MS))], [sample_of(drifting)])
    assert compared.verdict is Verdict.UNCLEAR
    assert "beyond your limit of 3 %, but it may still be chance" in compared.reason


def test_without_its_tables_one_run_is_unclear_and_several_are_not() -> None:
    tableless_sample = replace(
        sample_of(noisy(1.5 * MS)), tables=None, absence="its exports are gone."
    )
    step = change_of(compare([sample_of(noisy(MS))], [tableless_sample]))
    assert (step.verdict, step.low) == (Verdict.UNCLEAR, None)
    assert step.reason == "its spread is not known: its exports are gone"
    assert step.change == pytest.approx(0.5, abs=0.01), "what it came to is told all the same"
    assert (
        change_of(compare([sample_of(noisy(MS)), tableless_sample], [sample_of(noisy(MS))])).low
        is None
    )
    instant_start = sample_of([0] * 20 + [MS] * 180)  # most steps of its first block took no time
    reason = change_of(compare([instant_start], [tableless_sample])).reason
    assert reason == "its spread is not known: it is 0 in a block"
    samples_before, samples_after, scattered = (
        make_samples("step_p50", "ns", *values)
        for values in ((1000, 1010, 1005), (1100, 1108, 1102), (1000, 1200, 1100))
    )
    assert compare(samples_before, samples_after).verdict is Verdict.WORSE
    assert compare(scattered, samples_after).verdict is Verdict.UNCLEAR


def test_the_machines_pace_is_taken_out() -> None:
    sides = [make_paced_sample(MS, 50_000, 1)], [make_paced_sample(1.06 * MS, 53_000, 2)]
    slower_machine = compare(*sides, Limits(threshold=0.1))
    step = change_of(slower_machine)
    assert (slower_machine.verdict, step.corrected) == (Verdict.EQUIVALENT, True)
    assert step.after == pytest.approx(1.06 * MS, rel=0.01), "values stay as they were measured"
    _, columns, rows = next(iter(shown(slower_machine)))
    assert columns[3:6] == ("measured", "at equal pace", "95 % interval")
    assert next(row for row in rows if row[0] == "step_p50 *")[3].startswith("+6.")
    assert "taken to differ by 1.6 % as well" in how_sure(slower_machine)
    assert "took 20.0 % longer after" in how_sure(replace(slower_machine, pace=0.2))
    assert "took 20.0 % less after" in how_sure(replace(slower_machine, pace=-0.2))
    slower_work = compare(
        [make_paced_sample(MS, 50_000, 1)], [make_paced_sample(1.1 * MS, 50_000, 2)]
    )
    assert slower_work.verdict is Verdict.WORSE
    assert change_of(slower_work, "tokens_per_second").corrected


def test_a_reference_makes_clearer_and_the_more_is_corrected_the_less_is_sure() -> None:
    def compare_slowed(ratio: float, limits: Limits | None = None) -> Comparison:
        return compare(
            [make_paced_sample(MS, 50_000, 1)],
            [make_paced_sample(ratio * MS, ratio * 50_000, 2)],
            limits,
        )

    widths = [width(compare_slowed(ratio)) for ratio in (1.0, 1.2, 1.6)]
    assert widths == sorted(widths)
    assert widths[2] > 2 * widths[0]
    plain_comparison = compare([sample_of(noisy(MS))], [sample_of(noisy(MS, seed=2))])
    assert widths[0] < 0.75 * width(plain_comparison)
    assert width(compare_slowed(1.0, Limits(between=0.0))) < widths[0]
    torn = [2 * MS] * 20 + noisy(MS, 180)  # one block of ten moves no median
    tables = tables_of(torn) | {"gauges": reference_frame(torn, noisy(50_000), "tracekit (MLX)")}
    assert (
        width(compare([make_paced_sample(MS, 50_000, 1)], [sample_of(torn, tables=tables)])) < 0.2
    )
    assert (
        compare([make_paced_sample(MS, 50_000, 1)], [make_paced_sample(1.76 * MS, 8e4, 2)]).verdict
        is Verdict.UNCLEAR
    )


def test_a_change_by_correction_alone_is_not_a_change() -> None:
    sides = [make_paced_sample(MS, 50_000, 1)], [make_paced_sample(MS, 44_000, 1)]
    step = change_of(compare(*sides, Limits(paced=0.0, doubt=0.0)))
    assert ends(step)[0] > 0.1
    assert step.verdict is Verdict.UNCLEAR
    assert step.reason == "only taking the machine's pace out makes it seem so"


def test_unlike_references_or_one_that_took_no_time_show_no_pace() -> None:
    """Else a faster MLX would be corrected away, for the reference is faster, too."""

    def pace(sample_before: Sample, sample_after: Sample) -> Pace:
        return pace_of(side_of([sample_before]), side_of([sample_after]), Order.APART)

    first_sample, second = make_paced_sample(1.3 * MS, 65_000, 1), make_paced_sample(MS, 50_000, 2)
    assert pace(first_sample, second).slowdown == pytest.approx(math.log(50 / 65), abs=0.01)
    provenance = second.result.provenance
    for name, value in {"mlx": "0.33", "chip": "Apple M4", "cores": 10, "os": "macOS 26.1"}.items():
        altered_provenance = replace(provenance, machine=MACHINE | {name: value})
        altered_sample = replace(
            second, result=replace(second.result, provenance=altered_provenance)
        )
        assert pace(first_sample, altered_sample).is_known is (name == "os")
    assert second.tables is not None
    gauges = second.tables["gauges"]
    for unlike in (gauges.assign(source="tracekit (Python)"), gauges.assign(value=0.0), gauges[:0]):
        altered_sample = replace(second, tables={**second.tables, "gauges": unlike})
        assert not pace(first_sample, altered_sample).is_known, unlike
        assert not pace(altered_sample, first_sample).is_known, unlike


def test_shares_change_by_points_and_counts_by_whole_ones() -> None:
    def idle(*shares: float) -> list[Sample]:
        return make_samples("gpu_idle_ratio", "ratio", *shares)

    change = change_of(compare(idle(0.10, 0.11), idle(0.30, 0.31)), "gpu_idle_ratio")
    assert (change.relative, change.verdict) == (False, Verdict.WORSE)
    assert change.change == pytest.approx(0.2)
    comparison = compare(idle(0.0, 0.01), idle(0.01, 0.0))
    assert comparison.verdict is Verdict.UNCLEAR, "a share may be 0"

    def verdict(counts_before: list[int], counts_after: list[int]) -> Verdict:
        before = make_samples("requests_rejected", "count", *counts_before)
        after = make_samples("requests_rejected", "count", *counts_after)
        return compare(before, after, Limits(metrics=("requests_rejected",))).verdict

    assert (verdict([0, 0], [9, 9]), verdict([0], [0])) == (Verdict.WORSE, Verdict.EQUIVALENT)
    assert verdict([0], [1]) is Verdict.UNCLEAR


def test_changes_without_a_ratio_or_value_give_a_reason() -> None:
    def became(name: str, before: list[Sample], after: list[Sample]) -> Change:
        return change_of(compare(before, after), name)

    change = became(
        "memory_growth", *(make_samples("memory_growth", "bytes", size) for size in (0, 4096))
    )
    assert (change.change, change.relative, change.verdict) == (4096, False, None)
    assert change.reason == "a value is not above 0, so the values have no ratio"
    change = became(
        "memory_growth", *(make_samples("memory_growth", "bytes", size) for size in (4096, 0))
    )
    assert (change.change, change.relative) == (-4096, False)
    change = became(
        "memory_growth", *(make_samples("memory_growth", "bytes", size) for size in (0.5, 1.0))
    )
    assert (change.relative, change.change) == (True, 1.0)
    assert (change.values_before, change.values_after) == ((0.5,), (1.0,))
    busy = [
        make_samples("gpu_busy", "ns", *times, better=Better.NEITHER)
        for times in ((9, 10), (19, 20))
    ]
    change = became("gpu_busy", *busy)
    assert (change.verdict, change.change) == (None, pytest.approx(math.sqrt(380 / 90) - 1))
    absent_samples = make_samples("gpu_idle_ratio", "ratio", None, reason="no GPU")
    change = became("gpu_idle_ratio", absent_samples, make_samples("gpu_idle_ratio", "ratio", 0.1))
    assert (change.before, change.after, change.verdict) == (None, 0.1, None)
    assert change.reason == "before: no GPU"
    change = became("gpu_idle_ratio", make_samples("gpu_idle_ratio", "ratio", 0.1), absent_samples)
    assert change.reason == "after: no GPU"


@pytest.mark.parametrize(
    ("name", "unit", "value"), [("start_latency_p50", "ns", 82.5), ("gpu_idle_ratio", "ratio", 0.9)]
)
def test_equal_values_without_spread_are_unclear(name: str, unit: str, value: float) -> None:
    before, after = (make_samples(name, unit, value) for _ in range(2))
    compared = compare(before, after, Limits(metrics=(name,)))
    change = change_of(compared, name)
    assert (change.change, change.low, change.verdict) == (0, None, Verdict.UNCLEAR)
    assert change.reason.startswith("its spread is not known: ")
    assert compared.verdict is Verdict.UNCLEAR


def test_the_reason_of_a_metric_that_is_not_judged_is_a_sentence() -> None:
    limits = Limits(metrics=("gpu_busy",))
    busy = [make_samples("gpu_busy", "ns", time, better=Better.NEITHER) for time in (9, 10)]
    reason = "gpu_busy is unclear: neither a higher nor a lower value of it is better."
    assert compare(*busy, limits).reason == reason
    absent = make_samples("gpu_busy", "ns", None, better=Better.NEITHER, reason="it is gone.")
    assert compare(busy[0], absent, limits).reason == "gpu_busy is unclear: after: it is gone."


def test_who_names_metrics_decides_by_them_and_a_side_needs_a_run() -> None:
    sides = [sample_of([MS] * 40)], [sample_of([2 * MS] * 40)]
    compared = compare(*sides, Limits(metrics=("step_p50",)))
    assert [change.metric for change in compared.changes if change.deciding] == ["step_p50"]
    with pytest.raises(UsageError, match="'step_p5'") as error:
        compare(*sides, Limits(metrics=("step_p5",)))
    assert "step_p50" in error.value.hint
    with pytest.raises(UsageError, match="at least one run"):
        compare([], sides[1])
    silent = having(sides[0][0])
    unclear = compare([silent], [silent])
    assert (unclear.verdict, unclear.reason) == (Verdict.UNCLEAR, "No run has a metric of speed.")


def test_metrics_of_one_side_are_listed_and_those_of_both_named() -> None:
    run, later = (
        sample_of([MS] * 40, f"run {minute}", started=format_start(minute)) for minute in (1, 2)
    )
    depth = Measurement("depth", 1.0, "", Better.NEITHER)
    deep = replace(run, result=replace(run.result, results=(depth,)))
    for sides in (([deep], [later]), ([later], [deep])):
        assert change_of(compare(*sides), "depth").verdict is None, sides
    assert compare([run], [later]).shared == ()
    assert compare([run, later], [later]).shared == ("run 2",)
    assert compare([later], [sample_of([MS] * 40, started=format_start(2), run=2)]).shared == ()
    unknown = sample_of([MS] * 40)
    assert compare_runs([unknown, unknown], [unknown]).shared == ()


def test_worse_and_better_together_are_worse() -> None:
    def run(ttft: int, tpot: int) -> Sample:
        tableless_sample = replace(sample_of([1000]), tables=None)
        times = {"ttft_p50": ttft, "tpot_p50": tpot}
        return having(
            tableless_sample, *(Measurement(*time, "ns", Better.LOWER) for time in times.items())
        )

    compared = compare([run(100, 100), run(101, 101)], [run(200, 50), run(201, 51)])
    assert compared.verdict is Verdict.WORSE
    words = compared.reason.split("; ")
    assert [sentence.split(" by ")[0] for sentence in words] == [
        "ttft_p50 is slower",
        "tpot_p50 is faster",
    ]


def test_the_median_step_decides_and_a_rate_far_off_is_mentioned_first() -> None:
    def sides(steps: tuple[float, ...], rates: tuple[float, ...]) -> list[Sample]:
        tableless_sample = replace(sample_of([1000]), tables=None)
        return [
            having(
                tableless_sample,
                Measurement("tokens_per_second", rate, "tokens/s", Better.HIGHER),
                Measurement("step_p50", step, "ns", Better.LOWER),
            )
            for step, rate in zip(steps, rates, strict=True)
        ]

    samples_before = sides((100.0, 108.0, 104.0), (50.0, 50.1, 49.9))
    compared = compare(samples_before, sides((104.0, 110.0, 100.0), (40.0, 40.1, 39.9)))
    assert [change.metric for change in compared.changes if change.deciding] == ["step_p50"]
    assert compared.verdict is Verdict.UNCLEAR
    assert compared.reason.startswith(
        "tokens_per_second is lower by 20.0 % ± 0.6, beyond your limit"
    )
    assert ", but is followed only. step_p50 has changed by " in compared.reason
    clear = compare(sides((100.0, 100.1, 100.2), (50.0,) * 3), sides((100.0,) * 3, (40.0,) * 3))
    assert clear.verdict is Verdict.EQUIVALENT
    assert clear.reason.startswith("step_p50 is equivalent within 3 %"), "what decides is clear"
    chosen = compare(samples_before, samples_before, Limits(metrics=("tokens_per_second",)))
    assert "and step_p50 would be sharper" in how_sure(chosen)


def test_heat_on_just_the_slower_side_makes_worse_unclear() -> None:
    heat = [Finding("thermal-pressure", Severity.WARNING, "The machine was hot.", "")]
    words = ", but thermal-pressure was found in b"
    for old, new, verdict, ending in (
        *(([], heat, Verdict.UNCLEAR, words), (heat, heat, Verdict.WORSE, "")),
        (heat, [], Verdict.WORSE, ""),
    ):
        sample_before = sample_of(noisy(MS), findings=old)
        compared = compare([sample_before], [sample_of(noisy(1.2 * MS, seed=2), "b", findings=new)])
        assert compared.reason.startswith("step_p50 is slower by "), (old, new)
        assert compared.reason.endswith(f"beyond your limit of 3 %{ending}."), (old, new)
        assert compared.verdict is verdict, (old, new)


def test_a_reason_that_metrics_share_is_given_once() -> None:
    def short(value: float) -> Sample:
        names = ("step_p50", "step_p99", "tokens_per_second")
        metrics = (Measurement(name, value, "ns", Better.LOWER) for name in names)
        return having(sample_of([MS] * 10), *metrics)

    compared = compare([short(MS)], [short(1.2 * MS)])
    _, _, rows = next(iter(shown(compared)))
    assert [row[-1] for row in rows] == ["unclear (1)"] * 3
    assert how_sure(compared).count("takes 20 steady steps") == 1


def test_neighbours_in_time_are_paired_only_where_runs_alternate() -> None:
    """Six runs of each side on a machine that slows by 4 % a run; after is +10 %."""
    sides: tuple[list[Sample], list[Sample]] = ([], [])
    for place in range(12):
        side = (place + place // 2) % 2  # A B, B A, A B, …
        length = round(MS * 1.04**place * (1.10 if side else 1.0))
        sides[side].append(sample_of([length] * 40, f"run {place}", started=format_start(place)))
    everything = sorted(itertools.chain(*sides), key=lambda run: run.result.provenance.started)
    for side in sides:
        random.Random(3).shuffle(side)
    paired = compare(*sides)
    step = change_of(paired)
    assert (paired.verdict, step.paired) == (Verdict.WORSE, True)
    assert step.change == pytest.approx(0.10, abs=0.01)
    assert width(paired) < 0.1
    apart = compare(everything[:6], everything[6:])
    assert not change_of(apart).paired
    assert "drift would look like a change" in how_sure(apart)


def test_a_change_beyond_the_limit_needs_a_second_session() -> None:
    def sides(*changes: float) -> tuple[list[Sample], list[Sample]]:
        runs: tuple[list[Sample], list[Sample]] = ([], [])
        for place, change in enumerate(changes):
            moments = (2 * place, 2 * place + 1)
            for side, moment, value in zip(
                runs, moments, (1000.0, 1000 + 1000 * change), strict=True
            ):
                tableless_sample = replace(
                    sample_of([1000], started=format_start(moment)), tables=None
                )
                side.append(
                    having(tableless_sample, Measurement("step_p50", value, "ns", Better.LOWER))
                )
        return runs

    session = (0.01, 0.04, 0.05, 0.02, 0.045, 0.05)
    for changes, first_count, unconfirmed, verdict in (
        (session, 0, True, Verdict.UNCLEAR),
        ((*session, *session), 0, True, Verdict.UNCLEAR),
        ((*session, *session), 6, False, Verdict.WORSE),
        ((*session, *[0.0] * 6), 6, False, Verdict.EQUIVALENT),
        ([-change for change in session], 0, True, Verdict.SLIGHTLY_BETTER),
        ([-change for change in (*session, *session)], 6, False, Verdict.BETTER),
        ([0.1 + change for change in session], 0, False, Verdict.WORSE),
        ([0.0] * 6, 0, False, Verdict.EQUIVALENT),
    ):
        compared = compare(*sides(*changes), first_session_pairs=first_count)
        row = (changes, first_count, compared.reason)
        assert compared.verdict is verdict, row
        assert is_unconfirmed(compared.changes, Limits()) is unconfirmed, row


@pytest.mark.parametrize("words", ["a", "a b c", "a vs", "vs b", "a vs b vs c", "a vs vs b"])
def test_invalid_comparisons_are_refused(words: str) -> None:
    a, b, c, vs = Path("a"), Path("b"), Path("c"), Path("vs")
    assert parse_sides([a, b]) == parse_sides([a, vs, b]) == ([a], [b])
    assert parse_sides([a, c, vs, b]) == ([a, c], [b])
    with pytest.raises(UsageError, match="several on both sides of a vs") as error:
        parse_sides([Path(word) for word in words.split()])
    assert "tracekit compare A1 A2 vs B1 B2" in error.value.hint


@pytest.fixture
def runs(imported: Path, tmp_path: Path) -> tuple[Path, Path]:
    pipeline.analyze(Recording(imported))
    other_run = tmp_path / "other"
    shutil.copytree(imported, other_run)
    change_provenance(other_run, started=format_start(0))
    return imported, other_run


def change_provenance(run: Path, **provenance: Any) -> None:
    recording = Recording(run)
    recording.save_provenance(replace(recording.provenance(), **provenance))
    pipeline.analyze(recording)


def test_runs_are_read_from_folders_and_results(runs: tuple[Path, Path], tmp_path: Path) -> None:
    folder, file = read_samples([runs[0] / "exports" / "..", runs[1] / "result.json"])
    assert (folder.name, file.name) == ("run", "other")
    assert folder.tables is not None
    assert file.tables is not None, "the tables beside a result are used"
    assert folder.result.metrics == file.result.metrics
    twin = runs[1].parent / "twins" / "run"
    shutil.copytree(runs[0], twin)
    first_name, second = (sample.name for sample in read_samples([runs[0], twin]))
    assert (first_name.endswith("/run"), second) == (True, "twins/run")
    alone = tmp_path / "kept" / "result.json"
    alone.parent.mkdir()
    shutil.copy(runs[0] / "result.json", alone)
    shutil.rmtree(runs[1] / "exports")
    for place in (alone, runs[1]):
        [sample] = read_samples([place])
        assert sample.tables is None, place
        assert "only its result is left" in sample.absence, place
    (runs[0] / "result.json").unlink()
    with pytest.raises(RecordingError, match="does not exist"):
        read_samples([runs[0]])
    with pytest.raises(RecordingError, match="is not a run's folder"):
        read_samples([tmp_path / "nothing"])


def test_all_names_are_left_out(runs: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOGNAME", "metal")
    for run, name in zip(runs, ("Ada", "Ada Air"), strict=True):
        toc = Recording(run).toc_file
        toc.write_text(re.sub(' name="Ada[^"]*"', f' name="{name}"', toc.read_text()))
    redact = redaction_of_runs([runs[0], runs[1] / "result.json"])
    assert redact("Ada Air and Ada") == "<device> and <device>"
    assert redact("metal in /Volumes/metal/x") == "metal in /Volumes/<user>/x"


def test_unlike_work_is_refused_unless_forced(runs: tuple[Path, Path]) -> None:
    change_provenance(runs[0], workload="sdpa", recorder="xctrace")
    change_provenance(runs[1], workload="paged", recorder="xctrace")
    samples_before, samples_after = (read_samples([run]) for run in runs)
    with pytest.raises(UsageError, match="workload is sdpa and paged") as error:
        compare_runs(samples_before, samples_after)
    assert "--force" in error.value.hint
    assert compare_runs(samples_before, samples_after, Limits(), force=True).void


def test_the_command_reports_each_metric(runs: tuple[Path, Path], tracekit: Any) -> None:
    change_provenance(runs[1], machine={"model": "MacBook Pro"})
    result = tracekit("compare", *runs)
    assert result.code == 0
    assert result.out.splitlines()[0].startswith(("Equivalent: ", "Unclear: "))
    assert "# metrics: run → other" in result.out
    assert "gpu_busy\t20 ns\t20 ns\t0.0 %" in result.out
    assert "model\tMacBook Air\tMacBook Pro" in result.out
    assert "--between" in result.err
    result = tracekit("compare", *runs, "--open")
    assert (result.code, "--html" in result.err) == (2, True)


def test_a_recording_counts_once(runs: tuple[Path, Path], tracekit: Any, tmp_path: Path) -> None:
    twin = tmp_path / "elsewhere" / "run"
    shutil.copytree(runs[0], twin)
    for words in ([runs[0], twin, "vs", runs[1]], [runs[1], "vs", runs[0], runs[0]]):
        refused = tracekit("compare", *words)
        assert (refused.code, "are the same recording" in refused.err) == (2, True), words
        assert tracekit("compare", *words, "--force").code == 0
    itself = tracekit("compare", runs[0], twin)
    assert (itself.code, "have the same recording: run." in itself.err) == (0, True)


def test_json_and_page_are_written(runs: tuple[Path, Path], tracekit: Any, tmp_path: Path) -> None:
    page = tmp_path / "compared.html"
    result = tracekit("compare", *runs, "--json", "--html", page)
    assert page.read_text().startswith("<!doctype html>")
    assert "Ada" not in page.read_text(), "the device's name stays out"
    assert str(page) in result.err
    document = json.loads(result.out)
    assert (document["format"], document["before"]) == (2, ["run"])
    assert {"verdict", "reason", "changes", "findings", "kernels", "environment"} <= set(document)
    [idle] = [change for change in document["changes"] if change["metric"] == "gpu_idle_ratio"]
    assert idle["values_before"] == idle["values_after"]
