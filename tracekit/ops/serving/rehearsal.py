"""What comes before a run: every shape of the hot path once, and proof that results are right."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median

import mlx.core as mx
import numpy as np

from tracekit.base.tolerances import accepted, as_float64, relative_error
from tracekit.ops.attention.reference import reference
from tracekit.ops.serving.clock import Clock
from tracekit.ops.serving.model import Model
from tracekit.ops.serving.schedule import Job
from tracekit.ops.serving.scheduler import Chunk, RunningSequence

_DECODED = 3


@dataclass(frozen=True)
class Cost:
    """What a run is made of, in ns: a decode step of a full batch, and a piece of a prompt."""

    decode: float
    chunk: float

    def load(self, jobs: tuple[Job, ...], *, seconds: float, slots: int, chunk: int) -> float:
        """Return the share of the time that the jobs need if decode steps are always full.

        More than 1 means that the queue grows without end.
        """
        pieces = sum(-(-job.prompt_tokens // chunk) for job in jobs)
        tokens = sum(job.output_tokens - 1 for job in jobs)
        return (pieces * self.chunk + tokens / slots * self.decode) / (seconds * 1e9)


def rehearse(model: Model) -> Iterator[tuple[Chunk, list[RunningSequence]]]:
    """Yield work of every shape there is, again and again; it touches no block of a request.

    The decode step has as many sequences as there are slots, half as long as they may get.
    """
    shape = model.shape
    half = max(1, shape.longest // 2)
    nowhere = [shape.blocks] * shape.max_blocks
    prompt = RunningSequence(Job(0, 0, shape.longest, 1), 0, blocks=nowhere)
    batch = [RunningSequence(Job(0, 0, half, 1), 0, slot, nowhere) for slot in range(shape.slots)]
    starts = range(0, shape.longest, shape.chunk)
    for first in itertools.cycle(starts):
        yield Chunk(prompt, first, min(shape.chunk, shape.longest - first)), batch


def measure(model: Model, clock: Clock, *, rounds: int = 3) -> Cost:
    """Run every shape once to compile it, and then a few of them to see what they cost."""
    pieces = rehearse(model)
    shapes = -(-model.shape.longest // model.shape.chunk)
    chunks: list[int] = []
    decodes: list[int] = []
    for number in range(shapes + rounds):
        chunk, batch = next(pieces)
        begin = clock.now()
        model.write_prompt(chunk)
        model.wait(model.attend_prompt(chunk))
        middle = clock.now()
        model.write_tokens(batch)
        model.wait(model.attend_tokens(batch))
        if number >= shapes:
            chunks.append(middle - begin)
            decodes.append(clock.now() - middle)
    return Cost(median(decodes), median(chunks))


def verify(model: Model) -> float:
    """Serve a few sequences and compare what comes out with a float64 reference.

    The reference takes keys and values from the drawn contents, not from the pages: so pages,
    tables and appends are checked with the attention.

    Returns:
        The largest relative error.

    Raises:
        ToolError: It is larger than the type allows.
    """
    worst = 0.0
    for one in _samples(model):
        out = _prefilled(model, one)
        worst = max(worst, _error(model, one.job, one.job.prompt_tokens, out))
        for at in range(one.job.output_tokens - 1):
            one.tokens.append(at)
            model.write_tokens([one])
            decoded = model.attend_tokens([one])[one.slot]
            worst = max(worst, _error(model, one.job, one.context, decoded))
    return accepted(worst, model.shape.dtype, "Attention")


def _samples(model: Model) -> Iterator[RunningSequence]:
    """Yield sequences in shuffled blocks: one as long as may be, one of odd length, the least."""
    shape = model.shape
    most = min(shape.longest, shape.blocks * shape.block_size)
    blocks = np.random.default_rng(0).permutation(shape.blocks).tolist()
    for slot, tokens in enumerate((most, max(2, most // 2 - 1), 2)):
        output = min(1 + _DECODED, tokens - 1)
        job = Job(slot, 0, tokens - output, output, content=ROWS_APART * slot)
        needed = -(-tokens // shape.block_size)
        yield RunningSequence(job, 0, slot % shape.slots, blocks[:needed])


ROWS_APART = 331  # contents of the samples that differ


def _prefilled(model: Model, one: RunningSequence) -> mx.array:
    """Prefill a prompt; return what its last token attended to."""
    prompt, size = one.job.prompt_tokens, model.shape.chunk
    out, count = model.queries, 0
    for first in range(0, prompt, size):
        count = min(size, prompt - first)
        chunk = Chunk(one, first, count)
        model.write_prompt(chunk)
        out = model.attend_prompt(chunk)
    return out[0, :, count - 1]


def _error(model: Model, job: Job, context: int, out: mx.array) -> float:
    """Return the relative error of the newest of `context` tokens."""
    rows = mx.array(model.content_rows(job.content, context))
    keys, values = as_float64(model.keys[rows])[None], as_float64(model.values[rows])[None]
    expected = as_float64(model.queries[rows[-1:]])
    alone = np.zeros((1, 1), np.int32)
    for _ in range(model.shape.layers):
        expected = reference(
            expected, keys, values, alone, np.array([context], np.int32), scale=model.shape.scale
        )
    return relative_error(as_float64(out[None]), expected)
