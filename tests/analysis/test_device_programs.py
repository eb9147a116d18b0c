"""Programs of public threads, as exports: what the command line must and must not say of them.

Each has the figures that a person published, or chosen ones where none were; the words were written
down before the analysis was run on it. `said` are the message and the advice of the rule's finding.
"""

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from device_programs import MIB, MS, SECOND, US, Piece, Program

GIB = 1024 * MIB
NEVER_SAID = ("operating system", "other process", "another process")


def concatenating_by_blits() -> Program:
    """Copy 64 MB 40 times a step at 111 GB/s, read and write, beside 30 ms of compute."""
    random = np.random.default_rng(1)
    program = Program("python3.12", 811)
    time = SECOND
    for _ in range(30):
        pieces: list[Piece] = []
        for layer in range(40):
            compute = 30 * MS / 40 * random.uniform(0.9, 1.1)
            pieces.append(Piece(round(compute), label=f"Compute Command {layer}"))
            copy = 2 * 64e6 / 111e9 * SECOND * random.uniform(0.98, 1.02)
            pieces.append(Piece(round(copy), "Blit", f"Blit Command {layer}"))
        program.commit(time, pieces)
        time = program.queues_end - 2 * MS
    return program


def two_models() -> Program:
    """Decode in steps of 50 ms, in small command buffers; synthesize for 350 ms, in few large."""
    random = np.random.default_rng(2)
    program = Program("omni", 77)
    decode, speech = 0, 1
    waiting = [(SECOND, decode), (SECOND + 300 * MS, speech)]
    heapify(waiting)
    while waiting[0][0] < 12 * SECOND:
        time, who = heappop(waiting)
        done = time
        if who == speech:
            for part in range(4):
                work = [Piece(round(350 * MS / 4 * random.uniform(0.95, 1.05)))]
                _, done = program.commit(time + part * 150 * US, work, "com.omni.speech", 202)
            heappush(
                waiting, (max(done, time + round(680 * MS * random.uniform(0.9, 1.1))), speech)
            )
        else:
            for part in range(10):
                work = [Piece(round(5 * MS * random.uniform(0.9, 1.1)))]
                _, done = program.commit(time + part * 90 * US, work, "com.omni.decode", 101)
            heappush(waiting, (done + 50 * US, decode))
    return program


def requests_that_leave_memory() -> Program:
    """Answer eight requests: 0.6 s of prefill, 120 steps of 12 ms, a pause; 0.92 GB more each."""
    random = np.random.default_rng(3)
    program = Program("llm-tool", 333)
    time, level = SECOND, round(4.6 * GIB)
    marks = [(0, level)]
    for _ in range(8):
        level += round(0.92 * GIB)
        marks.append((time + 50 * MS, level))
        for length in [100 * MS] * 6 + [12 * MS] * 120:
            _, done = program.commit(time, [Piece(round(length * random.uniform(0.95, 1.05)))])
            time = done + 40 * US
        time += round(random.uniform(1, 2) * SECOND)
    marks.append((time, level))
    for (start, size), (end, _) in pairwise(marks):
        program.hold(start, end, size)
    return program


def a_cache_that_is_copied() -> Program:
    """Copy each layer's cache at each step: 144 allocations, each larger than the last.

    The device's time hardly changes, as copies are few beside the rest.
    """
    random = np.random.default_rng(4)
    program = Program("python3.12", 555)
    time = SECOND
    for step in range(120):
        part = step / 119
        for place in range(144):
            program.allocate(time - 5 * MS + place * 20 * US, round((1 + 31 * part) * MIB / 8))
        pieces = [Piece(round(1.5 * MS * random.uniform(0.97, 1.03))) for _ in range(48)]
        _, done = program.commit(time, pieces)
        program.hold(time - 6 * MS, done + 5 * MS, round((7.8 + 8.7 * part) * GIB))
        time = done + 10 * MS
    return program


def caches_that_push_weights_out() -> Program:
    """Keep the caches of earlier conversations until weights are wired again at each step."""
    random = np.random.default_rng(5)
    program = Program("server", 909)
    time, previous_end = SECOND, 0
    for step in range(300):
        part = min(1.0, step / 100)
        full = part >= 0.8
        if full:
            program.wire(time - 60 * MS, 55 * MS, 300 * MIB)
        _, done = program.commit(time, [Piece(round(25 * MS * random.uniform(0.97, 1.03)))])
        program.hold(previous_end, done, round((9 + 9 * part) * GIB))
        previous_end = done
        time = done + (62 * MS if full else 50 * US)
    return program


def a_sampler_that_sorts() -> Program:
    """Sort all logits for each token by the kernel that candle calls `asort_desc_f32`."""
    random = np.random.default_rng(6)
    program = Program("candle-demo", 4242)
    time = SECOND
    for _ in range(40):
        lengths = np.round(9 * MS * random.uniform(0.97, 1.06, 2)).astype(int).tolist()
        names = ("gemv_f16", "asort_desc_f32")
        pieces = [Piece(length, label=name) for length, name in zip(lengths, names, strict=True)]
        program.commit(time, pieces)
        time = program.queues_end - MS
    return program


@dataclass(frozen=True)
class Case:
    """A program, the rule that has to find it, and words that must and must not be said of it."""

    program: Callable[[], Program]
    rule: str
    must: tuple[str, ...]
    never: tuple[str, ...] = ()
    facts: dict[str, float] = field(default_factory=dict[str, float])


CASES = {
    "concatenation by blits": Case(
        concatenating_by_blits,
        "blit-copies",
        ("Blit", "60.6 %", "40", "1.15 ms", "preallocated", "compute kernel"),
        facts={"device_share": 0.605, "each": 40, "length": 1.153 * MS},
    ),
    "two models in one queue": Case(
        two_models,
        "shared-queue",
        ("1 in 7", "350 ms", "com.omni.decode", "com.omni.speech", "queue", "same process"),
        (*NEVER_SAID, "close what else"),
        facts={"one_in": 7, "wait": 350 * MS, "length": 50 * MS},
    ),
    "memory that requests leave": Case(
        requests_that_leave_memory,
        "memory-growth",
        ("with each request", "never falls", "942 MiB", "once a request", "limit"),
        ("keys and values", "host"),
        facts={"rise": 0.92 * GIB, "requests": 8},
    ),
    "a cache that is copied": Case(
        a_cache_that_is_copied,
        "hot-allocations",
        ("grow all the time", "in place", "preallocate"),
        ("clear", "leak", "use them again"),
    ),
    "caches that push weights out": Case(
        caches_that_push_weights_out,
        "lost-residency",
        ("Free or limit caches", "smaller model", "18 GiB"),
        ("Keep the model wired", "raise it", "Raise the wired limit"),
    ),
    "a sampler that sorts": Case(
        a_sampler_that_sorts, "avoidable-kernels", ("sorts", "asort_desc_f32")
    ),
}


def words_of(findings: Iterable[dict[str, Any]]) -> str:
    return " ".join(f"{finding['message']} {finding['advice']}" for finding in findings)


@pytest.mark.parametrize("name", CASES)
def test_verdicts_on_a_programs_exports(name: str, tmp_path: Path, tracekit: Any) -> None:
    case = CASES[name]
    exports = case.program().write(tmp_path / "exports")
    assert tracekit("import", exports, "--output", tmp_path / "run").code == 0
    findings = json.loads(tracekit("analyze", tmp_path / "run", "--json").out)["findings"]
    rule_findings = [
        finding
        for finding in findings
        if case.rule in {finding["rule"], *finding.get("effects", ())}
    ]
    assert len(rule_findings) == 1, [finding["rule"] for finding in findings]
    # An advice that two findings share stands in the first of them.
    lever = rule_findings[0].get("lever", "")
    found_words = words_of(
        finding for finding in findings if finding in rule_findings or lever == finding.get("lever")
    )
    assert [words for words in case.must if words not in found_words] == [], found_words
    all_words = words_of(findings)
    assert [words for words in case.never if words in all_words] == [], all_words
    facts = {fact["name"]: fact["value"] for fact in rule_findings[0].get("facts", [])}
    assert {fact_name: facts[fact_name] for fact_name in case.facts} == pytest.approx(
        case.facts, rel=0.05
    )
    assert len(rule_findings[0]["advice"].split()) <= 45


def test_the_page_groups_work_without_names_by_channel_and_length(
    tmp_path: Path, tracekit: Any
) -> None:
    exports = concatenating_by_blits().write(tmp_path / "exports")
    assert tracekit("import", exports, "--output", tmp_path / "run").code == 0
    assert tracekit("analyze", tmp_path / "run").code == 0
    assert tracekit("report", tmp_path / "run").code == 0
    text = re.sub(r"<[^>]+>", " ", (tmp_path / "run" / "report.html").read_text())
    words = " ".join(text.split())
    assert "Blit 60.6 % (60.6 % alone), Compute 39.4 % (39.4 % alone)" in words
    assert "1.15 ms Blit 1,200" in words
