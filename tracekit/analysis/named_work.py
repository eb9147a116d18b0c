"""Which chores the device's work is, as far as its names tell: copies around the kernels.

A trace names work by the labels that the program gave its command buffers and encoders. Stock
builds of MLX give none ("Compute Command 3"), builds with MLX_METAL_DEBUG those of primitives;
with the shader timeline on, a trace names the shaders themselves.
"""

import re
from dataclasses import dataclass
from enum import Enum

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tracekit.analysis.families import UNLABELLED, families
from tracekit.analysis.inject import Unavailable
from tracekit.analysis.intervals import Times, Window, spans
from tracekit.analysis.target import of_target, on_gpu

_DEFAULT = re.compile(
    rf"^(command buffer \d+:?)?((compute|blit|render) command \d+)?$|^{UNLABELLED}$"
)
# Work that does more than move data around, whatever else its label names.
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

    `launches` is the idle time right before each piece, in ns; 0 where it is too long for a
    launch. `codes` say which of `names` each piece has.
    """

    starts: Times
    ends: Times
    launches: Times
    codes: NDArray[np.int64]
    names: tuple[str, ...]

    def are(self, chore: Chore) -> NDArray[np.bool_]:
        """Tell which pieces are the chore and nothing else, by their names."""
        matching = [_is(name, chore) for name in self.names]
        return np.array(matching, bool)[self.codes]

    def costs(self, chosen: NDArray[np.bool_]) -> Times:
        """Return what each chosen piece took, its launch included; ns."""
        return (self.ends - self.starts + self.launches)[chosen]

    def most(self, chosen: NDArray[np.bool_], shown: int = 3) -> str:
        """Name the chosen pieces, those that took most first."""
        spent = np.bincount(
            self.codes[chosen], weights=self.costs(chosen), minlength=len(self.names)
        )
        order = [int(code) for code in np.argsort(-spent, kind="stable") if spent[code] > 0]
        more = f" and {len(order) - shown} more" if len(order) > shown else ""
        return ", ".join(f"“{self.names[code]}”" for code in order[:shown]) + more


def named_work(
    gpu_intervals: pd.DataFrame,
    shader_runs: pd.DataFrame | None,
    targets: pd.DataFrame,
    window: Window,
) -> NamedWork:
    """Return the target's work that starts in the window, with the names that the trace has.

    Names of shaders are taken where the trace has any, else the labels of the intervals.

    Raises:
        Unavailable: The work ran on a CPU, there is none, or its names say nothing.
    """
    own = of_target(on_gpu(gpu_intervals), targets)
    if shader_runs is not None and shader_runs["target"].any():
        own = shader_runs[shader_runs["target"]].assign(label=lambda runs: runs["name"])
    own = own[["start", "duration", "label"]]
    own = own[(own["start"] >= window.start) & (own["start"] < window.end)]
    if own.empty:
        raise Unavailable(f"no work of the target starts in {window.name}.")
    own = own.sort_values("start", kind="stable")
    codes, names = families(own["label"])
    if all(_DEFAULT.match(name.lower()) for name in names):
        raise Unavailable(f"the labels of the target's work do not name kernels. {_HOW_TO_GET}")
    starts, ends = spans(own)
    return NamedWork(starts, ends, _launches(starts, ends), codes.to_numpy(np.int64), names)


def _is(name: str, chore: Chore) -> bool:
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()
    return bool(chore.value.search(words)) and not _KERNEL.search(words)


def _launches(starts: Times, ends: Times) -> Times:
    before = np.maximum.accumulate(np.concatenate((starts[:1], ends[:-1])))
    idle = np.maximum(starts - before, 0)
    return np.where(idle <= LONGEST_LAUNCH, idle, 0)
