"""Exports of made-up programs, played through the command line: what repeats, and what is said.

Each is a program that people run: questions and answers, training with validation, a model layer by
layer, steps that grow. What must be said of it was written down before it was played. A case
between two others, or one that differs from another in two ways at once, is in the tier `campaign`.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exported import findings_of
from stock import Stock, jitter

MS = 1_000.0
GIB = 1 << 30
RHYTHM = {"step-spikes", "irregular-cadence"}


def in_campaigns(*values: object, id: str | None = None) -> Any:  # noqa: A002  as pytest.param
    """Return a case of the tier `campaign`."""
    return pytest.param(*values, id=id, marks=pytest.mark.campaign)


@pytest.fixture
def result_of(tmp_path: Path) -> Callable[[Stock], dict[str, Any]]:
    """Write a program's exports, import and analyze them; return the result."""
    return lambda stock: findings_of(tmp_path / "exported", stock.tables(), "python3")


@pytest.fixture
def played(result_of: Callable[[Stock], dict[str, Any]]) -> Callable[[Stock], list[dict[str, Any]]]:
    """Return the findings alone."""
    return lambda stock: result_of(stock)["findings"]


def rules(findings: Sequence[dict[str, Any]]) -> set[str]:
    return {finding["rule"] for finding in findings}


def of_rule(findings: Sequence[dict[str, Any]], rule: str) -> dict[str, Any]:
    [match] = [finding for finding in findings if finding["rule"] == rule]
    return match


def facts(finding: dict[str, Any]) -> dict[str, Any]:
    return {fact["name"]: fact["value"] for fact in finding["facts"]}


def step(stock: Stock, work: float, buffers: int = 1, host: float = 300) -> None:
    for _ in range(buffers):
        stock.buffer([work / buffers])
    stock.wait()
    stock.spend(host)


def questions(number: int, tokens: int, prefill: float = 600 * MS) -> Stock:
    """Answer questions of a person, who reads and types for a second or three in between."""
    stock = Stock()
    for question in range(number):
        step(stock, prefill * (0.9 + 0.2 * (question % 2)), 2)
        for factor in jitter(tokens, 0.02, question):
            step(stock, 12 * MS * factor, 3)
        stock.spend((1_000 + 700 * (question % 4)) * MS)
    return stock


def test_the_prefill_of_six_questions_is_not_a_spike_and_a_pause_is_nobodys_fault(
    played: Callable[..., Any],
) -> None:
    findings = played(questions(6, 60))
    assert not rules(findings) & (RHYTHM | {"bubbles", "host-bound", "uneven-work"})
    assert "5 pauses" in of_rule(findings, "left-out-time")["message"]


@pytest.mark.parametrize(
    ("training", "validation", "buffers", "rounds"),
    [(20, 10, 4, 12), (5, 3, 1, 30), in_campaigns(8, 2, 2, 20)],
)
def test_validation_after_every_so_many_steps_is_named_as_groups_that_come_again(
    training: int, validation: int, buffers: int, rounds: int, played: Callable[..., Any]
) -> None:
    stock = Stock()
    for factor in jitter(rounds, 0.005):
        for noise in jitter(training, 0.02, 3):
            step(stock, 40 * MS * factor * noise, buffers)
        for noise in jitter(validation, 0.02, 4):
            step(stock, 14 * MS * factor * noise)
    findings = played(stock)
    assert not rules(findings) & RHYTHM
    finding = of_rule(findings, "uneven-work")
    fact_values = facts(finding)
    assert finding["severity"] == "note"
    assert fact_values["groups"] == training + validation
    assert fact_values["times"] in {rounds - 1, rounds}  # nothing comes after the last one
    assert [fact_values["groups_1"], fact_values["groups_2"]] == [training, validation]
    assert fact_values["work_1"] == pytest.approx(40e6, rel=0.05)


@pytest.mark.parametrize(
    ("depth", "host", "parts", "waits"),
    [(100, 50, 2, False), (6, 5_000, 4, True), (100, 5_000, 2, True)],
    ids=["runs far ahead", "six ahead", "waits once a step"],
)
def test_eight_equal_blocks_on_a_device_that_never_idles_have_an_even_rhythm(
    depth: int, host: float, parts: int, *, waits: bool, played: Callable[..., Any]
) -> None:
    stock, ends = Stock(), list[float]()
    for factor in jitter(50, 0.01, 7):
        for noise in jitter(8, 0.03, len(ends)):
            for _ in range(parts):
                stock.buffer([9_500 / parts * factor * noise])
            ends.append(stock.done)
            stock.wait(ends[max(0, len(ends) - 1 - depth)])
            stock.spend(host)
        if waits:
            stock.wait()
    assert not rules(played(stock)) & RHYTHM


@pytest.mark.parametrize(("longer", "noise"), [(3, 0.02), in_campaigns(8, 0.02), (8, 0.2)])
def test_48_layers_are_not_iterations_where_every_48th_is_longer(
    longer: float, noise: float, result_of: Callable[..., Any]
) -> None:
    stock, random = Stock(), np.random.default_rng(14)
    for _ in range(20):
        for layer in range(48):
            factor = float(random.lognormal(0, noise)) * (longer if layer == 47 else 1)
            stock.buffer([400 * factor])
            stock.wait()
            stock.spend(60 * float(random.lognormal(0, 0.6)))
    result = result_of(stock)
    assert not rules(result["findings"]) & RHYTHM
    waits = {metric["name"]: metric["value"] for metric in result["metrics"]}["readbacks_per_step"]
    assert waits == pytest.approx(48, abs=1)


def test_the_programs_own_marks_take_precedence(played: Callable[..., Any]) -> None:
    stock = Stock()
    begin = stock.host_time
    for _ in range(5):
        stock.add("compiler_activity", stock.host_time, 190 * MS, compiler="x", program="Compute")
        stock.spend(190 * MS)
        step(stock, 9 * MS, 3)
    warm = stock.host_time
    for factor in jitter(80, 0.02):
        step(stock, 9 * MS * factor, 3)
    cells = {"subsystem": "tracekit", "category": "phases"}
    phases = (("warm-up", begin, warm), ("steady", warm, stock.host_time))
    for number, (name, start, end) in enumerate(phases, start=1):
        stock.add("signpost_intervals", start, end - start, name=name, identifier=number, **cells)
    findings = played(stock)
    assert not rules(findings) & {*RHYTHM, "pipeline-churn", "bubbles"}
    assert not any("202 ms" in finding["message"] for finding in findings)


@pytest.mark.parametrize("waits", [True, False], ids=["waits for each", "runs ahead"])
def test_uneven_work_is_not_an_irregular_rhythm(waits: bool, played: Callable[..., Any]) -> None:
    stock = Stock()
    for factor in jitter(200, 0.45, 4):
        stock.buffer([12 * MS * factor])
        if waits:
            stock.wait()
        else:
            stock.run_ahead()
    findings = played(stock)
    assert not rules(findings) & RHYTHM
    finding = of_rule(findings, "uneven-work")
    assert finding["severity"] == "note"
    assert facts(finding)["variation"] > 0.3


def test_a_finder_that_is_not_sure_of_a_loop_says_so(played: Callable[..., Any]) -> None:
    stock, random = Stock(), np.random.default_rng(2)
    for _ in range(300):
        odd = random.random() < 0.3
        for _ in range(int(random.integers(1, 6)) if odd else 2):
            stock.buffer([2_000 * float(random.lognormal(0, 0.1))])
        stock.wait()
        stock.spend(4_000)
    assert "a possible loop of" in of_rule(played(stock), "bubbles")["message"]


def growing(
    steps: int,
    work: tuple[float, float],
    memory: tuple[float, float],
    allocations_per_step: int = 0,
) -> Stock:
    """Let a step take longer, by a line, while memory (GiB) and allocations grow with it."""
    stock = Stock()
    shares = np.linspace(0, 1, steps).tolist()
    for share, factor in zip(shares, jitter(steps, 0.01), strict=True):
        size = round((memory[0] + (memory[1] - memory[0]) * share) * GIB)
        stock.add("allocated_sizes", stock.host_time, 0, size=size)
        cells = {
            "event": "Allocation",
            "type": "Buffer",
            "size": round((1 + 3 * share) * (1 << 20)),
        }
        for place in range(allocations_per_step):
            stock.add("resource_allocations", stock.host_time + 5 * place, **cells)
        step(stock, (work[0] + (work[1] - work[0]) * share) * factor, 6, 3_000)
    rows = stock.rows["allocated_sizes"]
    ends = [row["start"] for row in rows[1:]] + [round(stock.host_time * 1e3)]
    for row, end in zip(rows, ends, strict=True):
        row["duration"] = end - row["start"]
    return stock


def test_device_time_and_memory_that_rise_together_are_one_finding(
    played: Callable[..., Any],
) -> None:
    """The text-to-speech program of sgl-project/sglang-omni #2017."""
    findings = played(growing(120, (70 * MS, 197 * MS), (7.8, 16.5), 144))
    growth = of_rule(findings, "growing-steps")
    fact_values = facts(growth)
    assert growth is findings[0]
    assert fact_values["first"] == pytest.approx(70e6, rel=0.01)
    assert fact_values["last"] == pytest.approx(197e6, rel=0.01)
    assert fact_values["lower"] < 1.067e6 < fact_values["upper"]
    assert fact_values["slope"] == pytest.approx(1.067e6, rel=0.02)
    assert fact_values["memory_slope"] == pytest.approx(8.7 * GIB / 119, rel=0.01)
    assert fact_values["then"] == pytest.approx(325e6, rel=0.02)
    assert fact_values["memory_then"] == pytest.approx(25.2 * GIB, rel=0.01)
    assert (fact_values["allocations"], fact_values["larger"]) == (144, True)
    words = growth["message"].lower()
    assert "evenly" in words
    assert "memory rises with it" in words
    advice = growth["advice"].lower()
    assert [word for word in ("preallocate", "expand", "bound") if word not in advice] == []
    all_text = " ".join(f"{finding['message']} {finding['advice']}" for finding in findings).lower()
    assert "leak" not in all_text
    assert "clear" not in all_text
    assert not rules(findings) & {"memory-growth", "hot-allocations"}


def test_decoding_that_takes_a_few_percent_longer_is_normal(played: Callable[..., Any]) -> None:
    findings = played(growing(120, (12 * MS, 13 * MS), (5.0, 5.02)))
    assert "growing-steps" not in rules(findings)


def test_a_rise_at_one_step_says_whether_the_clock_is_known(played: Callable[..., Any]) -> None:
    tables = jumping()
    del tables["gpu_performance_states"]
    finding = of_rule(played(Tables(tables)), "performance-cliff")
    fact_values = facts(finding)
    assert fact_values["before"] == pytest.approx(114e6, rel=0.02)
    assert fact_values["after"] == pytest.approx(216e6, rel=0.02)
    assert (fact_values["place"], fact_values["clock_known"]) == (51, False)
    assert "Whether the clock fell is not known." in finding["message"]


def test_a_clock_that_falls_is_the_cause_of_a_rise(played: Callable[..., Any]) -> None:
    tables = jumping(falls=True)
    findings = played(Tables(tables))
    assert "gpu-downclocked" in rules(findings)
    assert not rules(findings) & {"performance-cliff", "growing-steps"}


class Tables:
    """Tables that take the place of a program."""

    def __init__(self, tables: dict[str, Any]) -> None:
        self.made = tables

    def tables(self) -> dict[str, Any]:
        return self.made


def jumping(*, falls: bool = False) -> dict[str, Any]:
    """Let a step take 216 ms from the 51st on, 114 ms before."""
    stock = Stock()
    border = 0.0
    for place, factor in enumerate(jitter(120, 0.03)):
        border = stock.host_time if place == 50 else border
        step(stock, (114 if place < 50 else 216) * MS * factor, 4)
    if falls:
        cells = {"induced": False, "label": ""}
        stock.add("gpu_performance_states", 0, border, state="Maximum", **cells)
        stock.add(
            "gpu_performance_states", border, stock.host_time - border, state="Minimum", **cells
        )
    return stock.tables()


@pytest.mark.parametrize("middle", [in_campaigns(40), 60, in_campaigns(80)])
def test_a_gradual_rise_is_neither_a_jump_nor_a_line(
    middle: int, played: Callable[..., Any]
) -> None:
    stock = Stock()
    for place, factor in enumerate(jitter(120, 0.03)):
        risen = 1 / (1 + np.exp(-(place - middle) / 5))
        step(stock, (114 + 102 * risen) * MS * factor, 4)
    finding = of_rule(played(stock), "growing-steps")
    fact_values = facts(finding)
    assert finding["severity"] == "note"
    assert not fact_values["even"]
    assert (fact_values["first"], fact_values["last"]) == pytest.approx((114e6, 216e6), rel=0.04)


def test_a_host_that_does_more_in_each_step_is_named(played: Callable[..., Any]) -> None:
    stock = Stock()
    for place, factor in enumerate(jitter(120, 0.01)):
        step(stock, 12 * MS * factor, 4, 2_000 + 100 * place)
    [growth] = [
        finding
        for finding in played(stock)
        if "growing-steps" in (finding["rule"], *finding.get("effects", ()))
    ]
    fact_values = facts(growth)
    assert fact_values["slope"] == pytest.approx(1e5, rel=0.05)


def draw_frames(period: float, spread: float, *, presents: float = 1.0) -> Stock:
    """Draw a frame a period, that varies by so much; a part of them are presented."""
    stock, random = Stock(), np.random.default_rng(5)
    due_time = stock.host_time
    for _ in range(200):
        due_time += period * float(1 + spread * random.uniform(-1, 1))
        stock.host_time = max(stock.host_time, due_time)
        stock.buffer([3_000 * float(random.lognormal(0, 0.2))])
        if random.random() < presents:
            stock.add("present_requests", stock.host_time, command_buffer=stock.number)
        stock.wait()
    return stock


@pytest.mark.parametrize(
    ("period", "spread", "presents"),
    [
        in_campaigns(13_500, 0.15, 1.0, id="uneven, at no rate"),
        pytest.param(13_500, 0.0, 1.0, id="even, at no rate"),
        pytest.param(16_667, 0.15, 1.0, id="uneven"),
        pytest.param(16_667, 0.15, 0.5, id="half are shown, uneven"),
    ],
)
def test_frames_are_not_paced_by_a_display_unless_they_are_even_and_at_its_rate(
    period: float, spread: float, presents: float, played: Callable[..., Any]
) -> None:
    findings = played(draw_frames(period, spread, presents=presents))
    assert not [finding for finding in findings if "outside paces" in finding["message"]]


def test_even_frames_at_a_displays_rate_are_paced(played: Callable[..., Any]) -> None:
    findings = played(draw_frames(1e6 / 60, 0.0))
    assert [finding for finding in findings if "outside paces" in finding["message"]]
    assert not rules(findings) & {"bubbles", "shallow-queue", "host-bound"}
