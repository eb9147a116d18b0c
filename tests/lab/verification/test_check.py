from pathlib import Path

import numpy as np
import pytest

from tracekit.base.errors import InputError, UsageError
from tracekit.lab.verification.check import Check, load

HEAD = "from tracekit.lab import Check, check\nimport numpy as np\n"
GOOD = '''
@check(each={"size": (1, 2), "dtype": ("float16", "float32")})
def doubled_rows(size: int = 1, dtype: str = "float16", seed: int = 0) -> Check:
    """Double an array.

    More words.
    """
    return Check(run=lambda: np.ones(size), expected=np.ones(size), bound=0)
'''


def _file(folder: Path, text: str) -> Path:
    file = folder / "mine.py"
    file.write_text(HEAD + text)
    return file


def test_a_check_is_found_with_its_name_and_words(tmp_path: Path) -> None:
    declared = load(_file(tmp_path, GOOD))
    assert declared.name == "doubled-rows"
    made = declared.check({"size": 3})
    assert made.run().shape == (3,)
    assert made.loaded == {}


def test_every_case_is_tried_unless_one_is_chosen(tmp_path: Path) -> None:
    declared = load(_file(tmp_path, GOOD))
    assert declared.cases({"size": 5}) == [
        {"size": 5, "dtype": "float16"},
        {"size": 5, "dtype": "float32"},
    ]
    assert len(declared.cases({})) == 4
    assert declared.cases({"size": 5, "dtype": "x", "seed": 1}) == [
        {"size": 5, "dtype": "x", "seed": 1}
    ]


def test_a_bare_decorator_has_one_case(tmp_path: Path) -> None:
    text = "@check\ndef one() -> Check:\n    return Check(lambda: 1, 1, 0)\n"
    assert load(_file(tmp_path, text)).cases({}) == [{}]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "has 0 functions marked @check"),
        (GOOD + GOOD.replace("doubled_rows", "other"), "has 2 functions marked @check"),
        ("import nothing_of_this_name\n", "cannot be loaded: ModuleNotFoundError"),
        ("raise SystemExit\n", "cannot be loaded: SystemExit"),
        ("def f(:\n", "cannot be loaded: SyntaxError"),
    ],
)
def test_a_file_without_one_check_is_told(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        load(_file(tmp_path, text))


def test_what_returns_no_check_is_told(tmp_path: Path) -> None:
    declared = load(_file(tmp_path, "@check\ndef one():\n    return 7\n"))
    with pytest.raises(InputError, match="returned int, which is no Check"):
        declared.check({})


@pytest.mark.parametrize("bound", ["1e-5", None, -1e-9, float("nan"), float("inf")])
def test_a_bound_that_is_none_is_one_sentence(bound: object) -> None:
    with pytest.raises(UsageError, match="bound of a check must be a number of at least 0; it is"):
        Check(lambda: 1, 1, bound)  # type: ignore[arg-type]
    assert Check(lambda: 1, 1, np.float32(0)).bound == 0
