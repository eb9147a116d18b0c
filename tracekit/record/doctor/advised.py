"""What `auto` means on a machine that was probed: the ways to record that worked there."""

from dataclasses import replace

from tracekit.base.capabilities import Capabilities, advise
from tracekit.base.files import notes_folder
from tracekit.record.doctor import cache
from tracekit.record.doctor.identity import identify
from tracekit.record.doctor.surroundings import here
from tracekit.record.recorder import Recorder
from tracekit.workload.plan import METAL_SYSTEM_TRACE, Plan


def known_of(recorder: Recorder) -> Capabilities | None:
    """Return what a probe of this machine showed; None for the host recorder, or without one."""
    if recorder.name != "xctrace":
        return None
    return cache.recall_probe(identify(here(), recorder.version()), notes_folder())


def advised(plan: Plan, matrix: Capabilities | None) -> tuple[Plan, tuple[str, ...]]:
    """Return the plan with every `auto` that the matrix can decide, and what to say of it.

    What a user asked for by name stays, and so does all of a machine that was never probed.
    A template of one's own has its own counter set, so nothing is added to it.
    """
    if matrix is None:
        return plan, ()
    undecided = plan.counters == "auto" and plan.templates == (METAL_SYSTEM_TRACE,)
    way = advise(matrix, counters=undecided or plan.counters == "on")
    notes: list[str] = []
    if plan.method == "auto" and plan.workload is not None and way.mode == "attach":
        plan = replace(plan, method="attach")
        notes.append(f"The workload was attached to: {way.reason}. `--method` chooses.")
    if undecided and way.counters and (plan.method, way.mode) != ("launch", "attach"):
        plan = replace(plan, counters="on")
        notes.append(
            f"GPU counters were asked for: {_seen(matrix)}. `--counters off` leaves them out."
        )
    return plan, tuple(notes)


def _seen(matrix: Capabilities) -> str:
    working = [one for one in matrix.combinations if one.counters and one.works]
    slowest = max((one.saving for one in working if one.saving is not None), default=None)
    took = "" if slowest is None else f"; saving took {slowest:.0f} s"
    return f"they came when this machine was probed{took}"
