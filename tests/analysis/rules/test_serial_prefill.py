"""`serial-prefill`: prompts that stop the others' tokens."""

from collections.abc import Callable

import pandas as pd
import pytest

from tracekit.analysis.inject import Unavailable
from tracekit.analysis.rule import Evidence, Finding
from tracekit.analysis.rules import RULES

Make = Callable[..., pd.DataFrame]
MS = 1_000_000
Spans = list[tuple[str, int, int]]
DECODES: Spans = [("decode", at, 5) for at in (20, 25, 60, 65, 70, 75, 80, 85, 90, 95)]


def host_spans(rows: Spans) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "name": pd.array([name for name, _, _ in rows], dtype="string"),
            "start": pd.array([start * MS for _, start, _ in rows], dtype="int64"),
            "duration": pd.array([length * MS for _, _, length in rows], dtype="Int64"),
        }
    )


def requests(rows: list[tuple[int, int | None, int | None]]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "start": pd.array([start * MS for start, _, _ in rows], dtype="int64"),
            "first_token": pd.array(
                [None if one is None else one * MS for _, one, _ in rows], dtype="Int64"
            ),
            "last_token": pd.array(
                [None if one is None else one * MS for _, _, one in rows], dtype="Int64"
            ),
        }
    )


def judge(
    annotations: Spans,
    asked: list[tuple[int, int | None, int | None]],
    phases: Make,
    **limits: float,
) -> list[Finding]:
    rule = RULES["serial-prefill"].judge
    return list(rule(host_spans(annotations), requests(asked), phases(0, 100 * MS), **limits))


def test_a_prompt_that_stops_the_others_is_found(phases: Make) -> None:
    annotations = [("prefill", 5, 15), *DECODES, ("prefill", 30, 30)]
    [finding] = judge(annotations, [(0, 20, 100), (10, None, None)], phases)
    assert "37.5 % of the time in which requests were decoding (30 ms of 80 ms)" in (
        finding.message
    )
    assert "prefilled alone: 1 stall, the longest 30 ms" in finding.message
    assert "a decode takes 5 ms" in finding.message
    assert finding.evidence == (Evidence("spans", 30 * MS, 60 * MS),)
    assert finding.saving is None


def test_a_prompt_alone_stops_nobody(phases: Make) -> None:
    assert not judge([("prefill", 5, 15), *DECODES], [(0, 20, 100)], phases)


def test_prefill_beside_decode_stops_nobody(phases: Make) -> None:
    annotations = [*DECODES, ("prefill", 60, 30)]
    assert not judge(annotations, [(0, 20, 100)], phases)


def test_short_pieces_are_passed(phases: Make) -> None:
    annotations = [*DECODES, ("prefill", 30, 9), ("prefill", 45, 9)]
    assert not judge(annotations, [(0, 20, 100)], phases)
    assert judge(annotations, [(0, 20, 100)], phases, stall=1.0)
    assert not judge(annotations, [(0, 20, 100)], phases, stall=1.0, limit=0.5)


def test_without_requests_or_spans_nothing_is_claimed(phases: Make) -> None:
    with pytest.raises(Unavailable, match="named prefill and decode"):
        judge([("allocate", 0, 5)], [(0, 20, 100)], phases)
    with pytest.raises(Unavailable, match="more than one token"):
        judge([("prefill", 5, 15), *DECODES], [(0, 20, 20), (5, None, None)], phases)
