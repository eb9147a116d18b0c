"""What other processes took of the cores while the steady window ran."""

import pandas as pd
import pytest

from tracekit.analysis.analyze import analyze
from tracekit.analysis.crowd import crowd_of, explain_crowd
from tracekit.base.recording import Provenance

MADE = Provenance(machine={"cores": 2})
WORDS = (
    "Other processes used 1.5 of 2 cores in the steady window, so its times are not those of an "
    "idle machine."
)


def samples(machine: float | None, target_cpu: float | None) -> dict[str, pd.DataFrame]:
    rows = {
        "time": [10, 20, 30],
        "machine": [machine] * 3,
        "cpu": [target_cpu] * 3,
        "memory": [1] * 3,
    }
    return {"process_samples": pd.DataFrame(rows)}


@pytest.mark.parametrize(
    ("machine", "own", "words"),
    [(2.0, 0.5, WORDS), (2.0, 1.9, ""), (1.0, 0.5, ""), (None, 0.5, ""), (2.0, None, "")],
)
def test_others_are_named_after_they_left_too_little(
    machine: float | None, own: float | None, words: str
) -> None:
    tables = samples(machine, own)
    assert explain_crowd(crowd_of(tables, MADE)) == words
    assert (words in analyze(tables, MADE).provenance.warnings) is bool(words)


def test_without_samples_or_cores_nothing_is_said() -> None:
    for tables, provenance in (({}, MADE), (samples(2.0, 0.5), Provenance())):
        assert crowd_of(tables, provenance) is None, (tables, provenance)
    assert explain_crowd(None) == ""
