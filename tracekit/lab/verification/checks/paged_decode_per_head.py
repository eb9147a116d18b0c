"""The check of kernels/paged_decode_per_head.metal."""

from typing import Annotated, Literal

import typer

from tracekit.lab.verification.check import Check, check
from tracekit.lab.verification.decode import decode_check
from tracekit.workload import DTYPES, DtypeName


@check(each={"dtype": DTYPES})
def paged_decode_per_head(
    *,
    dtype: Annotated[DtypeName, typer.Option(help="Type of the elements.")] = "float16",
    head_dim: Annotated[
        Literal["64", "80", "96", "128", "256"], typer.Option(help="Elements of a head.")
    ] = "64",
    block_size: Annotated[int, typer.Option(min=2, max=1024, help="Tokens of a page.")] = 16,
    kv_heads: Annotated[int, typer.Option(min=1, max=64, help="Heads of K and V.")] = 1,
    group: Annotated[int, typer.Option(min=1, max=64, help="Query heads of a kv head.")] = 2,
) -> Check:
    """Decode with a threadgroup for each query head."""
    return decode_check(
        "per-head",
        dtype=dtype,
        head_dim=int(head_dim),
        block_size=block_size,
        kv_heads=kv_heads,
        group=group,
    )
