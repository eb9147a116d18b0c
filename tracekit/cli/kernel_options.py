"""The options of `verify-kernel`: what is verified, and how a FILE.metal is launched."""

from typing import Annotated, Literal

import typer

FileOrName = Annotated[
    str, typer.Argument(metavar="FILE|NAME", help="FILE.metal, FILE.py, a shipped kernel, or all.")
]
OrderName = Annotated[
    Literal["all", "ascending", "descending", "random"],
    typer.Option("--order", help="Order in which threads run."),
]
Seed = Annotated[int, typer.Option(min=0, help="Seed of inputs and of the random order.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of words.")]
Function = Annotated[
    str, typer.Option(metavar="NAME", help="FILE.metal: the kernel.  [default: the only one]")
]
Template = Annotated[
    str, typer.Option(metavar="ARGS", help='FILE.metal: template arguments: "float16_t, 128".')
]
Buffers = Annotated[
    list[str] | None,
    typer.Option(
        "--buffer",
        metavar="NAME=WHAT",
        help="FILE.metal: q=float16[16,128], n=int32=7, t=int32[8]=0:64, x=FILE.npy.",
    ),
]
Grid = Annotated[str, typer.Option(metavar="X,Y,Z", help="FILE.metal: threads to launch.")]
Threadgroup = Annotated[
    str, typer.Option(metavar="X,Y,Z", help="FILE.metal: threads of a threadgroup.")
]
ThreadgroupMemory = Annotated[
    list[str] | None,
    typer.Option(metavar="INDEX=BYTES", help="FILE.metal: memory of [[threadgroup(INDEX)]]."),
]
Constants = Annotated[
    list[str] | None,
    typer.Option("--constant", metavar="INDEX=VALUE", help="FILE.metal: function constant."),
]
Defines = Annotated[
    list[str] | None,
    typer.Option("--define", metavar="NAME=TEXT", help="FILE.metal: macro before the text."),
]
Includes = Annotated[
    list[str] | None,
    typer.Option("--include", metavar="FOLDER", help="FILE.metal: where its #include files lie."),
]
Expected = Annotated[
    list[str] | None,
    typer.Option("--expect", metavar="NAME=FILE.npy", help="FILE.metal: what must come out."),
]
Bound = Annotated[
    float | None,
    typer.Option(
        min=0, help="FILE.metal: error allowed, relative.  [default: 1e-5, 2e-3, 2e-2 by dtype]"
    ),
]
Patience = Annotated[
    float,
    typer.Option(min=0.001, metavar="SECONDS", help="Time that a launch may take: some never end."),
]
Lenient = Annotated[
    bool,
    typer.Option(
        "--lenient", help="Let some lanes leave a simdgroup operation out, as Metal does."
    ),
]
