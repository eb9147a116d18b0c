"""Each text that MLX would compile of the shipped kernels, judged by a real clang.

A text follows from the kernel, the type, the sizes of head and page, the tile, and the number of
query heads that share a kv head. Each type and head size of each kernel is in a text here, with
other sizes in turn; a campaign judges all texts of these types and sizes.
"""

import itertools
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import mlx.core as mx
import pytest

from tracekit.base.errors import ToolError
from tracekit.base.files import find_shipped_folder
from tracekit.lab.msl.emulation import generated
from tracekit.lab.msl.lint import Lint, find_clang, lint
from tracekit.ops import norm
from tracekit.ops.attention.metal import paged_decode
from tracekit.ops.attention.planning import BLOCK_SIZES, DecodePlan, fitting_tiles, plan
from tracekit.ops.attention.problem import HEAD_DIMS, DecodeProblem
from tracekit.ops.kernels import DTYPES

pytestmark = pytest.mark.emulator

GROUPS = (1, 2, 3, 4, 5, 8)
SIZES = list(itertools.product(BLOCK_SIZES, GROUPS))
ROWS, DIMS = (1, 2, 4, 8), (128, 67)
Text = tuple[str, str, str]


@pytest.fixture(autouse=True)
def _with_clang() -> None:
    try:
        find_clang()
    except ToolError as error:
        pytest.skip(error.message)


def make_problem(dtype: mx.Dtype, head_dim: int, block: int, group: int) -> DecodeProblem:
    """Return arrays of zeros; only their shapes and types are read."""
    pages = mx.zeros((2, block, 2, head_dim), dtype)
    tables, lens = mx.zeros((8, 1), mx.int32), mx.zeros((8,), mx.int32)
    return DecodeProblem(mx.zeros((8, 2 * group, head_dim), dtype), pages, pages, tables, lens)


def plans_of(problem: DecodeProblem) -> Iterator[DecodePlan]:
    """Yield the launches of a problem that have different texts; two partitions need the merge."""
    yield plan(problem, kernel="per-head")
    yield plan(problem, kernel="barriers")
    for tile in fitting_tiles(problem.head_dim):
        yield plan(problem, hd_tile=tile, partitions=2)


def decode_texts(
    dtype: mx.Dtype, head_dim: int, sizes: Sequence[tuple[int, int]]
) -> dict[Text, str]:
    """Return the texts of the kernels that decode, with the name of each kernel."""
    texts: dict[Text, str] = {}
    for block, group in sizes:
        problem = make_problem(dtype, head_dim, block, group)
        for how in plans_of(problem):
            texts |= texts_of(partial(paged_decode, problem, scale=1.0, how=how))
    return texts


def norm_texts(dtype: mx.Dtype) -> dict[Text, str]:
    texts: dict[Text, str] = {}
    for rows, dims in itertools.product(ROWS, DIMS):
        problem = norm.draw_norm_problem(rows, dims, 50, dtype=dtype)
        texts |= texts_of(partial(norm.fused_kernel, problem))
    return texts


def texts_of(run: Callable[[], mx.array]) -> dict[Text, str]:
    return {
        (kernel.text, kernel.function, kernel.template): kernel.name for kernel in generated(run)
    }


def assert_clean(texts: dict[Text, str]) -> None:
    found = {text[1]: result for text in texts if (result := lint(*text)) != Lint((), ())}
    assert not found


PAIRS = list(itertools.product(DTYPES, HEAD_DIMS))


@pytest.mark.parametrize(("dtype", "head_dim"), PAIRS, ids=str)
def test_each_kernel_is_clean_with_each_type_and_head_size(dtype: mx.Dtype, head_dim: int) -> None:
    number = PAIRS.index((dtype, head_dim))
    texts = decode_texts(dtype, head_dim, [SIZES[7 * number % len(SIZES)]])
    # a text of each tile, two other kernels, and the merge
    assert len(texts) == len(fitting_tiles(head_dim)) + 3
    assert_clean(texts)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_each_tile_of_the_fused_kernel_is_clean(dtype: mx.Dtype) -> None:
    texts = norm_texts(dtype)
    assert len(texts) == 8
    assert_clean(texts)


@pytest.mark.campaign
@pytest.mark.parametrize(("dtype", "head_dim"), PAIRS, ids=str)
def test_every_text_is_clean(dtype: mx.Dtype, head_dim: int) -> None:
    texts = decode_texts(dtype, head_dim, SIZES)
    assert len(texts) == (73 if head_dim == HEAD_DIMS[-1] else 91)
    assert_clean(texts)


def test_every_shipped_kernel_has_texts_and_no_two_share_one() -> None:
    texts: dict[Text, str] = {}
    for dtype, head_dim in PAIRS:
        texts |= decode_texts(dtype, head_dim, SIZES)
    for dtype in DTYPES:
        texts |= norm_texts(dtype)
    assert len(texts) == 3 * (4 * 91 + 73 + 8)
    files = {file.stem for file in find_shipped_folder("kernels").glob("*.metal")}
    assert set(texts.values()) == files
