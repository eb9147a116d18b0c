"""Types of elements, as MLX has them."""

import mlx.core as mx
import pytest

from tracekit.base.tolerances import BOUNDS
from tracekit.ops.kernels import DTYPES as OF_KERNELS
from tracekit.ops.kernels import METAL_TYPES
from tracekit.workload.parameters import DTYPES, ITEMSIZES


@pytest.mark.parametrize("name", DTYPES)
def test_a_type_is_as_large_as_mlx_has_it_and_has_a_bound(name: str) -> None:
    assert ITEMSIZES[name] == getattr(mx, name).size
    assert 0 < BOUNDS[name] < 1


def test_kernels_are_made_for_the_same_types_everywhere() -> None:
    kinds = {getattr(mx, name) for name in DTYPES}
    assert kinds == set(OF_KERNELS) == set(METAL_TYPES)
    assert set(ITEMSIZES) == set(BOUNDS) == set(DTYPES)
