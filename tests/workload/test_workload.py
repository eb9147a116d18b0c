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


LOST = "from tracekit.workload import workload\n@workload\ndef lost():\n    return 42\n"


@pytest.fixture
def gemm(tmp_path: Path) -> Workload:
    file = tmp_path / "gemm_chain.py"
    file.write_text(GEMM)
    return load(file)


def test_a_file_is_a_workload_and_values_become_the_functions_own_types(
    gemm: Workload, tmp_path: Path
) -> None:
    assert (gemm.name, gemm.summary) == ("gemm-chain", "Multiply matrices.")
    assert gemm.file == tmp_path / "gemm_chain.py"
    given = {
        "rows": "4", "scale": 2, "dtype": "float16", "order": "column", "ragged": "true",
        "weights": "w.npy", "rest": {"anything": 1},
    }  # fmt: skip
    assert list(gemm.parameters) == list(given)
    bound = gemm.bind(given)
    own = {"rows": 4, "scale": 2.0, "ragged": True, "weights": Path("w.npy")}
    assert bound == given | own
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
        pytest.param(LOST, "The workload lost returned 42, which is no Step", id="no step"),
    ],
)
def test_a_file_that_is_no_workload_is_told(tmp_path: Path, text: str, sentence: str) -> None:
    file = tmp_path / "broken.py"
    file.write_text(text)
    with pytest.raises(InputError, match=sentence):
        load(file).make({})


def test_a_users_folder_is_searched_first_and_a_broken_file_hides_no_other(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "broken.py").write_text("import nothing_of_that_name\n")
    (tmp_path / "paged.py").write_text(GEMM.replace("gemm_chain", "paged"))
    assert find("paged", tmp_path).file == tmp_path / "paged.py"
    found = {one.name: one.file for one in all_workloads(tmp_path)}
    assert found["paged"] == tmp_path / "paged.py"
    assert "sdpa" in found
    assert "broken.py" in caplog.text
    assert folders(tmp_path)[0] == tmp_path


def test_a_missing_workload_names_those_that_are_there(gemm: Workload) -> None:
    with pytest.raises(UsageError, match="There is no workload 'zero'") as caught:
        find("zero", gemm.file.parent)
    assert caught.value.hint.startswith("There are: bubbles, churn, command, flash, gemm-chain, ")
    assert "paged-vs-sdpa" in caught.value.hint
    assert caught.value.hint.endswith("`--workloads DIR` adds a folder of your own.")
    for name, meant in (("page", "paged"), ("rmsnorm", "rmsnorm-linear")):
        with pytest.raises(UsageError) as caught:
            find(name)
        assert caught.value.hint == f"Did you mean {meant}?"


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


def test_a_bound_holds_for_a_value_and_not_for_none(tmp_path: Path) -> None:
    file = tmp_path / "gemm_chain.py"
    file.write_text(GEMM.replace("rows: Annotated[int,", "rows: Annotated[int | None,"))
    several = load(file)
    assert several.bind({"rows": None})["rows"] is None
    assert several.bind({"rows": 1})["rows"] == 1
    assert several.bind({"rows": 9})["rows"] == 9
    with pytest.raises(UsageError, match="--rows must be at least 1; it is 0"):
        several.bind({"rows": 0})
