import mlx.core as mx
import numpy as np

from tracekit.ops.attention.paged import append, append_run

TABLES = mx.array([[5, 0, 3], [1, 4, 2]], mx.int32)


def test_each_sequence_gets_its_row_at_its_position() -> None:
    rows = mx.array(np.arange(1, 5, dtype=np.float32).reshape(2, 1, 2))
    pages = append(mx.zeros((6, 2, 1, 2)), rows, TABLES, mx.array([4, 1], mx.int32))
    written = np.array(pages)
    assert written[3, 0].tolist() == [[1, 2]]  # token 4 of sequence 0: its third page, row 0
    assert written[1, 1].tolist() == [[3, 4]]
    assert written.sum() == 10


def test_a_run_of_rows_goes_over_the_edges_of_pages() -> None:
    rows = mx.array(np.arange(1, 5, dtype=np.float32).reshape(4, 1, 1))
    pages = append_run(mx.zeros((6, 2, 1, 1)), rows, TABLES[0], 1)
    written = np.array(pages)[:, :, 0, 0]
    assert written[[5, 0, 3]].tolist() == [[0, 1], [2, 3], [4, 0]]


def test_nothing_is_copied_while_nobody_else_holds_the_pages() -> None:
    pages = mx.zeros((64, 16, 8, 64))
    mx.eval(pages)
    rows, positions = mx.ones((2, 8, 64)), mx.array([0, 1], mx.int32)
    mx.eval(rows)
    mx.reset_peak_memory()
    before = mx.get_active_memory()
    pages = append(pages, rows, TABLES, positions)
    mx.eval(pages)
    assert mx.get_peak_memory() - before < pages.nbytes / 2
