"""Parameters that workloads and the bench share: their types, bounds and help.

They are options, so shapes that are to be compared are chosen by the same words everywhere.
"""

from typing import Annotated, Literal, get_args

import typer

from tracekit.workload.calls import Order

DtypeName = Literal["float16", "bfloat16", "float32"]
DTYPES: tuple[DtypeName, ...] = get_args(DtypeName)

Dtype = Annotated[DtypeName, typer.Option(help="Type of the elements.")]
Batch = Annotated[int, typer.Option(min=1, max=4096, help="Sequences of a step.")]
QHeads = Annotated[int, typer.Option(min=1, max=512, help="Query heads.")]
KvHeads = Annotated[int, typer.Option(min=1, max=512, help="Heads of K and V.")]
HeadDim = Annotated[int, typer.Option(min=1, max=256, help="Elements of a head.")]
BlockSize = Annotated[int, typer.Option(min=1, max=1024, help="Tokens of a block.")]
MaxBlocks = Annotated[int, typer.Option(min=1, max=65536, help="Blocks a sequence has.")]
ActiveBlocks = Annotated[int, typer.Option(min=1, max=65536, help="Blocks a sequence uses.")]
Ragged = Annotated[
    bool, typer.Option(help="Draw lengths at random instead of filling all active blocks.")
]
Seed = Annotated[int, typer.Option(min=0, help="Seed of contents, pages and lengths.")]
LayoutOfAxes = Annotated[
    Literal["BHSD", "BSHD"],
    typer.Option(help="Order of axes in memory: heads before the sequence, or behind it."),
]
OrderOfSteps = Annotated[
    Order,
    typer.Option(help="Order of the compared steps; abba cancels a steady drift."),
]
KernelOfPaged = Annotated[
    Literal["grouped", "per-head", "barriers"] | None,
    typer.Option(
        help="Metal kernel: grouped loads a row of K and V once for the q heads that share it, "
        "per-head once for each, barriers as well, with three barriers a token."
    ),
]
