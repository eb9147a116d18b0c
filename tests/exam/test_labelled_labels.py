"""Labels follow from what is true of a trace: found, passed, or too near to its limit."""

import pytest

from labelled.corpus import Trace, corpus, trace_of
from labelled.facts import Facts
from labelled.faults import FAULTS, MADE_ELSEWHERE
from labelled.labels import SIZES, Label, label
from labelled.program import simulate
from labelled.required import NEEDED
from labelled.setup import MICROSECOND, MILLISECOND, Counters, Hold, Server
from labelled.submission import without_host
from small_trace import STEP, make_facts
from tracekit.analysis.rules import RULES


def test_every_rule_has_a_fault_and_a_size() -> None:
    labelled_rules = {*FAULTS, *MADE_ELSEWHERE}
    assert labelled_rules == set(RULES), "add the rule's fault to tests/exam/labelled/faults.py"
    assert set(SIZES) == set(RULES), "add the rule's size to tests/exam/labelled/labels.py"


def test_nothing_is_to_be_found_in_a_plain_trace() -> None:
    facts = make_facts(
        bytes_moved=round(0.75 * 68.25e9 * STEP / 1e9), flops=10**9, counters=Counters()
    )
    assert {rule for rule in SIZES if label(rule, facts) is not Label.PASS} == set()


MOVED = round(0.7 * 68.25e9 * STEP / 1e9)
"""Bytes of a step that keep the chip's memory busy for 70 % of its time."""
UNSEEN = {"marks": False, "missing": NEEDED["pipeline-churn"]}


def test_a_label_follows_from_the_size() -> None:
    for rule, changes, expected in (
        ("bubbles", {"ahead": 0, "late": 2 * MILLISECOND}, Label.FIND),
        ("bubbles", {"ahead": 0, "late": 200 * MICROSECOND}, Label.EITHER),
        ("late-start", {"hold": Hold(1, 2 * MILLISECOND)}, Label.FIND),
        ("late-start", {"ahead": 0, "latency": 2 * MILLISECOND}, Label.PASS),
        ("late-start", {"ahead": 0}, Label.PASS),
        ("frequent-command-buffers", {"per_buffer": 1, "switch": 60 * MICROSECOND}, Label.FIND),
        ("tiny-encoders", {"launch": 120 * MICROSECOND}, Label.FIND),
        ("shallow-queue", {"ahead": 0, "per_buffer": 99, "build": MILLISECOND}, Label.FIND),
        ("shallow-queue", {"ahead": 1, "per_buffer": 99, "build": MILLISECOND}, Label.PASS),
        ("frequent-readback", {"ahead": 0, "readbacks": 4, "per_buffer": 2}, Label.FIND),
        ("frequent-readback", {"ahead": 1, "readbacks": 1}, Label.PASS),
        ("frequent-readback", {"ahead": 0, "variants": (1.0, 2.0), "marks": False}, Label.EITHER),
        ("pipeline-churn", {"compiles": ((3, MILLISECOND),)}, Label.FIND),
        ("pipeline-churn", {"foreign_compiles": 2}, Label.PASS),
        ("pipeline-churn", {"foreign_compiles": 2, "marks": False}, Label.EITHER),
        ("shader-spills", {"spilled": 256, "version": "27.0"}, Label.FIND),
        ("shader-spills", {"spilled": 256, "version": "26.0"}, Label.PASS),
        ("gpu-contended", {"rival": Hold(20 * MILLISECOND, 4 * MILLISECOND)}, Label.FIND),
        ("irregular-cadence", {"swing": 0.3}, Label.PASS),
        ("uneven-work", {"swing": 0.3, "steps": 40}, Label.FIND),
        ("uneven-work", {"uneven": 0.05}, Label.PASS),
        ("growing-steps", {"drift": 0.5, "steps": 40}, Label.FIND),
        ("growing-steps", {"drift": 0.1, "steps": 40}, Label.PASS),
        ("step-spikes", {"spikes": ((9, 2 * STEP),)}, Label.FIND),
        ("step-spikes", {"spikes": ((9, STEP // 20),)}, Label.PASS),
        ("step-spikes", {"spikes": ((9, 2 * STEP),), "marks": False}, Label.EITHER),
        ("step-spikes", {"ahead": 0, "compiles": ((9, 2 * STEP),)}, Label.PASS),
        ("step-spikes", {"ahead": 0, "compiles": ((9, 2 * STEP),), **UNSEEN}, Label.EITHER),
        (
            "step-spikes",
            {"ahead": 0, "compiles": ((9, 2 * STEP),), "spikes": ((4, 2 * STEP),)},
            Label.FIND,
        ),
        ("gpu-downclocked", {"clock": (0.5, 0.5)}, Label.FIND),
        ("gpu-downclocked", {"clock": (0.5, 0.0)}, Label.PASS),
        ("thermal-pressure", {"thermal": "Critical"}, Label.FIND),
        ("thermal-pressure", {"thermal": "Fair"}, Label.PASS),
        ("memory-growth", {"leak": 8 << 20}, Label.FIND),
        ("memory-growth", {"leak": 1 << 10, "swing_of_memory": 99 << 20}, Label.PASS),
        ("hot-allocations", {"allocations": 4}, Label.FIND),
        ("lost-residency", {"wiring": MILLISECOND, "wired": 99 << 20, "ahead": 0}, Label.FIND),
        ("low-occupancy", {"counters": Counters(only_ray_tracing=True)}, Label.PASS),
        ("compute-bound", {"counters": Counters(alu=0.95)}, Label.FIND),
        ("other-limiter", {"counters": Counters(other=0.95)}, Label.FIND),
        ("roofline-distance", {"bytes_moved": 10**8, "flops": 1}, Label.FIND),
        ("roofline-distance", {"bytes_moved": MOVED, "flops": 1}, Label.PASS),
        ("roofline-distance", {"bytes_moved": MOVED, "flops": 1, "cliff": (2, 2.0)}, Label.FIND),
        ("cache-resident", {"bytes_moved": 2 * 10**9, "flops": 1}, Label.FIND),
        ("serial-prefill", {"ahead": 0, "server": Server(5, 6 * STEP, alone=True)}, Label.FIND),
        ("serial-prefill", {"ahead": 0, "server": Server(5, 6 * STEP, alone=False)}, Label.PASS),
        ("capture-empty", {"empty": True}, Label.FIND),
        ("bubbles", {"empty": True, "ahead": 0, "late": 9 * MILLISECOND}, Label.PASS),
        ("capture-truncated", {"cut": 0.5}, Label.FIND),
        ("capture-truncated", {"stopped": 0.5}, Label.EITHER),
        ("capture-truncated", {"stopped": 0.2}, Label.FIND),
        ("bubbles", {"stopped": 0.5}, Label.EITHER),
        ("schema-drift", {"drifted": "start-latency"}, Label.FIND),
        ("trace-overhead", {"overhead": 0.2}, Label.FIND),
        ("trace-overhead", {"overhead": 0.055}, Label.EITHER),
        ("trace-overhead", {"overhead": 0.01}, Label.PASS),
        ("memory-bound", {"counters": Counters(memory=0.85, alu=0.3, bandwidth=0.5)}, Label.FIND),
        ("memory-bound", {"counters": Counters(memory=0.4, alu=0.3, bandwidth=0.82)}, Label.FIND),
        ("memory-bound", {"counters": Counters(memory=0.85, alu=0.5)}, Label.EITHER),
        ("memory-bound", {"counters": Counters(memory=0.7, alu=0.3)}, Label.EITHER),
        ("memory-bound", {"counters": Counters(memory=0.58, alu=0.3)}, Label.PASS),
        ("other-limiter", {"counters": Counters(other=0.9, alu=0.85)}, Label.EITHER),
        ("low-occupancy", {"counters": Counters(occupancy=0.2)}, Label.FIND),
        ("low-occupancy", {"counters": Counters(occupancy=0.2, memory=0.9)}, Label.EITHER),
        ("low-occupancy", {"counters": Counters(occupancy=0.3)}, Label.EITHER),
        ("low-occupancy", {"counters": Counters(occupancy=0.4)}, Label.PASS),
        (
            "roofline-distance",
            {"bytes_moved": 10**8, "flops": 10**8, "ahead": 0, "server": Server(5, STEP, True)},
            Label.EITHER,
        ),
    ):
        assert label(rule, make_facts(**changes)) is expected, (rule, changes)


def test_a_seed_gives_one_trace_of_one_part() -> None:
    seeds: list[set[int]] = []
    for part in ("tune", "score"):
        traces = list(corpus(part, each=2, clean_traces=2))
        assert [trace_of(trace.seed) for trace in traces] == traces, part
        assert {trace.kind for trace in traces} == {"clean", "mixed", *FAULTS}, part
        seeds.append({trace.seed for trace in corpus(part)})
    assert not seeds[0] & seeds[1]
    assert len(seeds[0]) == len(seeds[1]) > 200 + 20 * len(FAULTS)


@pytest.mark.campaign
@pytest.mark.parametrize("rule", FAULTS)
def test_a_fault_is_drawn_until_it_matters_and_can_be_healed(rule: str) -> None:
    place = 1 + list(FAULTS).index(rule)
    setup = Trace(place * 10_000, (rule,)).setup()
    facts = Facts(simulate(setup))
    assert label(rule, facts) is Label.FIND
    heal = FAULTS[rule].heal
    if heal is not None:
        healed = Facts(simulate(heal(setup)))
        assert healed.length < facts.length
        assert label(rule, healed) is not Label.FIND


def test_faults_that_a_trace_cannot_show_need_not_be_found() -> None:
    hot, incomplete_facts = (
        make_facts(clock=(0.5, 0.5)),
        make_facts(clock=(0.5, 0.5), missing=NEEDED["gpu-downclocked"]),
    )
    assert label("gpu-downclocked", hot) is Label.FIND
    assert label("gpu-downclocked", incomplete_facts) is Label.EITHER
    assert label("gpu-downclocked", make_facts(missing=NEEDED["gpu-downclocked"])) is Label.PASS
    assert set(NEEDED) < set(SIZES)


def test_a_host_without_cost_leaves_only_compiles() -> None:
    slow = make_facts(ahead=0, late=2 * MILLISECOND, compiles=((4, 9 * MILLISECOND),))
    hostless_facts = Facts(simulate(without_host(slow.world.setup)))
    assert hostless_facts.busy == pytest.approx(slow.busy, rel=0.01)
    assert hostless_facts.idle_time() == pytest.approx(hostless_facts.idle_time("compile"), rel=0.1)
    assert hostless_facts.idle_time("compile") == pytest.approx(slow.idle_time("compile"), rel=0.1)
    lost_time = slow.idle_time() - slow.idle_time("compile")
    assert slow.length - hostless_facts.length == pytest.approx(lost_time, rel=0.1)
