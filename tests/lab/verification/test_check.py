"""Files with a check: what is loaded of them, and what is refused."""

import sys
from pathlib import Path

import numpy as np
import pytest

from tracekit.base.errors import InputError, UsageError
from tracekit.lab.msl.program import ThreadOrder
from tracekit.lab.verification.check import Check, Declared, check_subjects, load

HEAD = "from tracekit.lab import Check, check\nimport numpy as np\n"
GOOD = """
@check(each={"size": (1, 2), "dtype": ("float16", "float32")})
def doubled_rows(size: int = 1, dtype: str = "float16", seed: int = 0) -> Check:
    return Check(run=lambda: np.ones(size), expected=np.ones(size), bound=0)
"""
BARE = "@check\ndef bare() -> Check:\n    return Check(lambda: 1, 1, 0)\n"


def _load_check(folder: Path, text: str) -> Declared:
    file = folder / "mine.py"
    file.write_text(HEAD + text)
    return load(file)


def test_every_case_of_a_check_is_tried_unless_one_is_chosen(tmp_path: Path) -> None:
    declared = _load_check(tmp_path, GOOD)
    assert declared.name == "doubled-rows"
    small_check = declared.check({"size": 3})
    assert (small_check.run().shape, small_check.loaded) == ((3,), {})
    halves = {"size": 5, "dtype": "float16"}
    assert declared.cases({"size": 5}) == [halves, {"size": 5, "dtype": "float32"}]
    assert len(declared.cases({})) == 4
    assert declared.cases({**halves, "seed": 1}) == [{**halves, "seed": 1}]
    assert _load_check(tmp_path, BARE).cases({}) == [{}]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "has 0 functions marked @check"),
        (GOOD + BARE, "has 2 functions marked @check"),
        ("raise SystemExit\n", "cannot be loaded: SystemExit"),
        ("@check\ndef seven():\n    return 7\n", "returned int, which is not a Check"),
    ],
)
def test_a_file_without_one_check_is_refused(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        _load_check(tmp_path, text).check({})


LATE = """
from reference import first

@check
def late() -> Check:
    from reference import second
    return Check(run=lambda: __import__("reference").THIRD, expected=first + second, bound=0)
"""


def test_a_check_imports_its_neighbours_at_any_time(tmp_path: Path) -> None:
    (tmp_path / "reference.py").write_text("first = 1\nsecond = 2\nTHIRD = []\n")
    declared = _load_check(tmp_path, LATE)
    assert "reference" not in sys.modules
    (subject,) = check_subjects(declared, {}, 0)
    assert subject.expected == (3,)
    with pytest.raises(InputError, match="launches no kernel"):  # it ran, and its import as well
        subject.launch(ThreadOrder.ASCENDING, False)
    assert "reference" not in sys.modules


def test_a_bound_is_a_number_of_at_least_0() -> None:
    for bound in ("1e-5", None, -1e-9, float("nan"), float("inf")):
        with pytest.raises(UsageError, match="bound of a check must be a number of at least 0; it"):
            Check(lambda: 1, 1, bound)
    assert Check(lambda: 1, 1, np.float32(0)).bound == 0
