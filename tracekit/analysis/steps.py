"""The steps that count: the workload's steady ones, by its own marks."""

import pandas as pd

from tracekit.analysis.coverage import Coverage
from tracekit.analysis.inject import Unavailable
from tracekit.analysis.intervals import spans
from tracekit.base.units import percent
from tracekit.workload.workload import IDLE

_UNSEEN = 0.05
_PREFILL = "prefill"


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


def require_seen(steady: pd.DataFrame, own: pd.DataFrame) -> None:
    """Raise Unavailable where device work of the target is missing in steady steps.

    What the device did for the steps that were recorded must not be set against all of them.
    """
    unseen = Coverage.of(*spans(own)).within(*spans(steady)) == 0
    if unseen.mean() > _UNSEEN:
        raise Unavailable(
            f"{percent(float(unseen.mean()))} of the steady steps have no interval of the target: "
            f"the capture does not show all of their work."
        )


def of_a_server(
    steps: pd.DataFrame, requests: pd.DataFrame | None, told: pd.DataFrame | None
) -> bool:
    """Tell whether a server made the steps: it has requests, prefills prompts, waits for load.

    Args:
        steps: The table of that name.
        requests: The same.
        told: The table `spans`.
    """
    if requests is not None and not requests.empty:
        return True
    if told is not None and (told["name"] == _PREFILL).any():
        return True
    return "variant" in steps and bool((steps["variant"] == IDLE).any())
