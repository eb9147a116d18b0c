"""The registers of every launch of paged attention that a default can choose.

registers.csv has a row for each dtype, head size, group and size of a threadgroup, with the
registers of a thread, the bytes of its stack and of its spills that nvcc counts for the translated
text. Apple's compiler may count others: nvcc's count is a stand-in. The digest in a row is of the
kernel's text and its plan, and a test refuses a row that was counted for another kernel.
`build.py --registers` writes the file.
"""

import csv
import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

import mlx.core as mx

from tracekit.ops.attention.planning import THREADS, DecodePlan, plan
from tracekit.ops.attention.problem import HEAD_DIMS, DecodeProblem
from tracekit.ops.kernels import DTYPES

HERE = Path(__file__).parent
COUNTED = HERE / "registers.csv"
GROUPS = range(1, 17)
SIZES = ("dtype", "head_dim", "group", "threads")
CHOICES = ("hd_tile", "heads", "tokens")


class Launch(NamedTuple):
    """A launch by its sizes, and the plan that is chosen for them."""

    dtype: str
    head_dim: int
    group: int
    how: DecodePlan


class Counts(NamedTuple):
    """What nvcc prints for one kernel: registers of a thread, bytes of its stack, of its spills."""

    registers: int
    stack: int
    spills: int


@dataclass(frozen=True)
class Row:
    """A row of the file."""

    launch: Launch
    counts: Counts
    digest: str


def default_launches() -> Iterator[Launch]:
    """Yield a launch for each dtype, head size, group and size of a threadgroup."""
    for dtype, head_dim, group in itertools.product(DTYPES, HEAD_DIMS, GROUPS):
        problem = make_problem(dtype, head_dim, group)
        name = str(dtype).removeprefix("mlx.core.")
        for threads in THREADS:
            yield Launch(name, head_dim, group, plan(problem, partitions=2, threadgroup=threads))


def digest_of(launch: Launch) -> str:
    """Return the digest of a launch: of the kernel's text, its sizes and its plan."""
    text = (HERE.parents[1] / "kernels" / "paged_decode.metal").read_text(encoding="utf-8")
    return blake2b(f"{text}\n{launch}".encode(), digest_size=8).hexdigest()


def read_rows() -> list[Row]:
    """Return the rows of the committed file."""
    with COUNTED.open(encoding="utf-8", newline="") as file:
        return [_parse_row(row) for row in csv.DictReader(file)]


def _parse_row(row: dict[str, str]) -> Row:
    how = DecodePlan(
        "grouped",
        int(row["threads"]),
        2,
        int(row["hd_tile"]),
        int(row["heads"]),
        int(row["tokens"]),
    )
    launch = Launch(row["dtype"], int(row["head_dim"]), int(row["group"]), how)
    counts = Counts(int(row["registers"]), int(row["stack"]), int(row["spills"]))
    return Row(launch, counts, row["digest"])


def make_problem(dtype: mx.Dtype, head_dim: int, group: int) -> DecodeProblem:
    """Return a problem of one sequence and two kv heads, whose arrays are never evaluated."""
    pages = mx.zeros((1, 32, 2, head_dim), dtype)
    queries = mx.zeros((1, 2 * group, head_dim), dtype)
    return DecodeProblem(
        queries, pages, pages, mx.zeros((1, 1), mx.int32), mx.zeros((8,), mx.int32)
    )


def write_rows(rows: Iterable[Row]) -> None:
    """Write the file that is committed."""
    with COUNTED.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*SIZES, *CHOICES, *Counts._fields, "digest"])
        for row in rows:
            launch, how = row.launch, row.launch.how
            sizes = [launch.dtype, launch.head_dim, launch.group, how.threadgroup]
            choices = [how.hd_tile, how.heads, how.tokens]
            writer.writerow([*sizes, *choices, *row.counts, row.digest])
