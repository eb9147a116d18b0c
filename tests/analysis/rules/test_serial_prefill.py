"""`serial-prefill`: prompts that stop the others' tokens; times in ms."""

from typing import Any

import pandas as pd
import pytest

from analysed import judged, phases
from tracekit.analysis.inject import Unavailable
from tracekit.analysis.rule import Evidence, Finding

MS = 1_000_000
Spans = list[tuple[str, int, int]]
Asked = list[tuple[int, int | None, int | None]]
DECODES: Spans = [("decode", at, 5) for at in (20, 25, 60, 65, 70, 75, 80, 85, 90, 95)]
ASKED: Asked = [(0, 20, 100)]


def in_ns(rows: Any, *columns: str) -> pd.DataFrame:
    frame = pd.DataFrame(list(rows), columns=list(columns))
    times = {one: frame[one].astype("Int64") * MS for one in columns if one != "name"}
    return frame.assign(**{**times, "start": times["start"].astype("int64")})


def judge(spans: Spans, asked: Asked = ASKED, **limits: float) -> list[Finding]:
    requests = in_ns(asked, "start", "first_token", "last_token")
    tables = {"spans": in_ns(spans, "name", "start", "duration"), "requests": requests}
    return judged("serial-prefill", limits, phases=phases(0, 100 * MS), **tables)


def test_a_prompt_that_stops_the_others_is_found() -> None:
    spans = [("prefill", 5, 15), *DECODES, ("prefill", 30, 30)]
    [finding] = judge(spans, [*ASKED, (10, None, None)])
    said = "For 37.5 % of the time in which requests were decoding (30 ms of 80 ms)"
    assert finding.message.startswith(said)
    assert "prefilled alone: 1 stall, the longest 30 ms" in finding.message
    assert "a decode takes 5 ms" in finding.message
    assert finding.evidence == (Evidence("spans", 30 * MS, 60 * MS),)
    assert finding.saving is None


@pytest.mark.parametrize(
    "prefills",
    [[("prefill", 5, 15)], [("prefill", 60, 30)], [("prefill", 30, 10), ("prefill", 45, 10)]],
)
def test_a_prompt_alone_beside_decodes_or_in_short_pieces_stops_nobody(prefills: Spans) -> None:
    assert not judge([*DECODES, *prefills])


def test_thresholds_can_be_set() -> None:
    spans = [*DECODES, ("prefill", 30, 9), ("prefill", 45, 9)]
    assert judge(spans, stall=1.0)
    assert not judge(spans, stall=1.0, limit=0.5)


def test_without_requests_or_spans_nothing_is_claimed() -> None:
    with pytest.raises(Unavailable, match="named prefill and decode"):
        judge([("allocate", 0, 5)])
    with pytest.raises(Unavailable, match="more than one token"):
        judge([("prefill", 5, 15), *DECODES], [(0, 20, 20), (5, None, None)])
