"""The palette can be read: contrast as WCAG 2.2 defines it, in light and in dark."""

import re
from itertools import product
from pathlib import Path

import pytest

from tracekit.base.files import shipped
from tracekit.report import chart

CSS = (shipped("templates") / "report" / "page.css").read_text()
PAIRS = dict(re.findall(r"--([a-z]+): light-dark\((#[0-9a-f]{6}, #[0-9a-f]{6})\)", CSS))
GROUNDS = {"page", "card", "sunk", "line"}
TEXTS = {"ink", "dim", "link", "error", "warning", "note", "good"}
MARKS = set(PAIRS) - GROUNDS - TEXTS
TEXT, MARK = 4.5, 3.0


def luminance(code: str) -> float:
    channels = [int(code[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_text_can_be_read_and_marks_stand_out(theme: int) -> None:
    def between(one: str, other: str) -> float:
        return contrast(PAIRS[one].split(", ")[theme], PAIRS[other].split(", ")[theme])

    assert {"device", "steps", "idle", "levels"} <= MARKS
    pairs = dict.fromkeys(product(TEXTS, ("page", "card", "sunk")), TEXT)
    pairs |= {(mark, "sunk"): MARK for mark in MARKS} | {(mark, "card"): TEXT for mark in MARKS}
    for mark in ("rect", "rect.idle", "rect.spread"):
        [rule] = re.findall(rf"(?m)^td\.bar {mark} \{{ fill: var\(--([a-z]+)\)", CSS)
        pairs[rule, "sunk"] = MARK
    used = {
        name
        for pattern in ("chart.py", "plots.py", "panels/*.py")
        for file in Path(chart.__file__).parent.glob(pattern)
        for name in re.findall(r'"([a-z]+)"', file.read_text())
        if name in set(PAIRS) - GROUNDS
    }
    pairs |= {(name, "card"): TEXT for name in used}
    assert {pair for pair, least in pairs.items() if between(*pair) < least} == set()


def test_contrast_is_measured_as_the_standard_says_and_each_colour_said_once() -> None:
    assert contrast("#ffffff", "#000000") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)
    after = CSS[CSS.index("* {") :]
    loose = set(re.findall(r"#[0-9a-fA-F]{3,8}\b(?![^{}]*\{)", after)) - {"#ffffff"}
    assert loose == set()


def test_who_wants_no_motion_gets_none() -> None:
    moving = re.findall(r"(?:transition|animation|scroll-behavior):[^;}]*", CSS)
    assert moving == ["scroll-behavior: smooth", "scroll-behavior: auto"]
    assert re.search(r"prefers-reduced-motion: reduce\) \{ html \{ scroll-behavior: auto", CSS)
