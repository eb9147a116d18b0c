import mlx.core as mx
import numpy as np
import pytest

from tracekit.ops.cache.caches import Rows, Sizes, draw_rows, expected

SIZES = Sizes(2, 4, 2, 8, mx.float16)


def test_a_run_of_rows_is_the_rows_one_by_one_round_and_round() -> None:
    rows = draw_rows(SIZES, seed=1)
    keys, values = rows.run(59, 5)
    assert keys.shape == values.shape == (2, 2, 5, 8)
    for place, token in enumerate((59, 60, 0, 1, 2)):
        assert mx.array_equal(keys[:, :, place], rows.keys[token])
        assert mx.array_equal(values[:, :, place], rows.values[token])
    assert mx.array_equal(rows.query(61), rows.queries[0])


def test_what_is_expected_is_the_definition() -> None:
    """Two tokens, one head of one element: weights of e^(s q k)."""
    numbers = np.zeros((61, 1, 1, 1), np.float32)
    queries, keys, values = numbers.copy(), numbers.copy(), numbers.copy()
    queries[2], keys[1], keys[2], values[1], values[2] = 2.0, 1.0, 3.0, 10.0, 20.0
    rows = Rows(mx.array(queries), mx.array(keys), mx.array(values))
    out = expected(rows, 0, length=3, kept=2, scale=0.5)
    weights = np.exp([1.0, 3.0])
    assert out[0, 0] == pytest.approx((10 * weights[0] + 20 * weights[1]) / weights.sum())
    assert expected(rows, 0, length=3, kept=1, scale=0.5)[0, 0] == 20
