"""The load: every request of a run, known before it begins."""

from dataclasses import dataclass

import numpy as np

from tracekit.ops.serving.arrivals import Rate, draw_arrivals
from tracekit.ops.serving.lengths import Lengths

_CONTENTS = 2**31


@dataclass(frozen=True)
class Load:
    """What is asked of the server, as a user chooses it.

    Attributes:
        rate: Requests per second over time.
        prompts: How long prompts are.
        outputs: How many tokens are asked for.
        duration: Seconds of the schedule, unless `count` says how many requests it has.
        count: Requests of the schedule; None to go by `duration`.
        burstiness: 1 is a Poisson process; see `draw_arrivals`.
        seed: Equal seeds draw equal loads.
    """

    rate: Rate
    prompts: Lengths
    outputs: Lengths
    duration: float = 10.0
    count: int | None = None
    burstiness: float = 1.0
    seed: int = 0

    @property
    def longest(self) -> int:
        """Tokens of prompt and output that no request exceeds."""
        return self.prompts.most + self.outputs.most


@dataclass(frozen=True)
class Job:
    """One request as the schedule has it.

    Attributes:
        number: Its place in the schedule, from 0.
        at: When it arrives, in ns from the start of the run.
        prompt_tokens: Tokens of its prompt.
        output_tokens: Tokens that it asks for.
        content: What its keys, values and queries are drawn from: any whole number.
    """

    number: int
    at: int
    prompt_tokens: int
    output_tokens: int
    content: int = 0

    @property
    def tokens(self) -> int:
        """Tokens that it needs room for."""
        return self.prompt_tokens + self.output_tokens


def draw_schedule(load: Load) -> tuple[Job, ...]:
    """Draw all requests of a load, by arrival.

    Arrivals, prompts, outputs and contents have a stream of random numbers each: another rate
    leaves the lengths as they are.

    Raises:
        UsageError: The schedule would hold no request.
    """
    arrivals = draw_arrivals(
        load.rate,
        duration=load.duration,
        count=load.count,
        burstiness=load.burstiness,
        seed=load.seed,
    ).tolist()
    prompts = load.prompts.draw(len(arrivals), np.random.default_rng([load.seed, 1]))
    outputs = load.outputs.draw(len(arrivals), np.random.default_rng([load.seed, 2]))
    contents = np.random.default_rng([load.seed, 3]).integers(0, _CONTENTS, len(arrivals))
    columns = zip(arrivals, prompts, outputs, contents.tolist(), strict=True)
    return tuple(Job(number, *one) for number, one in enumerate(columns))
