"""The steps that count: the workload's steady ones, by its own marks."""

import pandas as pd

from tracekit.analysis.inject import Unavailable
from tracekit.told import IDLE


def steady_steps(steps: pd.DataFrame) -> pd.DataFrame:
    """Return the steps of the steady phase; raise Unavailable where there are none.

    A step that only waited for load is none.
    """
    steady = steps[steps["phase"] == "steady"]
    if "variant" in steady:
        steady = steady[steady["variant"].fillna("") != IDLE]
    if steady.empty:
        raise Unavailable("the workload made no step in its steady phase.")
    return steady


def variants(steps: pd.DataFrame) -> list[str]:
    """Return which of several compared things the steps are, sorted; none where all are alike."""
    if "variant" not in steps:
        return []
    return sorted(str(one) for one in steps["variant"].dropna().unique() if one)


def steady_tokens(steps: pd.DataFrame) -> int:
    """Return the tokens of the steady steps; raise Unavailable where there are none.

    Steps of several variants, which are compared, count together: their time does too.
    """
    tokens = int(steady_steps(steps)["tokens"].fillna(0).sum())
    if tokens == 0:
        raise Unavailable("the workload produces no tokens.")
    return tokens
