"""Findings of all rules become those of a run: one for each stretch of time."""

from dataclasses import replace

import pytest

from tracekit.analysis.ranking import rank_findings
from tracekit.analysis.rule import Fact, Finding, Severity

NONE = {"paused": 0, "unknown_waits": 0.0, "computing": 0.0, "quantum": 0, "until_encoding": 0}
SILENT = dict.fromkeys(("causes", "lacking", "spans", "meanwhile"), "")
IDLE = Finding(
    "bubbles",
    Severity.WARNING,
    "",
    "Wait once.",
    saving=90,
    wording="bubbles",
    lever="round-trips",
    facts=(
        Fact("device", "GPU"),
        Fact("idle_share", 0.9, "ratio"),
        Fact("window", "the loop"),
        Fact("idle", 90, "ns"),
        Fact("load", 100, "ns"),
        Fact("idle_by_lever", 60, "ns"),
        Fact("reason", ""),
        *(Fact(name, value) for name, value in {**NONE, **SILENT}.items()),
    ),
)
LATE = Finding(
    "late-start",
    Severity.WARNING,
    "Starts are late.",
    "Keep one stream.",
    saving=20,
    within="bubbles",
    lever="late-start",
)
TURNS = replace(
    LATE, rule="shallow-queue", message="Each step is a round trip.", lever="round-trips", saving=45
)


def test_the_part_with_the_same_lever_gives_the_whole_its_reason_and_its_saving() -> None:
    [idle_finding] = rank_findings([TURNS, IDLE])
    assert idle_finding.rule == "bubbles"
    assert idle_finding.message == (
        "The GPU was idle for 90.0 % of the loop (90 ns of 100 ns). Each step is a round trip."
    )
    assert (idle_finding.saving, idle_finding.effects) == (45, ("shallow-queue",))


def test_a_part_with_another_lever_stays_a_finding() -> None:
    idle_finding, late = rank_findings([LATE, IDLE])
    assert (idle_finding.rule, idle_finding.effects, late.rule) == ("bubbles", (), "late-start")


def test_a_vague_lever_of_the_whole_gives_way_to_that_of_a_part_with_most_of_the_time() -> None:
    vague = replace(IDLE, lever="host-elsewhere", advice="Sample the host.", also="slow-wait")
    stops = replace(LATE, rule="step-spikes", lever="periodic-wait", advice="Log less.", saving=50)
    [finding] = rank_findings([vague, stops])
    assert (finding.lever, finding.advice, finding.also) == ("periodic-wait", "Log less.", "")
    assert finding.effects == ("step-spikes",)
    first, _ = rank_findings([vague, replace(stops, saving=40)])
    assert first.lever == "host-elsewhere"
    first, _ = rank_findings([IDLE, stops])
    assert first.lever == "round-trips"


def test_a_lever_with_nearly_all_of_the_idle_time_takes_every_part() -> None:
    [idle_finding] = rank_findings([LATE, TURNS, replace(IDLE, facts=_nearly_all_by_one_lever())])
    assert idle_finding.effects == ("shallow-queue", "late-start")


def test_a_clock_that_falls_while_the_device_waits_is_an_effect() -> None:
    clock = replace(LATE, rule="gpu-downclocked", lever="clock-bursts", within="")
    [idle_finding] = rank_findings([clock, IDLE])
    assert idle_finding.effects == ("gpu-downclocked",)
    assert [finding.rule for finding in rank_findings([clock])] == ["gpu-downclocked"]


def test_each_effect_is_a_finding_of_its_rule_within_the_whole() -> None:
    [idle_finding] = rank_findings([LATE, TURNS, replace(IDLE, facts=_nearly_all_by_one_lever())])
    effects = [(effect.rule, effect.within, effect.saving) for effect in idle_finding.as_effects()]
    assert effects == [("shallow-queue", "bubbles", None), ("late-start", "bubbles", None)]
    assert list(replace(IDLE, effects=()).as_effects()) == []


def _nearly_all_by_one_lever() -> tuple[Fact, ...]:
    other_facts = tuple(fact for fact in IDLE.facts if fact.name != "idle_by_lever")
    return (*other_facts, Fact("idle_by_lever", 81, "ns"))


@pytest.mark.parametrize(
    ("first", "second", "order"),
    [
        (Severity.NOTE, Severity.WARNING, ["b", "a"]),
        (Severity.WARNING, Severity.ERROR, ["b", "a"]),
        (Severity.WARNING, Severity.WARNING, ["a", "b"]),
    ],
)
def test_errors_come_before_warnings_and_equal_ones_by_saving(
    first: Severity, second: Severity, order: list[str]
) -> None:
    first_finding = Finding("a", first, "A.", "x", saving=5)
    second_finding = Finding("b", second, "B.", "y", saving=4)
    assert [finding.rule for finding in rank_findings([second_finding, first_finding])] == order


def test_an_advice_is_given_once() -> None:
    first_finding = Finding("a", Severity.WARNING, "A.", "Wait once.", saving=5)
    again = Finding("b", Severity.WARNING, "B.", "Wait once.", saving=4)
    assert [finding.advice for finding in rank_findings([first_finding, again])] == [
        "Wait once.",
        "",
    ]
