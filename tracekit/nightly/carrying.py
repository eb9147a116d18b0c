"""All captures of a night: made ready, checked before anything is measured, then measured."""

from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from tracekit.base.errors import InterruptedRunError, TracekitError
from tracekit.machine.watch import Watch
from tracekit.nightly.history.night import Described, Entry, Outcome
from tracekit.nightly.plan.plan import Capture
from tracekit.nightly.session.checks import check
from tracekit.nightly.session.errors import BudgetSpentError, ParityError
from tracekit.nightly.session.prepared import Prepared, prepared
from tracekit.nightly.sitter import Sitter
from tracekit.nightly.terms import Terms
from tracekit.nightly.work import work_of

_STOPPED_BEFORE = "It was not measured, for the night was stopped before."
_STOPPED = "It was interrupted."
_NOT_BEGUN = "It was not measured, for what was checked first does not hold."


class Carrier:
    """Carries out the captures of a plan, one after the other.

    `partial` tells that some were not measured, or not to their end; `interrupted` that somebody
    asked to stop.
    """

    def __init__(self, terms: Terms, captures: Sequence[Capture]) -> None:
        self._terms, self._captures = terms, captures
        self._keeper = terms.keeper
        self.partial = False
        self.interrupted = False
        self._unsound = False

    def carry_out(self) -> None:
        """Make all captures ready and check them; measure them if all that was checked holds."""
        try:
            self._carry_out()
        except KeyboardInterrupt:
            self.partial = self.interrupted = True
        except BaseException:
            self.partial = True
            raise

    def _carry_out(self) -> None:
        with ExitStack() as stack:
            ready = [one for one in (self._ready(stack, one) for one in self._captures) if one]
            for one in ready:
                if self.partial:
                    self._end(one.capture.name, Outcome.INCONCLUSIVE, _STOPPED_BEFORE)
                elif self._unsound:
                    self._end(one.capture.name, Outcome.INCONCLUSIVE, _NOT_BEGUN)
                else:
                    self._measure(one)
        self.partial |= self._unsound or len(self._keeper.night.entries) < len(self._captures)

    def _ready(self, stack: ExitStack, capture: Capture) -> Prepared | None:
        """Make a capture ready and check it; None where it is not to be measured."""
        if self.partial:
            return None
        self._terms.progress(f"{capture.name}: making ready")
        work = work_of(capture, self._terms.plan.file.parent)
        planned = Described(capture.workload, capture.parameters, words=capture.workload)
        self._keeper.put(Entry(capture.name, work, planned))
        with self._ending(capture.name):
            one = stack.enter_context(
                prepared(
                    capture,
                    self._terms.plan,
                    self._keeper.folder.folder,
                    deadline=self._terms.deadline,
                )
            )
            self._describe(one)
            self._terms.progress(f"{capture.name}: checking")
            parity = check(one, deadline=self._terms.deadline)
            self._keeper.put(replace(self._keeper.entry(capture.name), parity=parity))
            return one
        return None

    def _describe(self, one: Prepared) -> None:
        entry = self._keeper.entry(one.capture.name)
        described = one.described
        self._keeper.put(
            replace(
                entry,
                candidate=described["candidate"],
                reference=described.get("reference"),
            )
        )

    def _measure(self, one: Prepared) -> None:
        entry = self._keeper.entry(one.capture.name)
        accepted = self._terms.accepted.get(entry.capture)
        with self._ending(entry.capture), Watch(one.capture.telemetry) as watch:
            sitter = Sitter(one, self._terms, accepted, watch)
            try:
                sitter.sit()
            except (BudgetSpentError, KeyboardInterrupt):
                sitter.judge()
                raise

    @contextmanager
    def _ending(self, capture: str) -> Generator[None]:
        """Write down how a capture ended where it did not come to its end."""
        try:
            yield
        except BudgetSpentError as error:
            self.partial = True
            self._end(capture, Outcome.INCONCLUSIVE, _told(error))
        except (KeyboardInterrupt, InterruptedRunError):
            self.partial = self.interrupted = True
            self._end(capture, Outcome.INCONCLUSIVE, _STOPPED)
        except ParityError as error:
            self._unsound = True
            self._end(capture, Outcome.FAILED, _told(error))
        except TracekitError as error:
            self._end(capture, Outcome.FAILED, _told(error))

    def _end(self, capture: str, outcome: Outcome, reason: str) -> None:
        """Write down how a capture ended; a regression that was reproduced stays one."""
        entry = self._keeper.entry(capture)
        worse = [one for one in entry.judged if one.outcome is Outcome.REGRESSION]
        if worse:
            outcome = Outcome.REGRESSION
            reason = " ".join([*(f"{one.metric}: {one.reason}" for one in worse), reason])
        self._keeper.put(replace(entry, outcome=outcome, reason=reason))


def _told(error: TracekitError) -> str:
    return f"{error.message} {error.hint}".strip()
