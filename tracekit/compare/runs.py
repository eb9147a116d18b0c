"""The runs of one side of a comparison, each cut into blocks."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from tracekit.analysis.result import Measurement
from tracekit.compare.blocks import Blocks
from tracekit.compare.sample import Sample


@dataclass(frozen=True, eq=False)
class Runs:
    """The runs of one side, each with its blocks, and the reference work in each of these."""

    samples: tuple[Sample, ...]
    blocks: tuple[Blocks, ...]
    references: tuple[tuple[float, ...], ...]

    @property
    def referenced(self) -> bool:
        """Whether each run did reference work in each of its blocks."""
        return all(self.references)

    @property
    def pace(self) -> float:
        """How long the reference work took: of each run's median the median over runs, in ns."""
        return statistics.median(statistics.median(one) for one in self.references)

    def measured(self, name: str) -> list[Measurement]:
        """Return the metric in each run that knows it."""
        found = [sample.measurement(name) for sample in self.samples]
        return [one for one in found if one is not None and one.value is not None]


def runs(samples: Sequence[Sample]) -> Runs:
    """Cut each run into blocks."""
    blocks = tuple(Blocks(one) for one in samples)
    return Runs(tuple(samples), blocks, tuple(one.reference() for one in blocks))
