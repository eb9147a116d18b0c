"""`shader-spills`: registers that went to memory in the steady window."""

from collections.abc import Callable

import pandas as pd
import pytest

from analysed import intervals, judged, phases
from tracekit.analysis.inject import Unavailable
from tracekit.analysis.rule import Evidence, Finding, Severity

Make = Callable[..., pd.DataFrame]
MS = 1_000_000
KIB = 1_024


def spills(*rows: tuple[int, int | None, int], target: bool = True) -> pd.DataFrame:
    """Make the table of (time in ms, encoder, bytes)."""
    frame = pd.DataFrame(list(rows), columns=["time", "encoder", "spilled"])
    types = {"time": "int64", "encoder": "UInt64", "spilled": "Int64"}
    frame = frame.astype(types).assign(target=pd.array([target] * len(rows), dtype="boolean"))
    return frame.assign(time=frame["time"] * MS)


def labelled(**labels: int) -> pd.DataFrame:
    ids = pd.array(list(labels.values()), dtype="UInt64")
    return pd.DataFrame({"encoder": ids, "label": pd.array(list(labels), dtype="string")})


def judge(
    spills: pd.DataFrame | None, encoders: pd.DataFrame | None = None, **limits: float
) -> list[Finding]:
    work = {"gpu_intervals": intervals([(0, 200 * MS)]), "phases": phases(100 * MS, 100 * MS)}
    return judged("shader-spills", limits, shader_spills=spills, encoders=encoders, **work)


def test_spills_of_the_steady_window_are_found_and_named() -> None:
    table = spills((50, 6, 999 * KIB), (110, 7, 3 * KIB), (120, 8, KIB), (130, 9, 4 * KIB))
    [finding] = judge(table, labelled(sdpa=7, norm=8, gemm=9))
    assert (finding.severity, finding.saving) == (Severity.WARNING, None)
    assert finding.message == (
        "Shaders of the target spilled registers in 3 encoders of the steady window: 8 KiB in "
        "all, 3 KiB in the median. By label: gemm 50.0 %, sdpa 37.5 %, norm 12.5 %."
    )
    assert finding.evidence == (
        Evidence("shader_spills", 130 * MS, 130 * MS, "4 KiB"),
        Evidence("shader_spills", 110 * MS, 110 * MS, "3 KiB"),
        Evidence("shader_spills", 120 * MS, 120 * MS, "1 KiB"),
    )


@pytest.mark.parametrize(
    ("rows", "encoders", "words"),
    [
        ([(110, 7, KIB), (120, 7, KIB)], None, "in 1 encoder of the steady window: 2 KiB"),
        ([(100, None, KIB), (200, None, KIB)], None, "in 2 encoders"),
        ([(110, 7, KIB)], labelled(sdpa=1), "1 KiB in the median."),
        (
            [(110, number, KIB) for number in range(1, 6)],
            labelled(a=1, b=2, c=3, d=4, e=5),
            "By label: a 20.0 %, b 20.0 %, c 20.0 % and 2 more.",
        ),
    ],
)
def test_encoders_are_counted_once_and_the_first_named(
    rows: list[tuple[int, int | None, int]], encoders: pd.DataFrame | None, words: str
) -> None:
    [finding] = judge(spills(*rows), encoders)
    assert words in finding.message
    assert ("By label" in finding.message) == ("By label" in words)


@pytest.mark.parametrize(
    "table",
    [
        spills(),
        spills((50, 7, KIB), (99, 7, KIB), (201, 7, KIB)),
        spills((110, 7, 0)),
        spills((110, 7, KIB), target=False),
    ],
)
def test_nothing_is_said_where_the_target_spilled_nothing(table: pd.DataFrame) -> None:
    assert not judge(table)


def test_the_limit_is_in_bytes() -> None:
    assert not judge(spills((110, 7, KIB)), limit=KIB)
    assert judge(spills((110, 7, KIB)), limit=KIB - 1)


def test_it_abstains_where_spills_are_not_recorded() -> None:
    with pytest.raises(Unavailable, match="new with the Instruments of Xcode 27"):
        judge(None)
