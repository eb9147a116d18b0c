"""The same rule by the median pair and the interval of a sign test, which presumes less."""

import math
import statistics
from collections import Counter
from collections.abc import Sequence

import numpy as np

from nights.noise import METRIC, Noise, pairs, tonight
from nights.ours import Design, Ended
from tracekit.base.paired import lower_rank
from tracekit.compare.paired import Interval
from tracekit.nightly.gate.changes import changes
from tracekit.nightly.gate.decision import Policy
from tracekit.nightly.history.night import Outcome


def judged_by_signs(design: Design, noise: Noise, effect: float, nights: int, seed: int) -> Ended:
    """Do many nights, as `judged_nights` does them."""
    random = np.random.default_rng(seed)
    threshold, policy = math.log1p(design.threshold), design.policy
    outcomes: list[Outcome] = []
    second = 0
    for _ in range(nights):
        slower = tonight(noise, effect, random)
        first = changes(pairs(noise, slower, design.count, 1, random), METRIC, "ratio")
        found = _shown(first)
        if not (_suspicious(found, threshold, policy) or _wide(found, threshold, policy)):
            outcomes.append(Outcome.OK)
            continue
        second += 1
        again = changes(pairs(noise, slower, design.count, 2, random), METRIC, "ratio")
        outcomes.append(_ended(first, again, threshold, policy))
    alarms = tuple(one is Outcome.REGRESSION for one in outcomes)
    return Ended(nights, Counter(outcomes), second, alarms)


def _ended(
    first: Sequence[float], again: Sequence[float], threshold: float, policy: Policy
) -> Outcome:
    found = _shown([*first, *again])
    alone = (statistics.median(one) >= policy.agreement * threshold for one in (first, again))
    if found.low > 0 and found.middle >= threshold:
        return Outcome.REGRESSION if all(alone) else Outcome.INCONCLUSIVE
    open_ = found.middle >= threshold or _wide(found, threshold, policy)
    return Outcome.INCONCLUSIVE if open_ else Outcome.OK


def _shown(found: Sequence[float]) -> Interval:
    ordered = sorted(found)
    rank = lower_rank(len(found)) or 1
    return Interval(statistics.median(ordered), ordered[rank - 1], ordered[-rank])


def _suspicious(found: Interval, threshold: float, policy: Policy) -> bool:
    significant = found.low > 0 and found.middle >= policy.agreement * threshold
    return significant or found.middle >= threshold


def _wide(found: Interval, threshold: float, policy: Policy) -> bool:
    return found.high - found.low > 2 * policy.spread * threshold
