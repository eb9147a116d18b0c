"""What exit codes say to a script, and to `git bisect run`."""

import pytest

from tracekit.cli.console import bisect_code


@pytest.mark.parametrize(
    ("code", "told"),
    [
        pytest.param(0, 0, id="good"),
        pytest.param(1, 1, id="bad"),
        pytest.param(2, 130, id="usage"),
        pytest.param(3, 125, id="failed"),
        pytest.param(4, 125, id="inconclusive"),
        pytest.param(70, 198, id="our-bug"),
        pytest.param(125, 125, id="skipped-already"),
        pytest.param(127, 255, id="no-such-program"),
        pytest.param(130, 130, id="interrupted"),
        pytest.param(255, 255, id="highest"),
    ],
)
def test_git_is_told_what_it_takes_codes_for(code: int, told: int) -> None:
    assert bisect_code(code) == told
