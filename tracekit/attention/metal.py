"""The Metal kernel: how it is built, launched and named."""

from functools import cache
from typing import Any

import mlx.core as mx

from tracekit.attention.problem import Problem, check_head_dim
from tracekit.shipped import shipped

SIMDGROUPS = 8
LANES = 32
_BODY = "// ---- body ----\n"
_SMALL = 8  # MLX binds arrays of fewer elements as `constant`
_INPUTS = ("q", "k_pages", "v_pages", "block_tables", "context_lens", "max_blocks", "scale")

_made: set[str] = set()


def specializations() -> frozenset[str]:
    """Return the names of the kernels that this process has launched, as Metal knows them."""
    return frozenset(_made)


def paged_decode(problem: Problem, *, scale: float, verbose: bool = False) -> mx.array:
    """Launch `kernels/paged_decode.metal`: a threadgroup for each q head of each sequence.

    `verbose` makes MLX print the source it generates. Without Metal this can be traced by
    `mx.export_function`, not run.
    """
    check_head_dim(problem.head_dim)
    tables = _padded(problem.block_tables.reshape(-1))
    lens = _padded(problem.context_lens)
    _made.add(specialization(problem))
    pages = [problem.k_pages, problem.v_pages]
    (out,) = _kernel()(
        inputs=[problem.q, *pages, tables, lens, problem.max_blocks, scale],
        template=_template(problem),
        grid=(SIMDGROUPS * LANES * problem.q_heads, problem.batch, 1),
        threadgroup=(SIMDGROUPS * LANES, 1, 1),
        output_shapes=[problem.q.shape],
        output_dtypes=[problem.dtype],
        verbose=verbose,
    )
    return out


def specialization(problem: Problem) -> str:
    """Return the kernel's name: template values, then dtypes and classes of its arguments.

    Two calls share a pipeline exactly when their names are equal. The scheme is MLX's since
    0.32.1: `s` follows the dtype of a scalar.
    """
    t = _METAL[problem.dtype]
    values = [t, *(str(value) for _, value in _template(problem)[1:])]
    inputs = [t, t, t, "int32_t", "int32_t", "int32_ts", "floats"]
    return "_".join(["custom_kernel_paged_decode_", *values, *inputs, t])


_METAL = {mx.float16: "float16_t", mx.bfloat16: "bfloat16_t", mx.float32: "float"}


def _template(problem: Problem) -> list[tuple[str, Any]]:
    return [
        ("T", problem.dtype),
        ("D", problem.head_dim),
        ("BLOCK", problem.block_size),
        ("KV_HEADS", problem.kv_heads),
        ("GROUP", problem.q_heads // problem.kv_heads),
        ("SIMDGROUPS", SIMDGROUPS),
    ]


def _padded(flat: mx.array) -> mx.array:
    """Make it long enough for `device` memory; a no-op for whom padded it before."""
    return flat if flat.size >= _SMALL else mx.pad(flat, (0, _SMALL - flat.size))


@cache
def _kernel() -> Any:
    text = (shipped("kernels") / "paged_decode.metal").read_text()
    header, _, body = text.partition(_BODY)
    return mx.fast.metal_kernel(
        name="paged_decode",
        input_names=[
            "q",
            "k_pages",
            "v_pages",
            "block_tables",
            "context_lens",
            "max_blocks",
            "scale",
        ],
        output_names=["out"],
        header=header,
        source=body,
    )
