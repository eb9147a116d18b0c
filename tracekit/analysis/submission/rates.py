"""How many of something a step or a token costs."""

import pandas as pd

from tracekit.analysis.inject import Unavailable
from tracekit.analysis.steps import steady_steps, steady_tokens
from tracekit.base.units import count


def each(number: int, steps: pd.DataFrame | None) -> str:
    """Say how many that are per steady step and per token; nothing where neither is known."""
    if steps is None:
        return ""
    try:
        per_step = number / len(steady_steps(steps))
    except Unavailable:
        return ""
    said = f", {count(per_step)} per step"
    try:
        return f"{said} and {count(number / steady_tokens(steps))} per token"
    except Unavailable:
        return said
