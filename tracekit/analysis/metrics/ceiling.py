"""What the steps would reach if the device never waited: the ceiling that kernels set."""

import pandas as pd

from tracekit.analysis.coverage import Coverage
from tracekit.analysis.inject import Unavailable
from tracekit.analysis.intervals import spans
from tracekit.analysis.metric import metric
from tracekit.analysis.result import Better
from tracekit.analysis.steps import require_seen, steady_steps, steady_tokens, variants
from tracekit.analysis.target import of_target

_SECOND = 1e9


@metric("tokens/s", Better.HIGHER)
def kernel_ceiling(
    steps: pd.DataFrame, loaded: pd.DataFrame, gpu_intervals: pd.DataFrame, targets: pd.DataFrame
) -> float:
    """Tokens of the steady steps over the time in which the device ran for the target.

    It is what `tokens_per_second` would be without any waiting, at these kernels' speed.
    """
    tokens, ran = tokens_and_time(steps, loaded, gpu_intervals, targets)
    return tokens / (ran / _SECOND)


def tokens_and_time(
    steps: pd.DataFrame, loaded: pd.DataFrame, gpu_intervals: pd.DataFrame, targets: pd.DataFrame
) -> tuple[int, int]:
    """Return the tokens of the steady steps, and the loaded ns in which the device ran.

    Raises:
        Unavailable: Steps make no tokens or are of several variants, or have no device work.
    """
    own = of_target(gpu_intervals, targets)
    if len(variants(steady_steps(steps))) > 1:
        raise Unavailable("steps are of several variants, which are compared, not summed.")
    tokens = steady_tokens(steps)
    require_seen(steady_steps(steps), own)
    ran = int(Coverage.of(*spans(own)).within(*spans(loaded)).sum())
    if ran == 0:
        raise Unavailable("no interval of the target ran while there was load.")
    return tokens, ran
