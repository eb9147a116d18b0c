"""Who is served next: admission in the order of arrival, blocks for all that a request needs."""

from collections import deque
from collections.abc import Sequence as Several
from dataclasses import dataclass, field

from tracekit.base.errors import UsageError
from tracekit.ops.cache.blocks import Blocks
from tracekit.ops.serving.schedule import Job


@dataclass(eq=False)
class RunningSequence:
    """A request on its way.

    Attributes:
        job: What was asked.
        scheduled: When it was to arrive, in ns of the engine's clock.
        slot: Its row of the batch; -1 before it is admitted.
        blocks: Its blocks, in the order of its tokens.
        admitted: When it got them.
        prefilled: Tokens of its prompt that are in the cache.
        tokens: When each of its tokens was there.
    """

    job: Job
    scheduled: int
    slot: int = -1
    blocks: list[int] = field(default_factory=list[int])
    admitted: int | None = None
    prefilled: int = 0
    tokens: list[int] = field(default_factory=list[int])

    @property
    def prompted(self) -> bool:
        """Whether the whole prompt is in the cache."""
        return self.prefilled == self.job.prompt_tokens

    @property
    def finished(self) -> bool:
        """Whether it has all tokens that it asked for."""
        return len(self.tokens) == self.job.output_tokens

    @property
    def context(self) -> int:
        """Tokens that its next decode step attends to, the newest one included."""
        return self.job.prompt_tokens + len(self.tokens)


@dataclass(frozen=True)
class Chunk:
    """A piece of a prompt: `count` tokens from `first` on."""

    sequence: RunningSequence
    first: int
    count: int

    @property
    def last(self) -> bool:
        """Whether the prompt ends with it."""
        return self.first + self.count == self.sequence.job.prompt_tokens


@dataclass(frozen=True)
class Plan:
    """What one tick does: a piece of at most one prompt, and a token for each that decodes."""

    chunk: Chunk | None = None
    decoding: Several[RunningSequence] = ()

    @property
    def tokens(self) -> int:
        """Tokens that it produces: the end of a prompt gives the first one."""
        return len(self.decoding) + (self.chunk is not None and self.chunk.last)


class Scheduler:
    """The queue, the batch and the blocks.

    A request waits until there is a slot, and blocks for its prompt and its whole output, so
    that none ever has to be put off again. First come, first served: one that waits for blocks
    holds up those behind it, small as they may be.

    Args:
        slots: Sequences that are served at a time.
        blocks: The pool.
        block_size: Tokens of a block.
        prefill_chunk: Tokens of a prompt that one tick takes at most.
    """

    def __init__(self, *, slots: int, blocks: Blocks, block_size: int, prefill_chunk: int) -> None:
        for name, value in (("--max-seqs", slots), ("--prefill-chunk", prefill_chunk)):
            if value < 1:
                raise UsageError(f"{name} must be at least 1; it is {value}.")
        self.slots = slots
        self.blocks = blocks
        self.waiting: deque[RunningSequence] = deque()
        self.active: list[RunningSequence] = []
        self._free_slots = list(range(slots - 1, -1, -1))
        self._block_size = block_size
        self._chunk = prefill_chunk

    @property
    def empty(self) -> bool:
        """Whether there is nobody to serve."""
        return not self.waiting and not self.active

    def needed(self, job: Job) -> int:
        """Return the blocks that a request needs."""
        return -(-job.tokens // self._block_size)

    def refusal(self, job: Job) -> str:
        """Return why a request can never be served; nothing if it can."""
        needed = self.needed(job)
        if needed <= self.blocks.count:
            return ""
        return (
            f"{job.prompt_tokens} + {job.output_tokens} tokens need {needed} blocks of "
            f"{self._block_size}; the pool has {self.blocks.count}"
        )

    def arrive(self, sequence: RunningSequence) -> None:
        """Put a request at the end of the queue; it must be one that is not refused."""
        self.waiting.append(sequence)

    def admit(self, now: int) -> list[RunningSequence]:
        """Give slots and blocks to as many as can have them, from the head of the queue on."""
        admitted: list[RunningSequence] = []
        while self.waiting and self._free_slots:
            needed = self.needed(self.waiting[0].job)
            if needed > self.blocks.free_count:
                break
            one = self.waiting.popleft()
            one.blocks = self.blocks.allocate(needed)
            one.slot = self._free_slots.pop()
            one.admitted = now
            admitted.append(one)
        self.active += admitted
        return admitted

    def plan(self) -> Plan:
        """Return what the next tick is to do; prompts are taken in the order of admission."""
        decoding = [one for one in self.active if one.prompted]
        unprompted = next((one for one in self.active if not one.prompted), None)
        if unprompted is None:
            return Plan(None, decoding)
        left = unprompted.job.prompt_tokens - unprompted.prefilled
        return Plan(Chunk(unprompted, unprompted.prefilled, min(left, self._chunk)), decoding)

    def complete(self, plan: Plan, at: int) -> list[RunningSequence]:
        """Note that a plan is done; retire whoever has all tokens, and return them."""
        producing = list(plan.decoding)
        if plan.chunk is not None:
            plan.chunk.sequence.prefilled += plan.chunk.count
            if plan.chunk.last:
                producing.append(plan.chunk.sequence)
        for one in producing:
            one.tokens.append(at)
        retired = [one for one in producing if one.finished]
        for one in retired:
            self.blocks.free(one.blocks)
            self._free_slots.append(one.slot)
            self.active.remove(one)
        return retired
