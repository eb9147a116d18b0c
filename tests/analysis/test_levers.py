"""The table of levers: words by mechanism and kind of program, and what they may name."""

import re
from collections import Counter
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from tracekit.analysis.idle.cause import Cause
from tracekit.analysis.idle.levers import Habits, mechanism
from tracekit.analysis.levers import (
    Lever,
    Mechanism,
    advice,
    lever_of,
    levers,
    settings,
    settings_in,
)
from tracekit.analysis.program import ProgramKind

ROOT = Path(__file__).parents[2]
ROWS = list(levers().values())
NEUTRAL = frozenset({"metal", "macos", "tracekit"})
MOST_WORDS = 45
# Words that mean one kind of program wherever they stand.
OF_A_KIND = {
    ProgramKind.MLX: re.compile(r"\bMLX|\bmx\.|\bmlx\b"),
    ProgramKind.PYTORCH: re.compile(r"PyTorch|\btorch\.|PYTORCH|\.item\(\)|\.cpu\(\)"),
    ProgramKind.GGML: re.compile(r"GGML|llama\.cpp|--\w+-\w+"),
    ProgramKind.COREML: re.compile(r"\bML[A-Z][a-z]|Core ML"),
}
SHARED = {".item()", ".cpu()"}  # Python's arrays have them in MLX as well
# What looks like a setting: flags, variables, calls, attributes, names in capitals and small.
LIKE_A_SETTING = re.compile(
    r"(?<![\w.])(--[a-z][\w-]+|(?:[A-Z]+_)+[A-Z]+(?:=\S+)?|(?:mx|torch)(?:\.\w+)+(?:\(\))?"
    r"|MTL[A-Z]\w+|MPS[A-Z]\w+|\w+=(?:True|False))"
)
THREAD = re.compile(r"^[\w.-]+/[\w.-]+ #\d+$")
PLACE = re.compile(r"^[\w.-]+/[\w.-]+ [\w./-]+$|^docs/[\w/-]+\.md$")
PAGE = re.compile(r"^(Apple|PyTorch documentation,|Metal Shading Language Specification,) ?\S")


def name_of(row: Lever) -> str:
    return f"{row.mechanism}-{row.kind or 'neutral'}"


def test_every_mechanism_has_neutral_words_and_nothing_else_is_in_the_table() -> None:
    assert {row.mechanism for row in ROWS if row.kind is None} == set(Mechanism)


@pytest.mark.parametrize("row", ROWS, ids=name_of)
def test_advice_is_a_short_order_that_ends_with_a_period(row: Lever) -> None:
    assert 5 <= len(row.words.split()) <= MOST_WORDS
    assert row.words[0].isupper()
    assert row.words.endswith(".")
    assert "  " not in row.words


@pytest.mark.parametrize("row", ROWS, ids=name_of)
def test_advice_names_settings_of_its_own_kind_only(row: Lever) -> None:
    allowed = NEUTRAL if row.kind is None else NEUTRAL | {str(row.kind)}
    assert {setting.owner for setting in row.settings} <= allowed
    for kind, words in OF_A_KIND.items():
        if kind is not row.kind:
            foreign = {*words.findall(row.words)} - SHARED
            setting_names = {setting.name for setting in row.settings}
            assert not {
                word for word in foreign if not any(word in name for name in setting_names)
            }, kind


@pytest.mark.parametrize("row", ROWS, ids=name_of)
def test_advice_names_no_setting_that_is_not_listed(row: Lever) -> None:
    remaining_words = row.words
    for setting in settings_in(row.words):
        remaining_words = remaining_words.replace(setting.name, " ")
    assert LIKE_A_SETTING.findall(remaining_words) == []


def test_every_setting_is_named_somewhere_and_has_a_source() -> None:
    setting_names = {setting.name for row in ROWS for setting in row.settings}
    assert {setting.name for setting in settings()} == setting_names
    for setting in settings():
        source = setting.source
        assert THREAD.match(source) or PLACE.match(source) or PAGE.match(source), setting


@pytest.mark.parametrize("row", ROWS, ids=name_of)
def test_every_lever_has_a_formula_and_sources_that_can_be_looked_up(row: Lever) -> None:
    assert row.formula
    assert row.sources
    for source in row.sources:
        assert THREAD.match(source) or PLACE.match(source) or PAGE.match(source), source
        if source.startswith("docs/"):
            assert (ROOT / source).exists()


def test_no_two_rows_share_a_sentence() -> None:
    counts = Counter(
        sentence.strip() for row in ROWS for sentence in re.split(r"(?<=[.:]) ", row.words)
    )
    long = {text: n for text, n in counts.items() if n > 1 and len(text.split()) > 9}
    repeated = {text for text in long if not _in_one_mechanism(text)}
    assert not repeated
    assert Counter(row.words for row in ROWS).most_common(1)[0][1] == 1


def _in_one_mechanism(sentence: str) -> bool:
    return len({row.mechanism for row in ROWS if sentence in row.words}) == 1


def test_a_kind_without_words_of_its_own_gets_the_neutral_ones() -> None:
    neutral = advice(Mechanism.ROUND_TRIPS)
    assert advice("round-trips", ProgramKind.COMPUTE) == neutral
    assert advice("round-trips", ProgramKind.UNKNOWN) == neutral
    assert neutral.startswith("Put many launches into one command buffer")
    assert "mx.eval" in advice("round-trips", ProgramKind.MLX)
    assert lever_of("thermal", ProgramKind.GGML).kind is None


def test_a_mechanism_that_there_is_none_of_is_refused() -> None:
    with pytest.raises(ValueError, match="shallow-queue"):
        advice("shallow-queue")


def levers_of_rules() -> set[str]:
    """Return the mechanisms that rules name, by literal or by what the time was lost to."""
    sources = (ROOT / "tracekit" / "analysis" / "rules").glob("*.py")
    literal = {name for file in sources for name in LITERAL.findall(file.read_text())}
    choices = product(
        *((None, 0.0, 0.3, 1.0, 2.0), (None, 1.0, 2.0), (False, True), (None, False, True))
    )
    habits = [
        Habits(
            waits=waits,
            buffers=buffers,
            host_longer=longer,
            lost_wiring=is_lost,
            other_stream=longer,
        )
        for waits, buffers, longer, is_lost in choices
    ]
    habits += [replace(habit, small_work=True) for habit in habits]
    return literal | {mechanism(cause, habit) for cause in Cause for habit in habits}


LITERAL = re.compile(r"\blever=\"([\w-]+)\"")


def test_every_mechanism_that_a_rule_names_has_a_lever() -> None:
    lever_names = levers_of_rules()
    assert {"several-waits", "late-start", "other-stream", "host-elsewhere"} <= lever_names
    assert lever_names - set(Mechanism) == set()


# What the maintainers did, by thread: each lever has to be the one that was accepted there.
ACCEPTED = {
    "mlx #4521": ("boundaries-between-buffers", "mlx", "MLX_MAX_OPS_PER_BUFFER"),
    "vllm-metal #637": ("boundaries-between-buffers", "mlx", "MLX_MAX_MB_PER_BUFFER"),
    "vllm-metal #588": ("wait-each-iteration", "mlx", "mx.async_eval"),
    "mlx #4211": ("wiring-lost", "mlx", "iogpu.wired_limit_mb"),
    "ollama #17367": ("wiring-lost", "ggml", "GGML_METAL_RESIDENCY_KEEP_ALIVE_S"),
    "omlx #3670": ("clock-down", "unknown", "Low Power Mode"),
    "VeloxQuant #507": ("compile-in-loop", "mlx", "while warming up"),
    "mlx #3086": ("cliff-by-shape", "mlx", "pad"),
    "mlx #3885": ("unfused-attention", "mlx", "head sizes"),
    "mlx #3852": ("cache-resident", "unknown", "as large as in use"),
    "llama.cpp #20398": ("spills", "ggml", "smaller tile"),
    "mlx #1828": ("host-encodes", "mlx", "mx.compile"),
    "Metal.jl #847": ("round-trips", "compute", "one command buffer"),
    "Metal.jl #783": ("slow-wait", "compute", "instead of polling"),
    "pytorch #188198": ("copies-on-blit", "pytorch", "kernel"),
    "sglang-omni #2017": ("growing-work", "pytorch", "Preallocate"),
    "llama.cpp-omni #37": ("queue-behind-own-work", "ggml", "queue"),
    "mlx-swift-lm #620": ("memory-by-request", "mlx", "once a request"),
    "CodefyUI #435": ("wait-each-iteration", "pytorch", ".item()"),
    "exo #1620": ("error-timeout-waiting", "mlx", "Evaluate first"),
    "vllm-metal #561": ("metadata-per-layer", "mlx", "once a step"),
    "vllm-metal #469": ("scatter", "mlx", "in the kernel"),
    "ollama #17980": ("avoidable-sort", "ggml", "--backend-sampling off"),
}


@pytest.mark.parametrize("thread", ACCEPTED)
def test_the_lever_that_a_thread_accepted_is_named(thread: str) -> None:
    mechanism, kind, words = ACCEPTED[thread]
    assert words in advice(mechanism, ProgramKind(kind))


# And what must not be said there.
REFUSED = {
    "Metal.jl #847, no tokens, masks or MLX": ("round-trips", "compute", "token|mask|MLX|mx"),
    "timeout of a buffer that waited": ("error-timeout-waiting", "mlx", "[Pp]ut less work"),
    "swapped caches are freed, not wired": ("cache-swapped", "mlx", "[Ww]ired"),
    "memory by request is cleared": ("memory-by-request", "mlx", "[Dd]o not"),
    "growing work is not a leak": ("growing-work", "pytorch", "leak|empty_cache"),
    "own queue is not another process": ("queue-behind-own-work", "ggml", "[Cc]lose|contend"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_the_inverse_of_a_lever_is_not_said(case: str) -> None:
    mechanism, kind, words = REFUSED[case]
    assert not re.search(words, advice(mechanism, ProgramKind(kind)))
