"""A workload for workers whose steps and preparation run the given Python."""

_TEXT = '''
import os, signal, sys, time
from tracekit.base.errors import UsageError
from tracekit.workload import Step, workload

made = 0

def wait(_):
    global made
    made += 1
    {step}

@workload
def naps() -> Step:
    """Sleep a little in each step."""
    {prepare}
    return Step(submit=lambda: None, wait=wait, backend="cpu", tokens=3)
'''


def naps_that(step: str = "time.sleep(0.002)", prepare: str = "pass") -> str:
    return _TEXT.format(step=step, prepare=prepare)
