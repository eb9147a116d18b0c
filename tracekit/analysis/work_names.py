"""The meaning of the names of work: families of labels, chores, reasons for another kernel.

A trace names work by the labels that the program gave its command buffers and encoders. Stock
builds of MLX give none ("Compute Command 3"), builds with MLX_METAL_DEBUG those of primitives; with
the shader timeline on, a trace names the shaders themselves.

MLX names a custom kernel `custom_kernel_NAME__` and then its template values, the dtypes of its
inputs and those of its outputs, joined by `_`. A dtype ends in `s` if the input is a scalar and in
`c` if it has fewer than 8 elements: both are read as constants, and change the signature
(mlx/backend/common/metal_kernel.cpp; 0.32.1).
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import Enum

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tracekit.analysis.inject import Unavailable
from tracekit.analysis.intervals import Times, Window, idle_before, in_order, spans
from tracekit.analysis.scope import Device
from tracekit.tables import families, labels

_DEFAULT = re.compile(
    rf"^(command buffer \d+:?)?((compute|blit|render) command \d+)?$|^{labels.UNLABELLED}$"
)


def is_unnamed(name: str) -> bool:
    """Return whether a label does not describe the work."""
    return bool(_DEFAULT.match(name.lower()))


# Work that does more than move data, whatever else is in its label.
_KERNEL = re.compile(r"attention|sdpa|matmul|gemm|gemv|qmm|qmv|norm|rope|softmax|paged|flash")
_HOW_TO_GET = (
    "A build of MLX with MLX_METAL_DEBUG labels its command buffers; a program can label its own; "
    "with the shader timeline on, the trace names shaders."
)
LONGEST_LAUNCH = 10_000
"""The longest gap before a piece of work, in ns, that is taken for its launch.

Longer ones are idle time, which the rule bubbles counts.
"""


class Chore(Enum):
    """Work around the kernels of paged attention, by the words that name it."""

    GATHER = re.compile(r"gather|\btake\b|pages_to_dense")
    SCATTER = re.compile(
        r"scatter|slice ?update|reshape_and_cache|kv[_ ]?(write|append|store|update)"
        r"|(write|append|store|update)[_ ]?kv"
    )
    METADATA = re.compile(
        r"copy|arange|concat|as ?type|block[_ ]?table|slot[_ ]?mapping|metadata|cumsum"
        r"|seq(uence)?[_ ]?len|slice(?! ?update)"
    )


@dataclass(frozen=True)
class NamedWork:
    """The target's device work in a window, in order of its starts; one entry for each piece.

    `launches` is the idle time right before each piece, in ns; 0 if it is too long for a launch.
    `codes` index `names` for each piece.
    """

    starts: Times
    ends: Times
    launches: Times
    codes: NDArray[np.int64]
    names: tuple[str, ...]

    def are(self, chore: Chore) -> NDArray[np.bool_]:
        """Return which pieces belong to the chore and to nothing else, by their names."""
        words = [words_of(name) for name in self.names]
        matches = [bool(chore.value.search(word)) and not _KERNEL.search(word) for word in words]
        return np.array(matches, bool)[self.codes]

    def costs(self, chosen: NDArray[np.bool_]) -> Times:
        """Return the time of each chosen piece, including its launch; ns."""
        return (self.ends - self.starts + self.launches)[chosen]

    def name_longest(self, chosen: NDArray[np.bool_], number: int = 3) -> str:
        """Return the names of the chosen pieces, the longest time first."""
        chosen_costs = self.costs(chosen)
        total_times = np.bincount(
            self.codes[chosen], weights=chosen_costs, minlength=len(self.names)
        )
        longest_first = np.argsort(-total_times, kind="stable")
        order = [int(code) for code in longest_first if total_times[code] > 0]
        more = ""
        if len(order) > number:
            more = f" and {len(order) - number} more"
        listed_names = [f"“{self.names[code]}”" for code in order[:number]]
        return ", ".join(listed_names) + more


def named_work(gpu: Device, loop: Window, shader_runs: pd.DataFrame | None) -> NamedWork:
    """Return the target's work that starts in the loop, with its names in the trace.

    These are the names of shaders if the trace has any, else the labels of the intervals.
    """
    if shader_runs is not None and shader_runs["target"].any():
        rows = shader_runs[shader_runs["target"]]
        labelled, family_names = families(rows["name"])
    else:
        rows, (labelled, family_names) = gpu.target_intervals, gpu.families
    rows = loop.rows(rows[["start", "duration"]])
    if rows.empty:
        raise Unavailable(f"no work of the target starts in {loop.name}.")
    rows = in_order(rows)
    row_labels = labelled.loc[rows.index]
    codes, there = pd.factorize(row_labels)
    names = tuple(family_names[code] for code in there)
    if all(map(is_unnamed, names)):
        raise Unavailable(f"the labels of the target's work do not name kernels. {_HOW_TO_GET}")
    starts, ends = spans(rows)
    idle = idle_before(starts, ends)
    launches = np.where(idle <= LONGEST_LAUNCH, idle, 0)
    return NamedWork(starts, ends, launches, codes.astype(np.int64), names)


def words_of(name: str) -> str:
    """Return a name in lower case, with a blank before each word that began with a capital."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()


_OURS = "custom_kernel_"
_DTYPE = r"(?:bfloat16_t|float16_t|float|half|complex64_t|u?int(?:8|16|32|64)_t|bool)[sc]?"
_PART = re.compile(rf"{_DTYPE}(?=_|$)|[^_]+")
_IS_DTYPE = re.compile(rf"{_DTYPE}$")
_CLASSES = {"s": "a scalar", "c": "fewer than 8 elements", "": "8 elements or more"}
_LOOKED_AT = 256


def reasons(name: str, earlier_names: Iterable[str]) -> tuple[str, ...]:
    """Return in words the differences of a kernel's name from its nearest earlier namesake.

    Empty if the name does not follow MLX's scheme, or has no earlier namesake.
    """
    stem, _, signature = name.partition("__")
    if not name.startswith(_OURS) or not signature:
        return ()
    parts = _PART.findall(signature)
    namesakes = [
        _PART.findall(namesake.partition("__")[2])
        for namesake in earlier_names
        if namesake.startswith(f"{stem}__")
    ]
    if not namesakes:
        return ()
    latest_namesakes = namesakes[-_LOOKED_AT:]
    nearest_parts = min(latest_namesakes, key=lambda namesake: len(_changes(namesake, parts)))
    changes = _changes(nearest_parts, parts)
    return tuple(_words(old_part, new_part) for old_part, new_part in changes)


def _changes(old_parts: list[str], new_parts: list[str]) -> list[tuple[str, str]]:
    """Return the differences, part by part if both have equally many."""
    if len(old_parts) == len(new_parts):
        part_pairs = zip(old_parts, new_parts, strict=True)
        return [pair for pair in part_pairs if pair[0] != pair[1]]
    blocks = SequenceMatcher(None, old_parts, new_parts, autojunk=False).get_opcodes()
    return [
        ("_".join(old_parts[i:j]), "_".join(new_parts[k:m]))
        for kind, i, j, k, m in blocks
        if kind != "equal"
    ]


def _words(old_part: str, new_part: str) -> str:
    if not (_IS_DTYPE.match(old_part) and _IS_DTYPE.match(new_part)):
        return f"template value {old_part or 'none'} → {new_part or 'none'}"
    old = old_part.rstrip("sc")
    new = new_part.rstrip("sc")
    if old != new:
        return f"dtype {old} → {new}"
    old_class = _CLASSES[old_part[len(old) :]]
    new_class = _CLASSES[new_part[len(new) :]]
    return f"an input of {old_class} → {new_class}"
