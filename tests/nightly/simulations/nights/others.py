"""The gates that others use: what tonight is compared with are the nights before.

Each takes logarithms of runs, histories x nights x runs, the last night being the one that is
judged, and returns whether it raises an alarm in each history. They are written from what their
documentation says, at the thresholds that it names, and none of their code runs here.
"""

import math
from collections.abc import Callable, Mapping
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from nights.divisive import change_points
from nights.noise import Floats

Alarms = NDArray[np.bool_]
Gate = Callable[[Floats], Alarms]
_THREE = math.log(1.03)
_MAD = 1.4826


def single_run(logs: Floats) -> Alarms:
    """One run a night, 10 % slower than last night's."""
    return logs[:, -1, 0] - logs[:, -2, 0] > math.log(1.10)


def mean(logs: Floats) -> Alarms:
    """The night's mean, 5 % slower than last night's."""
    means = np.exp(logs).mean(axis=-1)
    return means[:, -1] > 1.05 * means[:, -2]


def outside_range(logs: Floats) -> Alarms:
    """The night's median, 3 % slower than the slowest of three runs of a reference night."""
    spread_out = np.linspace(0, logs.shape[2] - 1, 3).astype(int)
    return np.median(logs[:, -1], axis=-1) > logs[:, 0, spread_out].max(axis=-1) + _THREE


def mann_whitney(logs: Floats) -> Alarms:
    """Tonight's runs against those of seven nights in one pool: p < 0.05, medians 3 % apart."""
    before = logs[:, -8:-1].reshape(len(logs), -1)
    new, old = logs[:, -1].shape[1], before.shape[1]
    above = (logs[:, -1, :, None] > before[:, None, :]).sum(axis=(1, 2))
    z = (above - new * old / 2) / math.sqrt(new * old * (new + old + 1) / 12)
    apart = np.median(logs[:, -1], axis=-1) - np.median(before, axis=-1)
    return (z > NormalDist().inv_cdf(0.975)) & (apart > _THREE)


def robust_z(logs: Floats) -> Alarms:
    """The night's median, three robust deviations above those of 14 nights, and 3 %."""
    medians = np.median(logs, axis=-1)
    before, tonight = medians[:, -15:-1], medians[:, -1]
    middle = np.median(before, axis=-1)
    deviation = _MAD * np.median(np.abs(before - middle[:, None]), axis=-1)
    return (tonight - middle > 3 * deviation) & (tonight - middle > _THREE)


def divisive(logs: Floats) -> Alarms:
    """E-divisive over the nights' medians finds a change that begins tonight: p < 0.001, 3 %."""
    last = logs.shape[1] - 1
    medians = np.median(logs, axis=-1)
    found = (change_points(one, _THREE) for one in medians)
    slower = medians[:, -1] > np.median(medians[:, :-1], axis=-1)
    return np.array([last in points for points in found]) & slower


GATES: Mapping[str, Gate] = {
    "one run, 10 % above last night's": single_run,
    "mean, 5 % above last night's": mean,
    "3 % above the range of 3 runs": outside_range,
    "Mann-Whitney on 7 pooled nights, 3 %": mann_whitney,
    "robust z > 3 over 14 nights, 3 %": robust_z,
    "E-divisive over 30 nights, p < 0.001, 3 %": divisive,
}
