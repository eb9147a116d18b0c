"""The palette can be read: contrast as WCAG 2.2 defines it, in light and in dark."""

import re
from pathlib import Path

import pytest

from tracekit.base.files import shipped
from tracekit.report import chart

CSS = (shipped("templates") / "report" / "page.css").read_text()
PAIRS = dict(re.findall(r"--([a-z]+): light-dark\((#[0-9a-f]{6}, #[0-9a-f]{6})\)", CSS))
THEMES = {"light": 0, "dark": 1}
TEXT, MARK = 4.5, 3.0

TEXTS = ["ink", "dim", "link", "error", "warning", "note", "good"]
MARKS = [
    "evidence",
    "phases",
    "steps",
    "submissions",
    "device",
    "idle",
    "others",
    "driver",
    "compiler",
    "states",
    "levels",
]


def colour(name: str, theme: str) -> str:
    return PAIRS[name].split(", ")[THEMES[theme]]


def luminance(code: str) -> float:
    channels = [int(code[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_contrast_is_measured_as_the_standard_says() -> None:
    assert contrast("#ffffff", "#000000") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("ground", ["page", "card", "sunk"])
@pytest.mark.parametrize("text", TEXTS)
def test_text_can_be_read(text: str, ground: str, theme: str) -> None:
    assert contrast(colour(text, theme), colour(ground, theme)) >= TEXT


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("mark", MARKS)
def test_marks_stand_out_and_the_words_on_them_can_be_read(mark: str, theme: str) -> None:
    assert contrast(colour(mark, theme), colour("sunk", theme)) >= MARK
    assert contrast(colour("card", theme), colour(mark, theme)) >= TEXT


def rule_of(selector: str) -> str:
    [body] = re.findall(rf"(?m)^\s*{re.escape(selector)} \{{([^}}]*)\}}", CSS)
    return body


@pytest.mark.parametrize("theme", THEMES)
def test_what_charts_are_drawn_with_stands_out_on_a_card(theme: str) -> None:
    used = {
        name
        for pattern in ("chart.py", "plots.py", "panels/*.py")
        for file in Path(chart.__file__).parent.glob(pattern)
        for name in re.findall(r'"([a-z]+)"', file.read_text())
        if name in PAIRS
    } - {"line", "page", "card", "sunk"}
    assert {"device", "steps", "ink", "phases"} <= used
    assert {
        name for name in used if contrast(colour(name, theme), colour("card", theme)) < TEXT
    } == (set())


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("mark", ["rect", "rect.idle", "rect.spread"])
def test_bars_in_tables_stand_out_from_what_they_lie_on(mark: str, theme: str) -> None:
    [name] = re.findall(r"fill: var\(--([a-z]+)\)", rule_of(f"td.bar {mark}"))
    assert "background: var(--sunk)" in rule_of("td.bar svg")
    assert contrast(colour(name, theme), colour("sunk", theme)) >= MARK


def test_who_wants_no_motion_gets_none() -> None:
    moving = re.findall(r"(?:transition|animation|scroll-behavior):[^;}]*", CSS)
    assert moving == ["scroll-behavior: smooth", "scroll-behavior: auto"]
    assert re.search(r"prefers-reduced-motion: reduce\) \{ html \{ scroll-behavior: auto", CSS)


def test_every_colour_is_said_once_and_has_two_themes() -> None:
    after = CSS[CSS.index("* {") :]
    loose = set(re.findall(r"#[0-9a-fA-F]{3,8}\b(?![^{}]*\{)", after)) - {"#ffffff"}
    assert loose == set()
    assert set(TEXTS) | set(MARKS) <= set(PAIRS)
