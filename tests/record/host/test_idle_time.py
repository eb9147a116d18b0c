"""What a recording of the host claims of idle time, for workloads of many kinds.

Each kind stands with what must be said of it: that idle time is not known, and why; that there is
next to none; or how much there is at least. Whether other threads did all the work of a step that
is complete when `submit` returns depends on the machine, so that either is right of such a step.

A machine with other work delays steps between their waits, which is idle time of the target as
well, and makes the waits longer: each workload writes when its submits and its waits began and
ended. The time between waits is allowed, and most of the time within submits is demanded where
idle time is expected.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from page_words import readable

WORKLOAD = '''
import threading
import time

import mlx.core as mx
import numpy as np

from tracekit.workload import Step, workload

LEFT = np.random.default_rng(0).random((160, 160), dtype=np.float32)
LARGE = np.random.default_rng(0).random((640, 640), dtype=np.float32)  # far longer than a note
ARRAY = mx.array(LEFT)
WAITS = {waits!r}


def lazily():
    with mx.stream(mx.cpu):
        out = ARRAY
        for _ in range(4):
            out = mx.softmax(out @ ARRAY, axis=-1)
        return out


def sort(times):
    for _ in range(times):
        np.sort(LEFT, axis=None)


def spin(lasting):
    until = time.monotonic() + lasting
    while time.monotonic() < until:
        pass


def share_out():
    threads = [threading.Thread(target=sort, args=(4,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def work_before_waiting():
{submit}


def work_while_waiting(out):
{wait}


def submit():
    began = time.monotonic()
    out = work_before_waiting()
    return out, began, time.monotonic()


def wait(submitted):
    out, submit_began, submit_ended = submitted
    began = time.monotonic()
    work_while_waiting(out)
    with open(WAITS, "a") as waits:
        waits.write(f"{{submit_began}} {{submit_ended}} {{began}} {{time.monotonic()}}\\n")


@workload
def steps() -> Step:
    """Do what the test says."""
    return Step(submit, wait, "cpu", tokens=1)
'''
INSIDE = "inside `submit`"
SUBMIT_AHEAD = "ubmit the next iteration before you wait"  # it may stand within a sentence


@dataclass(frozen=True)
class Kind:
    """A kind of step, and what must be said of it."""

    submit: str
    wait: str = "pass"
    unknown: str = ""  # words of the reason why its idle time is not known, where it is not
    is_idle_within_submits: bool = False
    upper_bound: float = 1.0  # share of idle time, where it is known
    either: bool = False  # whether it may be known, and be next to none, or unknown
    words: str = ""  # of the finding of `bubbles`


KINDS = {
    "numpy": Kind("return LARGE @ LARGE", unknown=INSIDE),
    "numpy-on-one-thread": Kind("sort(4)", unknown=INSIDE),
    "mlx-as-array": Kind("return np.array(lazily())", unknown=INSIDE, upper_bound=0.1, either=True),
    "mlx-evaluated": Kind("mx.eval(lazily())", unknown=INSIDE, upper_bound=0.1, either=True),
    "mlx-lazy": Kind("return lazily()", "mx.eval(out)", upper_bound=0.5),
    "mlx-after-a-pause": Kind(
        "time.sleep(0.02); return lazily()",
        "mx.eval(out)",
        is_idle_within_submits=True,
        words=SUBMIT_AHEAD,
    ),
    "mixed": Kind(
        "sort(8); return lazily()", "mx.eval(out); spin(0.01)", is_idle_within_submits=True
    ),
    "threads": Kind("share_out()", unknown=INSIDE, upper_bound=0.1, either=True),
    "file": Kind("return open(mx.__file__, 'rb').read()", unknown=INSIDE),
    "sleep": Kind("time.sleep(0.003)", unknown=INSIDE),
    "sleep-while-waiting": Kind("pass", "time.sleep(0.02)", unknown="its process does not do"),
    "work-while-waiting": Kind("pass", "spin(0.01)", upper_bound=0.2),
}  # fmt: skip


def read_last_steps(waits: Path, steps: int) -> list[tuple[float, ...]]:
    """Return when the submits and waits of the last `steps` steps began and ended."""
    return [tuple(map(float, line.split())) for line in waits.read_text().splitlines()[-steps:]]


def share_between_waits(steps: list[tuple[float, ...]]) -> float:
    """Return the share of the time of some steps in which no wait lasted."""
    waited = sum(end - start for _, _, start, end in steps)
    return 1 - waited / (steps[-1][3] - steps[0][2])


def share_within_submits(steps: list[tuple[float, ...]]) -> float:
    """Return the share of the time of some steps in which a submit lasted."""
    submitted = sum(end - start for start, end, _, _ in steps[1:])
    return submitted / (steps[-1][3] - steps[0][3])


DERIVED = ("idle_ratio", "idle_host", "host_busy", "host_idle_ratio", "kernel_ceiling")


@pytest.mark.processes
@pytest.mark.parametrize("kind", KINDS)
def test_idle_time_is_claimed_if_the_marks_show_it(
    kind: str, tmp_path: Path, tracekit: Any
) -> None:
    mark_kind = KINDS[kind]
    submit, wait = (f"    {line}" for line in (mark_kind.submit, mark_kind.wait))
    waits = tmp_path / "waits.txt"
    source = WORKLOAD.format(submit=submit, wait=wait, waits=str(waits))
    (tmp_path / "steps.py").write_text(source)
    run = tmp_path / "run"
    capture_options = ("--workload", "steps", "--workloads", tmp_path, "--recorder", "host")
    capture_result = tracekit(
        "capture", *capture_options, "--repeats", "24", "--warmup", "1", "--output", run
    )
    assert capture_result.code == 0, capture_result.err
    result = json.loads((run / "result.json").read_text())
    metrics = {metric["name"]: metric for metric in result["metrics"]}
    rules = {check["rule"]: check for check in result["checks"]}
    ratio, page = metrics["idle_ratio"], readable((run / "report.html").read_text("utf-8"))
    if ratio["value"] is None:
        assert mark_kind.unknown
        assert mark_kind.unknown in ratio["reason"]
        assert {name: metrics[name]["value"] for name in DERIVED} == dict.fromkeys(DERIVED)
        assert rules["bubbles"]["status"] == "abstained"
        assert "never idle" not in page
        assert "No idle gaps: the step waits" in (run / "report.html").read_text("utf-8")
    else:
        assert mark_kind.either or not mark_kind.unknown
        last_steps = read_last_steps(waits, steps=24)
        assert ratio["value"] <= max(mark_kind.upper_bound, share_between_waits(last_steps) + 0.1)
        if mark_kind.is_idle_within_submits:
            assert ratio["value"] >= 0.7 * share_within_submits(last_steps) > 0
    words = [finding["message"] + finding["advice"] for finding in result["findings"]]
    assert mark_kind.words in " ".join(words)
    if mark_kind.unknown:  # it is told nothing that rests on a division of its steps
        for surface in (*words, page, capture_result.out + capture_result.err):
            assert SUBMIT_AHEAD not in surface
            assert ratio["value"] is not None or "worked longer for the target" not in surface
