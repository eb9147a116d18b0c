"""The column `kernel`: equal work has one name, whatever process and number its label tells."""

from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from device_programs import MS, Piece, Program
from tracekit.tables.labels import families, kernels_of


@pytest.mark.parametrize(
    ("label", "kernel"),
    [
        ("Command Buffer 0:gemm   ( python3 (4711) )  0xf169adeb", "Command Buffer 0:gemm"),
        ("Command Buffer 0:gemm   ( a (b) (1) )  0x1", "Command Buffer 0:gemm"),
        ("paged_attention", "paged_attention"),
        ("      ( WindowServer (420) )  0xf169adeb", "unlabelled"),
        (None, "unlabelled"),
    ],
)
def test_a_kernel_is_a_label_without_process_and_number(label: str | None, kernel: str) -> None:
    labels = pa.chunked_array([[label]], pa.string())
    assert kernels_of(labels).to_pylist() == [kernel]


def test_sql_ranks_kernels_whose_labels_all_differ(
    tmp_path: Path, tracekit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = Program()
    for step in range(20):
        program.commit(step * 10 * MS, [Piece(MS, label="gemm"), Piece(3 * MS, label="softmax")])
    exports = program.write(tmp_path / "exports")
    assert tracekit("import", exports, "--output", tmp_path / "runs" / "one").code == 0
    monkeypatch.chdir(tmp_path)
    sql = (
        "select kernel, count(*) n, count(distinct label) labels, sum(duration) ns "
        "from gpu_intervals where target group by kernel order by ns desc"
    )
    result = tracekit("query", sql, "runs", "--format", "csv", "--output", "-")
    assert result.out.splitlines() == [
        "kernel,n,labels,ns",
        "Command Buffer 0:softmax,20,20,60000000",
        "Command Buffer 0:gemm,20,20,20000000",
    ], result.err


@pytest.mark.parametrize("dtype", ["string", "str", "object", "category"])
def test_families_of_any_texts(dtype: str) -> None:
    labels = pd.Series(["a ( x )  0x1", "b", None, "a ( y )  0x2"], index=[3, 4, 5, 6], dtype=dtype)
    codes, names = families(labels)
    assert names == ("a", "b", "unlabelled")
    assert codes.to_dict() == {3: 0, 4: 1, 5: 2, 6: 0}
    whole_codes, whole_names = families(labels.dropna())
    assert whole_names == ("a", "b")
    assert whole_codes.to_dict() == {3: 0, 4: 1, 6: 0}
