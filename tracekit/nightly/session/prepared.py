"""A capture whose variants are there: checked out, set up, and known to be able to take turns."""

import logging
import math
from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tracekit.nightly.gate.judge import Quantity
from tracekit.nightly.history.night import Described
from tracekit.nightly.history.night import Side as Role
from tracekit.nightly.plan.plan import Capture, NightPlan
from tracekit.nightly.session.child import started
from tracekit.nightly.session.program import Bounds, Timeouts
from tracekit.nightly.session.variants import CodeVariant, candidate_of, reference_of
from tracekit.record import Supervisor

log = logging.getLogger(__name__)


@dataclass
class Prepared:
    """A capture that can be measured, with its variants and how long what is started may live.

    The capture's files lie in a folder of its own in `folder`, the night's. The last three show
    once the work runs: `backend` is where the candidate's work ran, as `Step.backend`, `results`
    are the workload's own, by name, and `remarks` what a reader must know.
    """

    capture: Capture
    folder: Path
    candidate: CodeVariant
    reference: CodeVariant | None
    described: Mapping[Role, Described]
    bounds: Bounds
    backend: str = ""
    results: dict[str, Quantity] = field(default_factory=dict[str, Quantity])
    remarks: list[str] = field(default_factory=list[str])

    @property
    def variants(self) -> tuple[CodeVariant, ...]:
        """The candidate, and the reference where there is one."""
        return (self.candidate,) if self.reference is None else (self.candidate, self.reference)

    @property
    def same_commit(self) -> str:
        """The commit, where both variants are the same code in the same interpreter; else empty."""
        asked, reference = self.capture.reference, self.reference
        if asked is None or reference is None or not asked.is_revision_alone:
            return ""
        return reference.commit if reference.commit == self.candidate.commit else ""

    @property
    def own_folder(self) -> Path:
        """The capture's folder in the night's."""
        return self.folder / self.capture.name

    def remark(self, sentence: str) -> None:
        """Keep a sentence, and tell it at once if it is new."""
        if sentence not in self.remarks:
            log.warning("%s", sentence)
            self.remarks.append(sentence)

    def log_of(self, name: str) -> Path:
        """Return the file that takes what a process says."""
        return self.own_folder / "logs" / f"{name}.log"

    def named(self, variant: CodeVariant) -> str:
        """Return what messages call a variant."""
        return f"the {variant.role} of {self.capture.name}"


@contextmanager
def prepared(
    capture: Capture,
    plan: NightPlan,
    folder: Path,
    *,
    deadline: float = math.inf,
    timeouts: Timeouts | None = None,
) -> Generator[Prepared]:
    """Make both variants of a capture ready to be measured, and let them go afterwards.

    A revision is checked out and set up, unless an earlier night did; each interpreter is started
    once, to hear what it is. At `deadline`, in monotonic seconds, the night's time is spent.
    """
    with ExitStack() as stack:
        supervisor = stack.enter_context(Supervisor(folder))
        bounds = Bounds(supervisor, timeouts or Timeouts(), deadline)
        candidate = candidate_of(capture, plan)
        reference = stack.enter_context(reference_of(capture, plan, candidate, bounds))
        described: dict[Role, Described] = {}
        found = Prepared(capture, folder, candidate, reference, described, bounds)
        for one in found.variants:
            with started(found.named(one), one, found.log_of(one.role), bounds) as child:
                described[one.role] = one.described(child.hello)
        yield found
