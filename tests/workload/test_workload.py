from pathlib import Path
from typing import Annotated, get_args, get_origin

import pytest

from tracekit.base.errors import InputError, UsageError
from tracekit.workload import parameters
from tracekit.workload.workload import (
    Measured,
    Step,
    Workload,
    all_workloads,
    find,
    folders,
    load,
    normalize_results,
)

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


def test_a_file_is_a_workload_and_values_become_the_functions_own_types(gemm: Workload) -> None:
    workload_facts = (gemm.name, gemm.summary, gemm.file.name)
    assert workload_facts == ("gemm-chain", "Multiply matrices.", "gemm_chain.py")
    given_values = {
        "rows": "4", "scale": 2, "dtype": "float16", "order": "column", "ragged": "true",
        "weights": "w.npy", "rest": {"anything": 1},
    }  # fmt: skip
    assert list(gemm.parameters) == list(given_values)
    bound = gemm.bind(given_values)
    converted_values = {"rows": 4, "scale": 2.0, "ragged": True, "weights": Path("w.npy")}
    assert bound == given_values | converted_values
    assert type(bound["order"]).__name__ == "Order"
    assert isinstance(bound["scale"], float)


def test_a_bad_value_is_one_sentence(gemm: Workload, subtests: pytest.Subtests) -> None:
    for given_values, sentence, hint in (
        ({}, "needs --rows", ""),
        ({"rows": 1, "row": 2}, "no parameter 'row'", "mean rows"),
        ({"rows": 1, "zzz": 2}, "no parameter 'zzz'", "It has: rows"),
        ({"rows": 0}, "--rows must be at least 1; it is 0.", ""),
        ({"rows": 10}, "--rows must be at most 9; it is 10.", ""),
        ({"rows": "x"}, "--rows cannot be 'x'", ""),
        ({"rows": 1.5}, "--rows cannot be 1.5", ""),
        ({"rows": 1, "dtype": "int8"}, "--dtype cannot be 'int8'", ""),
        ({"rows": 1, "order": "z"}, "--order cannot be 'z'", ""),
    ):
        with subtests.test(**given_values):
            with pytest.raises(UsageError) as caught:
                gemm.bind(given_values)
            assert sentence in caught.value.message
            assert hint in caught.value.hint


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("x = 1", "has no function marked @workload"),
        (
            GEMM + "\nother = workload(lambda: 1)\n",
            "without a name of their own: gemm-chain, <lambda>",
        ),
        (GEMM + LOST, "has the workloads gemm-chain, lost, not just one"),
        ("import nothing_like_it", "cannot be loaded: ModuleNotFound"),
        ("def (", "cannot be loaded: SyntaxError"),
        ("raise SystemExit(3)", r"cannot be loaded: SystemExit\(3\)"),
        (LOST, "The workload lost returned 42, which is not a Step"),
    ],
)
def test_a_file_without_a_workload_is_refused(tmp_path: Path, text: str, sentence: str) -> None:
    file = tmp_path / "broken.py"
    file.write_text(text)
    with pytest.raises(InputError, match=sentence):
        load(file).make({})


def test_a_users_folder_is_searched_first_and_a_broken_file_hides_no_other(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "broken.py").write_text("import a_workload_of_nobody\n")
    (tmp_path / "paged.py").write_text(GEMM.replace("gemm_chain", "paged"))
    assert find("paged", tmp_path).file == tmp_path / "paged.py"
    files_by_name = {workload.name: workload.file for workload in all_workloads(tmp_path)}
    assert files_by_name["paged"] == tmp_path / "paged.py"
    assert "sdpa" in files_by_name
    assert "broken.py" in caplog.text
    assert folders(tmp_path)[0] == tmp_path


def test_a_missing_workload_names_those_that_are_there(gemm: Workload) -> None:
    with pytest.raises(UsageError, match="There is no workload 'zero'") as caught:
        find("zero", gemm.file.parent)
    assert caught.value.hint.startswith("There are: bench-subject, bubbles, churn, command, ")
    assert "paged-vs-sdpa" in caught.value.hint
    assert caught.value.hint.endswith("`--workloads DIR` adds a folder of your own.")
    for name, suggestion in (("page", "paged"), ("rmsnorm", "rmsnorm-linear")):
        with pytest.raises(UsageError) as caught:
            find(name)
        assert caught.value.hint == f"Did you mean {suggestion}?"


def test_a_step_describes_its_work_in_numbers(subtests: pytest.Subtests) -> None:
    for values, sentence in (
        ({"tokens": "many"}, "tokens of a step must be a whole number of at least 0"),
        ({"flops": 1.5e9}, "flops of a step"),
        ({"bytes_read": -1}, "it is -1"),
        ({"bytes_written": 2**63}, "bytes_written of a step"),
        ({"tokens": None}, "tokens of a step"),
        ({"dispatches": 0.5}, "dispatches of a step"),
        ({"results": {"error": Measured(None)}}, "result 'error' of a step must be a number"),
        ({"results": {"error": Measured("fast")}}, "result 'error' of a step must be a number"),
        ({"results": {"error": 10**400}}, "result 'error' of a step is too large"),
    ):
        with subtests.test(sentence), pytest.raises(InputError, match=sentence):
            Step(submit=lambda: None, wait=lambda _: None, backend="cpu", **values)


def test_a_step_that_says_little_reports_nothing_and_never_runs_out() -> None:
    step = Step(int, lambda _: None, "cpu", bytes_read=2**63 - 1)
    step.begin()
    assert (step.exhausted(), dict(step.finish()), step.tell) == (False, {}, None)
    results = {"error": 0.5, "ttft": Measured(3, "ns", "lower"), "rate": float("inf")}
    assert normalize_results(results) == {
        "error": Measured(0.5),
        "ttft": Measured(3, "ns", "lower"),
        "rate": Measured(None, reason="it is inf"),
    }


def test_a_bound_holds_for_a_value_and_not_for_none(gemm: Workload) -> None:
    gemm.file.write_text(GEMM.replace("rows: Annotated[int,", "rows: Annotated[int | None,"))
    workload = load(gemm.file)
    assert [workload.bind({"rows": rows})["rows"] for rows in (None, 1, 9)] == [None, 1, 9]
    with pytest.raises(UsageError, match="--rows must be at least 1; it is 0"):
        workload.bind({"rows": 0})


def test_a_bound_holds_for_each_value_of_a_list(gemm: Workload) -> None:
    gemm.file.write_text(GEMM.replace("rows: Annotated[int,", "rows: Annotated[list[int],"))
    workload = load(gemm.file)
    assert workload.bind({"rows": [1, 9]}) == {"rows": [1, 9]}
    for rows, sentence in (([1, 0], "at least 1; it is 0"), ([10], "at most 9; it is 10")):
        with pytest.raises(UsageError, match=f"--rows must be {sentence}"):
            workload.bind({"rows": rows})


def test_nan_lies_within_no_bound(gemm: Workload) -> None:
    gemm.file.write_text(GEMM.replace("rows: Annotated[int,", "rows: Annotated[float,"))
    with pytest.raises(UsageError, match="--rows must be at least 1; it is nan"):
        load(gemm.file).bind({"rows": "nan"})


def test_shapes_are_chosen_by_the_same_words_wherever_attention_decodes() -> None:
    first_map, *parameter_maps = (
        find(name).parameters for name in ("paged", "sdpa", "paged-vs-sdpa")
    )
    shape = "batch q_heads kv_heads head_dim block_size max_blocks active_blocks dtype ragged seed"
    for name in shape.split():
        for parameter_map in parameter_maps:
            assert parameter_map[name].annotation == first_map[name].annotation, name
            assert parameter_map[name].default == first_map[name].default, name
    for name, kind in vars(parameters).items():
        if get_origin(kind) is Annotated:
            words = get_args(kind)[1].help
            assert words[0].isupper(), name
            assert words.endswith("."), name
    assert find("sdpa").bind({"batch": "4096"}) == {"batch": 4096}
    with pytest.raises(UsageError, match="--batch must be at most 4096; it is 4097"):
        find("sdpa").bind({"batch": 4097})
