"""Sequences that get longer by a token a step, over a cache of any kind."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import mlx.core as mx
import numpy as np

from tracekit.base import tolerances
from tracekit.ops.cache.caches import (
    DrawnTokens,
    GrowingCache,
    PagedCache,
    Sizes,
    SlidingCache,
    compute_expected,
)
from tracekit.workload import Gauge, Span, StepReport

Cache = GrowingCache | SlidingCache | PagedCache
# From a query of each sequence, [batch, q_heads, head_dim], to the output of the same shape.
Attend = Callable[[mx.array], mx.array]


@dataclass
class StepCosts:
    """The costs of the steps since `Decoding.begin`."""

    steps: int = 0
    read: int = 0  # bytes of K and V that they attended to
    time: int = 0  # ns


@dataclass
class Decoding:
    """Sequences of one length, their cache, and how to attend to all its tokens.

    With `hold_a_view` a slice of the cache is held from step to step, so that MLX must copy it all
    for each token: the commonest mistake with such a cache.
    """

    sizes: Sizes
    rows: DrawnTokens
    cache: Cache
    attend: Attend
    hold_a_view: bool = False
    costs: StepCosts = field(default_factory=StepCosts)
    _spans: tuple[Span, ...] = ()
    _view: tuple[mx.array, ...] = ()
    _output: mx.array | None = None
    _started: int = 0

    def prefill(self, tokens: int) -> int:
        """Append a prompt; return how long it took, in ns."""
        start = time.monotonic_ns()
        first_rows = self.rows.run(0, tokens)
        self.cache.append(*first_rows)
        mx.eval(self.cache.keys, self.cache.values)
        return time.monotonic_ns() - start

    def submit(self) -> mx.array:
        """Make room, append a token to each sequence, and attend; hand the output over."""
        self._started = time.monotonic_ns()
        self._spans = self._room_made()
        cache = self.cache
        token = cache.length
        cache.append(*self.rows.run(token, 1))
        output = self.attend(self.rows.query(token))
        self._output = output
        mx.async_eval(output, cache.keys, cache.values)
        return output

    def wait(self, output: mx.array) -> None:
        """Wait for the result, and for the cache."""
        mx.eval(output, self.cache.keys, self.cache.values)
        self.costs.time += time.monotonic_ns() - self._started
        if self.hold_a_view:
            self._view = (self.cache.keys[:1], self.cache.values[:1])
            mx.eval(*self._view)
        self.costs.steps += 1
        self.costs.read += self.cache.kept_tokens * self.sizes.token_bytes

    def tell(self) -> StepReport:
        """Report the contents of the cache after the step, and whether it had to make room."""
        moment = time.monotonic_ns()
        tokens = self.sizes.batch * self.cache.kept_tokens
        tokens_gauge = Gauge("tokens_held", tokens, moment, "tokens")
        bytes_gauge = Gauge("bytes_held", self.cache.nbytes, moment, "bytes")
        copies_gauge = Gauge("bytes_copied", self.cache.copied, moment, "bytes")
        return StepReport(
            spans=self._spans,
            gauges=(
                tokens_gauge,
                bytes_gauge,
                copies_gauge,
            ),
        )

    def begin(self) -> None:
        """Count from here on."""
        self.costs = StepCosts()

    def extra_memory(self) -> int:
        """Make one more step, without growth; return the bytes it took in addition to the cache.

        It takes next to nothing if MLX writes in place, the whole cache if it copies.
        """
        self._room_made()
        mx.synchronize()
        mx.reset_peak_memory()
        memory_before = mx.get_active_memory()
        self.wait(self.submit())
        return mx.get_peak_memory() - memory_before

    def error(self) -> float:
        """Return the relative error of the last result, of the first and the last sequence.

        Raises ToolError if it is larger than the type allows.
        """
        assert self._output is not None
        sequences = sorted({0, self.sizes.batch - 1})
        length = self.cache.length
        kept_tokens = self.cache.kept_tokens
        scale = self.sizes.head_dim**-0.5
        expected: list[tolerances.Floats] = []
        for sequence in sequences:
            result = compute_expected(
                self.rows, sequence, length=length, kept_tokens=kept_tokens, scale=scale
            )
            expected.append(result)
        checked_output = tolerances.as_float64(self._output)[sequences]
        error = tolerances.relative_error(checked_output, np.stack(expected))
        return tolerances.require_accuracy(
            error, self.sizes.dtype, f"Attention after {length} tokens"
        )

    def _room_made(self) -> tuple[Span, ...]:
        """Let the cache grow if it must, and wait for that, so that the span holds its copy."""
        start = time.monotonic_ns()
        if not self.cache.grow(1):
            return ()
        mx.eval(self.cache.keys, self.cache.values)
        name = "allocate" if isinstance(self.cache, PagedCache) else "grow"
        return (Span(name, start, time.monotonic_ns()),)
