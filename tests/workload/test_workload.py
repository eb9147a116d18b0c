from pathlib import Path
from typing import Any

import pytest

from tracekit.base.errors import InputError, UsageError
from tracekit.workload.workload import Step, Workload, all_workloads, find, folders, load

GEMM = '''
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

import typer

from tracekit.workload import Step, workload


class Order(StrEnum):
    ROW = "row"
    COLUMN = "column"


@workload
def gemm_chain(
    rows: Annotated[int, typer.Option(min=1, max=9, help="Rows.")],
    scale: float = 1.0,
    dtype: Literal["float16", "float32"] = "float32",
    order: Order = Order.ROW,
    ragged: bool = False,
    weights: Path = Path("weights"),
    rest=None,
) -> Step:
    """Multiply matrices.

    More of it.
    """
    return Step(submit=lambda: None, wait=lambda _: None, backend="cpu")
'''


@pytest.fixture
def gemm(tmp_path: Path) -> Workload:
    file = tmp_path / "gemm_chain.py"
    file.write_text(GEMM)
    return load(file)


def test_a_file_is_a_workload(gemm: Workload, tmp_path: Path) -> None:
    assert gemm.name == "gemm-chain"
    assert gemm.summary == "Multiply matrices."
    assert gemm.file == tmp_path / "gemm_chain.py"
    names = ["rows", "scale", "dtype", "order", "ragged", "weights", "rest"]
    assert list(gemm.parameters) == names


def test_values_become_the_functions_own_types(gemm: Workload) -> None:
    bound = gemm.bind(
        {
            "rows": "4",
            "scale": 2,
            "dtype": "float16",
            "order": "column",
            "ragged": "true",
            "weights": "w.npy",
            "rest": {"anything": 1},
        }
    )
    assert bound == {
        "rows": 4,
        "scale": 2.0,
        "dtype": "float16",
        "order": "column",
        "ragged": True,
        "weights": Path("w.npy"),
        "rest": {"anything": 1},
    }
    assert type(bound["order"]).__name__ == "Order"
    assert isinstance(bound["scale"], float)


@pytest.mark.parametrize(
    ("given", "sentence", "hint"),
    [
        pytest.param({}, "needs --rows", "", id="missing"),
        pytest.param({"rows": 1, "row": 2}, "no parameter 'row'", "mean rows", id="unknown"),
        pytest.param({"rows": 1, "zzz": 2}, "no parameter 'zzz'", "It has: rows", id="strange"),
        pytest.param({"rows": 0}, "--rows must be at least 1; it is 0.", "", id="too small"),
        pytest.param({"rows": 10}, "--rows must be at most 9; it is 10.", "", id="too large"),
        pytest.param({"rows": "x"}, "--rows cannot be 'x'", "", id="no number"),
        pytest.param({"rows": 1.5}, "--rows cannot be 1.5", "", id="half a row"),
        pytest.param({"rows": 1, "dtype": "int8"}, "--dtype cannot be 'int8'", "", id="choice"),
        pytest.param({"rows": 1, "order": "z"}, "--order cannot be 'z'", "", id="enum"),
    ],
)
def test_a_bad_value_is_one_sentence(
    gemm: Workload, given: dict[str, Any], sentence: str, hint: str
) -> None:
    with pytest.raises(UsageError) as caught:
        gemm.bind(given)
    assert sentence in caught.value.message
    assert hint in caught.value.hint


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        pytest.param("x = 1", "has 0 functions marked @workload", id="none"),
        pytest.param(GEMM + "\nother = workload(lambda: 1)\n", "has 2 functions", id="two"),
        pytest.param("import nothing_like_it", "cannot be loaded: ModuleNotFound", id="import"),
        pytest.param("def (", "cannot be loaded: SyntaxError", id="syntax"),
    ],
)
def test_a_file_that_is_no_workload_is_told(tmp_path: Path, text: str, sentence: str) -> None:
    file = tmp_path / "broken.py"
    file.write_text(text)
    with pytest.raises(InputError, match=sentence):
        load(file)


def test_a_users_folder_is_searched_first(tmp_path: Path) -> None:
    (tmp_path / "paged.py").write_text(GEMM.replace("gemm_chain", "paged"))
    assert find("paged", tmp_path).file == tmp_path / "paged.py"
    assert [one.file for one in all_workloads(tmp_path) if one.name == "paged"] == [
        tmp_path / "paged.py"
    ]
    assert folders(tmp_path)[0] == tmp_path


def test_a_missing_workload_names_those_that_are_there(gemm: Workload) -> None:
    with pytest.raises(UsageError, match="There is no workload 'zero'") as caught:
        find("zero", gemm.file.parent)
    assert caught.value.hint.startswith("There are: bubbles, churn, command, flash, gemm-chain, ")
    assert "paged-vs-sdpa" in caught.value.hint
    assert caught.value.hint.endswith("`--workloads DIR` adds a folder of your own.")


@pytest.mark.parametrize(
    ("name", "meant"), [("page", "paged"), ("commands", "command"), ("rmsnorm", "rmsnorm-linear")]
)
def test_a_misspelt_workload_has_its_name_told(name: str, meant: str) -> None:
    with pytest.raises(UsageError) as caught:
        find(name)
    assert caught.value.hint == f"Did you mean {meant}?"


def test_a_function_that_returns_no_step_is_told(tmp_path: Path) -> None:
    text = (
        "from tracekit.workload.workload import workload\n@workload\ndef lost():\n    return 42\n"
    )
    (tmp_path / "lost.py").write_text(text)
    with pytest.raises(InputError, match="The workload lost returned 42, which is no Step"):
        load(tmp_path / "lost.py").make({})


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"tokens": "many"}, "The tokens of a step must be a whole number of at least 0"),
        ({"flops": 1.5e9}, "The flops of a step"),
        ({"bytes_read": -1}, "it is -1"),
        ({"bytes_written": 2**63}, "The bytes_written of a step"),
        ({"dispatches": 0.5}, "The dispatches of a step"),
        ({"results": {"error": "none"}}, "The result 'error' of a step must be a number"),
    ],
)
def test_a_step_says_in_numbers_what_it_does(values: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        Step(submit=lambda: None, wait=lambda _: None, backend="cpu", **values)


def test_a_file_that_cannot_be_loaded_hides_no_other(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "broken.py").write_text("import nothing_of_that_name\n")
    assert "paged" in [one.name for one in all_workloads(tmp_path)]
    assert "broken.py" in caplog.text


def test_a_bound_holds_for_a_value_and_not_for_none(tmp_path: Path) -> None:
    file = tmp_path / "gemm_chain.py"
    file.write_text(GEMM.replace("rows: Annotated[int,", "rows: Annotated[int | None,"))
    several = load(file)
    assert several.bind({"rows": None})["rows"] is None
    assert several.bind({"rows": 1})["rows"] == 1
    assert several.bind({"rows": 9})["rows"] == 9
    with pytest.raises(UsageError, match="--rows must be at least 1; it is 0"):
        several.bind({"rows": 0})
