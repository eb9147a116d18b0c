"""Whether something outside paces a loop; what else is said of loops, `test_exam.py` proves."""

import numpy as np

from tracekit.analysis.iterations import _falls


def test_a_rest_falls_with_the_work_where_the_slope_is_near_enough_and_known_well_enough() -> None:
    work = np.array([1.0, -1.0] * 5)
    beside = np.array([1.0] * 4 + [-1.0] * 4 + [0.0] * 2)
    # By ten iterations, less two, the standard error of the slope is the noise / √10.
    for slope, noise in ((-1, 0.0), (-0.76, 0.0), (-1.24, 0.0), (-1, 0.47)):
        assert _falls(work, slope * work + noise * beside)
    for slope, noise in ((-0.74, 0.0), (-1.26, 0.0), (-1, 0.48), (1, 0.0)):
        assert not _falls(work, slope * work + noise * beside)
    assert not _falls(np.ones(10), work)
