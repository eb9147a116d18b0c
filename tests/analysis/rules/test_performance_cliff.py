"""`performance-cliff`: a level of device time that rises from one iteration to the next."""

from collections.abc import Sequence

import pandas as pd
import pytest

from stock import Stock, jitter
from tracekit.analysis import RULES, Finding, Given, Severity, inject
from tracekit.base import Process, Provenance


def loop(works: Sequence[float], names: Sequence[str] = (), more: int = 0) -> Stock:
    """Let an iteration have two encoders of so much work; from half of them on, some more."""
    made, ends = Stock(), list[float]()
    for place, (work, factor) in enumerate(zip(works, jitter(len(works), 0.01), strict=True)):
        late = place >= len(works) // 2
        name = names[late] if names else ""
        pieces = [work * factor] * (2 + more * late)
        made.buffer(pieces, names=[name] if name else ())
        ends.append(made.done)
        made.wait(ends[max(0, len(ends) - 2)])
        made.spend(100)
    return made


def found(made: Stock) -> list[Finding]:
    known = Given(made.tables(), Provenance(targets=(Process(4711, "python3"),)))
    return list(inject(RULES["performance-cliff"].judge, known))


def test_a_level_that_rises_at_once_and_stays_is_a_note() -> None:
    [finding] = found(loop([2_000] * 30 + [3_000] * 30, ["affine_qmv_fast", "affine_qmm_t"]))
    assert finding.severity is Severity.NOTE
    # Work runs an iteration after it was handed over.
    assert "From iteration 32 of 60 on" in finding.message
    assert "1.5" in finding.message
    assert "new are “Command Buffer 0:affine_qmm_t”" in finding.message
    assert "no longer run “Command Buffer 0:affine_qmv_fast”" in finding.message
    assert "pad the shape" in finding.advice
    assert finding.saving == pytest.approx(30 * 2e6, rel=0.05)


def test_names_that_stay_are_said_and_default_ones_are_not() -> None:
    [same] = found(loop([2_000] * 30 + [3_000] * 30, ["gemm", "gemm"]))
    assert "The same kernels run" in same.message
    [unnamed] = found(loop([2_000] * 30 + [3_000] * 30))
    assert "kernels run" not in unnamed.message


@pytest.mark.parametrize(
    "works",
    [
        [2_000] * 60,
        [2_000] * 30 + [2_400] * 30,  # less than a quarter
        [2_000 + 50 * place for place in range(60)],  # a drift
        [3_000] * 30 + [2_000] * 30,  # it became faster
        [2_000] * 53 + [3_000] * 7,  # too short to be a level
        [2_000, 3_000] * 30,
    ],
)
def test_drifts_and_turns_are_no_cliff(works: list[float]) -> None:
    assert not found(loop(works))


@pytest.mark.parametrize(("more", "number"), [(2, 1), (3, 0)])
def test_far_more_pieces_are_other_work(more: int, number: int) -> None:
    made = loop([2_000] * 60, more=more)
    begins = pd.Series([row["start"] for row in made.rows["submissions"]])
    steps = pd.DataFrame({"start": begins, "duration": begins.diff().shift(-1).fillna(4e6)})
    steps = steps.astype({"duration": "Int64"}).assign(phase="steady", variant="", tokens=1)
    phases = pd.DataFrame({"name": ["steady"], "start": begins[:1], "duration": [made.done * 1e3]})
    tables = made.tables() | {"steps": steps, "phases": phases.astype({"duration": "int64"})}
    known = Given(tables, Provenance(targets=(Process(4711, "python3"),)))
    assert len(list(inject(RULES["performance-cliff"].judge, known))) == number


def test_a_lower_clock_or_another_process_explains_it() -> None:
    made = loop([2_000] * 30 + [3_000] * 30)
    half = made.done / 2
    made.add("gpu_performance_states", 0, half, state="Maximum", induced=True)
    made.add("gpu_performance_states", half, half, state="Medium", induced=True)
    assert not found(made)
    made = loop([2_000] * 30 + [3_000] * 30)
    cells = {"process": "other", "pid": 9, "target": False, "channel": "Fragment", "label": "x"}
    made.add("gpu_intervals", made.done / 2, made.done / 4, **cells)
    assert not found(made)
