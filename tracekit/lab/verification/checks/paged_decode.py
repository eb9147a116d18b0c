"""The check of kernels/paged_decode.metal and, with partitions, of kernels/paged_merge.metal."""

from typing import Annotated, Literal

import typer

from tracekit.lab.verification.check import Check, check
from tracekit.lab.verification.decode import decode_check
from tracekit.workload import DTYPES, DtypeName


@check(each={"dtype": DTYPES, "hd_tile": (8, 16), "partitions": (1, 3)})
def paged_decode(
    *,
    dtype: Annotated[DtypeName, typer.Option(help="Type of the elements.")] = "float16",
    head_dim: Annotated[
        Literal["64", "80", "96", "128", "256"], typer.Option(help="Elements of a head.")
    ] = "128",
    block_size: Annotated[int, typer.Option(min=2, max=1024, help="Tokens of a page.")] = 16,
    kv_heads: Annotated[int, typer.Option(min=1, max=64, help="Heads of K and V.")] = 2,
    group: Annotated[int, typer.Option(min=1, max=64, help="Query heads of a kv head.")] = 4,
    hd_tile: Annotated[int, typer.Option(help="Elements of a head that a lane owns.")] = 8,
    partitions: Annotated[int, typer.Option(min=1, max=64, help="Parts of a context.")] = 1,
) -> Check:
    """Decode with rows of K and V loaded once for all query heads that share them."""
    return decode_check(
        "grouped",
        dtype=dtype,
        head_dim=int(head_dim),
        block_size=block_size,
        kv_heads=kv_heads,
        group=group,
        hd_tile=hd_tile,
        partitions=partitions,
    )
