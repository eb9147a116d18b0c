"""`impossible-rows`: each breach of a law is a finding, with what becomes unsure."""

from dataclasses import replace

import numpy as np
import pytest

from analysed import Golden, given
from tracekit.analysis.inject import Unavailable, inject
from tracekit.analysis.physics.laws import LAWS, Breach, Cost, Stake
from tracekit.analysis.rules import RULES
from typed_rows import frame

MS = 1_000_000
rule = RULES["impossible-rows"].judge
ONE = Breach(
    LAWS["outlasts-report"],
    "gpu_intervals",
    np.array([357 * MS]),
    np.array([507 * MS]),
    Stake.DEVICE,
    0.001,
    np.array([149 * MS]),
    Cost.LENGTH,
)
SEVERAL = Breach(
    LAWS["reported-before-commit"],
    "completions",
    np.array([3, 4]) * MS,
    np.array([3, 4]) * MS,
    Stake.WAYS,
    0.02,
    np.array([10_000, 20_000]),
)
AT_ODDS = replace(SEVERAL, share=0.4, cost=Cost.NOTHING, witness="commits")
MISSING = Breach(
    LAWS["missing-number"],
    "encoders",
    np.array([876 * MS]),
    np.array([876 * MS]),
    Stake.ENCODING,
    0.02,
    cost=Cost.NOTHING,
    missing=16,
)


def test_each_law_is_named_with_its_first_row_and_its_doubts(golden: Golden) -> None:
    golden(*rule((ONE, SEVERAL, AT_ODDS, MISSING)))


def test_they_are_facts() -> None:
    [finding] = rule((SEVERAL,))
    assert (finding.fact("rows"), finding.fact("law"), finding.fact("excess")) == (
        2,
        "reported-before-commit",
        20_000,
    )
    assert [(evidence.start, evidence.end) for evidence in finding.evidence] == [
        (3 * MS, 3 * MS),
        (4 * MS, 4 * MS),
    ]


def test_a_few_missing_rows_are_not_spoken_of() -> None:
    assert list(rule((replace(MISSING, share=0.00125),))) == []
    [note] = rule((MISSING,))
    assert note.severity == "note"


def test_laws_are_unknown_without_a_table_of_a_trace() -> None:
    with pytest.raises(Unavailable, match="no table of a trace"):
        inject(rule, given(steps=frame("steps", [])))
    assert list(inject(rule, given(gpu_intervals=frame("gpu_intervals", [])))) == []
