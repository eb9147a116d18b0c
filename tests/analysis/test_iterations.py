"""Whether something outside paces a loop; what else is said of loops, `test_exam.py` proves."""

import numpy as np

from analysed import table
from tracekit.analysis.iterations import _falls, _shown


def test_a_rest_falls_with_the_work_where_the_slope_is_near_enough_and_known_well_enough() -> None:
    work = np.array([1.0, -1.0] * 5)
    beside = np.array([1.0] * 4 + [-1.0] * 4 + [0.0] * 2)
    # By ten iterations, less two, the standard error of the slope is the noise / √10.
    for slope, noise in ((-1, 0.0), (-0.76, 0.0), (-1.24, 0.0), (-1, 0.47)):
        assert _falls(work, slope * work + noise * beside)
    for slope, noise in ((-0.74, 0.0), (-1.26, 0.0), (-1, 0.48), (1, 0.0)):
        assert not _falls(work, slope * work + noise * beside)
    assert not _falls(np.ones(10), work)


def test_what_two_tables_tell_of_a_display_was_shown_once() -> None:
    rows = (1, True), (2, True), (3, None), (4, True)
    commits = table("time presents", *rows, unit=1, target=True)
    presents = table("time target", (0, True), (1, True), (2, True), (3, False), unit=1)
    assert _shown(commits, None, 1, 4) == _shown(commits, presents, 1, 4) == 2
    assert _shown(commits.assign(target=False), presents, 0, 4) == 3
