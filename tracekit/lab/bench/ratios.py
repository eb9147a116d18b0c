"""Ratios of subjects of a bench: their speed-up, and the verdict on it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from tracekit.base import (
    Verdict,
    paired,
    verdicts,
)
from tracekit.lab.bench.document import (
    BenchRow,
    SubjectRatio,
)
from tracekit.lab.bench.inputs import (
    Subject,
)


def compare_rows(
    rows: Sequence[BenchRow], subjects: Sequence[Subject], against: str | None, threshold: float
) -> list[BenchRow]:
    """Fill in each row's speed-up against its family's naive subject, and against `against`.

    The latter has a verdict, by a threshold: the least change of the time that matters.
    """
    rows_by_name = {row.name: row for row in rows}
    naive_subjects = {subject.family: subject.name for subject in subjects if subject.naive}
    compared_rows: list[BenchRow] = []
    for row in rows:
        speed_up = _compare_row(row, naive_subjects.get(row.family), rows_by_name)
        ratio = _compare_row(row, against, rows_by_name)
        judged_ratio = _judge_ratio(ratio, row, threshold)
        compared_rows.append(replace(row, speed_up=speed_up, against=judged_ratio))
    return compared_rows


def _compare_row(
    row: BenchRow, reference: str | None, rows: Mapping[str, BenchRow]
) -> SubjectRatio | None:
    if reference is None or reference == row.name or row.micro is None:
        return None
    base = rows.get(reference)
    if base is not None and base.family != row.family:
        return None  # those of another family do other work
    if base is None or base.micro is None:
        return SubjectRatio(reference, reason=f"{reference} was not measured")
    return quicker(row.micro.samples, base.micro.samples, reference)


def _judge_ratio(
    ratio: SubjectRatio | None, row: BenchRow, threshold: float
) -> SubjectRatio | None:
    """Return a comparison with its verdict: the rule of all comparisons, on the time of a call."""
    if ratio is None or ratio.median is None:
        return ratio
    if ratio.low is None or ratio.high is None:
        pairs_doubt = f"{ratio.pairs} pairs count, and an interval takes {paired.least_pairs()}"
        return replace(ratio, verdict=Verdict.UNCLEAR, doubt=pairs_doubt, threshold=threshold)
    if row.disturbed:
        doubt = f"{row.disturbed} meanwhile"
        return replace(ratio, verdict=Verdict.UNCLEAR, doubt=doubt, threshold=threshold)
    log_median = math.log(ratio.median)
    log_low = math.log(ratio.low)
    log_high = math.log(ratio.high)
    logarithms = verdicts.Interval(log_median, log_low, log_high)
    log_threshold = math.log1p(threshold)
    verdict, doubt = verdicts.verdict_of(logarithms.orient(-1), log_threshold)
    doubt_text = ""
    if doubt:
        doubt_text = doubt.format(limit=verdicts.Shown("ratio", "ns").limit(threshold))
    return replace(ratio, verdict=verdict, doubt=doubt_text, threshold=threshold)


def quicker(ours: Sequence[float], theirs: Sequence[float], reference: str) -> SubjectRatio:
    """Compare samples of the same rounds: how many times as long the other takes."""
    pairs = min(len(ours), len(theirs))
    our_samples = ours[:pairs]
    their_samples = theirs[:pairs]
    if min((*our_samples, *their_samples), default=0) <= 0:
        return SubjectRatio(reference, reason="a sample took no time that this clock can see")
    ratio = paired.paired_ratio(their_samples, our_samples)
    return SubjectRatio(reference, ratio.median, ratio.lower_bound, ratio.upper_bound, ratio.pairs)
