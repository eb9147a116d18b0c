"""The notebook of the documentation runs from its first cell to its last, and shows pictures.

Its cells are Python without magics, so they are executed here as they are, one after the other in
one namespace. A kernel of Jupyter would add 40 packages to the tests, and show nothing else.
"""

import ast
import json
from pathlib import Path
from typing import Any

import pytest

from tracekit.plots import Plot

NOTEBOOK = Path(__file__).parents[1] / "docs" / "tutorial" / "a-recording-in-a-notebook.ipynb"


def read_cells(kind: str) -> list[str]:
    document = json.loads(NOTEBOOK.read_text())
    assert (document["nbformat"], document["nbformat_minor"]) == (4, 5)
    return ["".join(cell["source"]) for cell in document["cells"] if cell["cell_type"] == kind]


def execute(source: str, namespace: dict[str, Any]) -> Any:
    """Execute a cell and return what a notebook would show: the value of its last expression."""
    module = ast.parse(source)
    last = module.body[-1]
    if not isinstance(last, ast.Expr):
        exec(compile(module, "cell", "exec"), namespace)  # noqa: S102  the notebook is our own
        return None
    module.body.pop()
    exec(compile(module, "cell", "exec"), namespace)  # noqa: S102
    return eval(compile(ast.Expression(last.value), "cell", "eval"), namespace)  # noqa: S307


def test_the_notebook_has_no_outputs_that_could_be_old() -> None:
    document = json.loads(NOTEBOOK.read_text())
    code = [cell for cell in document["cells"] if cell["cell_type"] == "code"]
    assert [cell["id"] for cell in code if cell["outputs"] or cell["execution_count"]] == []
    names = [cell["id"] for cell in document["cells"]]
    assert len(set(names)) == len(names)


def test_the_notebook_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, Any] = {}
    shown = [execute(source, namespace) for source in read_cells("code")]
    run, result, idle_ratio, sums, idle, timeline, part, rows = shown
    assert repr(run).startswith("<Run of ")
    assert "<table>" in result._repr_html_()
    assert 0 < idle_ratio < 1
    assert sums.sum() > 0
    plots = [idle, timeline, part]
    assert [type(plot) for plot in plots] == [Plot] * 3
    assert [plot.title for plot in plots if not plot._repr_png_().startswith(b"\x89PNG")] == []
    assert list(rows.columns) == ["label", "n", "ms"]
    assert len(rows) == 5
    assert [*tmp_path.iterdir()] == [], "the notebook left files behind"
