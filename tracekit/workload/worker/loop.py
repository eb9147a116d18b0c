"""The hot loop: step, mark, look whether to go on."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from tracekit.workload.told import REFERENCE, Told
from tracekit.workload.worker.account import Teller
from tracekit.workload.workload import Step

_NEVER = 2**63 - 1
FEWEST = 3  # steps that are made whatever the clock says


@dataclass
class Stop:
    """How often somebody asked to stop; counted by a signal, read between steps.

    `abandoned` tells that the recorder is gone, so that there is nobody left to work for.
    """

    requests: int = 0
    abandoned: bool = False
    _settled: int = 0

    @property
    def requested(self) -> bool:
        """Whether anybody asked since the last settlement."""
        return self.requests > self._settled

    def settle(self) -> bool:
        """Count what was asked so far as done; return whether anything was."""
        heard, before = self.requests, self._settled
        self._settled = heard
        return heard > before


@dataclass
class Loop:
    """A step, and what is known of it so far.

    `last` is how long the last step took, in ns. `between` is called before each marked step,
    whose time it is not. `referenced` tells that the workload times reference work itself.
    """

    step: Step
    account: Teller
    stop: Stop
    known: set[str] = field(default_factory=set[str])
    last: int = 0
    between: Callable[["Loop"], None] | None = None
    referenced: bool = False

    def run(self, phase: str, most: int, deadline: int, fewest: int = FEWEST) -> int:
        """Make and mark up to `most` steps until `deadline`, monotonic ns; return how many.

        `fewest` are made whatever the clock says.
        """
        clock, submit, wait = time.monotonic_ns, self.step.submit, self.step.wait
        tell, exhausted, stop = self._tell, self.step.exhausted, self.stop
        made = 0
        while made < most and not stop.requested and not exhausted():
            if self.between is not None:
                self.between(self)
            start = clock()
            if start >= deadline and made >= fewest:
                break
            work = submit()
            submitted = clock()
            wait(work)
            completed = clock()
            tell(phase, start, submitted, completed)
            self.last = completed - start
            made += 1
            self.look()
        return made

    def _tell(self, phase: str, start: int, submitted: int, completed: int) -> None:
        mark = self.account.mark
        times = {"phase": phase, "start": start, "submitted": submitted, "completed": completed}
        if self.step.tell is None:
            mark("step", **times)
            return
        told = self.step.tell()
        mark("step", **times, variant=told.variant, tokens=told.tokens)
        self.say(told)

    def say(self, told: Told) -> None:
        """Mark the spans, gauges and requests that the workload tells of."""
        mark = self.account.mark
        for name, things in (("span", told.spans), ("gauge", told.gauges)):
            for one in things:
                mark(name, **vars(one))
        self.referenced |= any(one.name == REFERENCE for one in told.gauges)
        for request in told.requests:
            mark("request", **vars(request))

    def run_unrecorded(self, steps: int, deadline: int = _NEVER) -> int:
        """Make up to `steps` steps until `deadline`, and tell nobody; return how many were made.

        As with those that are told, the first few are made whatever the clock says.
        """
        submit, wait, exhausted = self.step.submit, self.step.wait, self.step.exhausted
        for made in range(steps):
            if exhausted() or (made >= FEWEST and time.monotonic_ns() >= deadline):
                return made
            wait(submit())
        return steps

    def look(self) -> bool:
        """Mark the pipelines that are new since the last look; return whether there are any."""
        names = self.step.specializations()
        if len(names) == len(self.known):
            return False
        at = time.monotonic_ns()
        for name in sorted(names - self.known):
            self.account.mark("specialization", name=name, at=at)
        self.known |= names
        return True
