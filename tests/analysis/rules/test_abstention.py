"""What no rule can know: whose work it is, what a GPU did where a CPU worked, what names hide."""

import pytest

from analysed import MS, intervals, judge_tables
from tracekit.analysis.inject import Unavailable
from tracekit.analysis.rule import HEADS, Rule
from tracekit.analysis.rules import RULES

OF_NAMES = (
    *("gather-share", "scatter-encoder", "metadata-per-layer"),
    *("unfused-attention", "avoidable-kernels"),
)
OF_A_GPU = (
    *("gpu-contended", "gpu-downclocked", "shader-spills", "performance-cliff", "left-out-time"),
    *("frequent-command-buffers", "tiny-encoders", "late-start", "host-bound", "shallow-queue"),
    *("low-occupancy", "memory-bound", "compute-bound", "other-limiter", "lost-residency"),
    *("roofline-distance", "cache-resident", *OF_NAMES),
)


@pytest.mark.parametrize("rule", OF_A_GPU)
def test_rules_of_a_gpu_abstain_on_a_cpu_and_without_work_of_the_target(rule: str) -> None:
    for frame, is_known, reason in (
        (intervals([(0, MS)], clock="host"), True, "ran on the CPU"),
        (intervals([(0, MS)]), False, "target is not known"),
        (intervals([], other_times=[(0, 1)]), True, "none of the 1 rows belongs"),
    ):
        with pytest.raises(Unavailable, match=reason):
            judge_tables(rule, gpu_intervals=frame, has_targets=is_known)


@pytest.mark.parametrize("rule", OF_NAMES)
def test_rules_of_names_abstain_on_default_labels(rule: str, subtests: pytest.Subtests) -> None:
    for label in ("Command Buffer 0:Compute Command 0", ""):
        with subtests.test(label), pytest.raises(Unavailable, match="do not name kernels"):
            judge_tables(rule, gpu_intervals=intervals([(0, 10), (20, 10)]).assign(label=label))


def test_a_rule_says_all_that_its_heads_promise_or_raises() -> None:
    assert all(tuple(rule.sections) == HEADS for rule in RULES.values())
    rule = Rule("silent")
    vars(rule)["_source"] = "Title.\n\nWhy it matters:\n    So.\n\nWhen it abstains:\n", "Do."
    with pytest.raises(ValueError, match=r"silent does not say: What it looks for, When it abst"):
        _ = rule.sections
