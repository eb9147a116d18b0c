"""A page as a document: what it says, its links and policy, for whom it can be read, its size."""

import base64
import hashlib
import re
import zlib
from collections.abc import Callable
from functools import cache
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import pytest
from lxml import html

import report_runs
from page_words import readable
from report_runs import Run, bare, host_run, paced_run
from tracekit.analysis.given import Given
from tracekit.analysis.result import Better, Measurement, RuleCheck, Status
from tracekit.analysis.rule import Evidence, Finding, Severity
from tracekit.base.files import find_shipped_folder
from tracekit.base.recording import Overhead, Process, Provenance, Stage
from tracekit.pages import chart
from tracekit.pages.panels import PANELS
from tracekit.pages.render import render
from typed_rows import frame, frames

RUNS = ("bare", "host_run", "trace_run", "paced_run", "served_run", "profiled_run", "replayed_run")
SECTIONS = {"occupancy", "roofline", "memory", "health", "latencies", "throughput", "timeline"}
MARKUP = "<b>paged</b>"
SCRIPT = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"
HOSTILE = f"{SCRIPT}\u2028\u202e\x1b[31m{'A' * 10_000}"


def page_of(run: Run) -> str:
    return render(run.result, run.tables, redact=str)


@cache
def page_named(name: str) -> str:
    """Return the page of a run of `report_runs`, which is rendered once for all tests."""
    return page_of(getattr(report_runs, name)())


@pytest.mark.parametrize("name", RUNS)
def test_a_page_is_that_of_its_golden_file(golden: Callable[..., None], name: str) -> None:
    golden(f"goldens/{name}.txt", readable(page_named(name)) + "\n")


def test_a_page_is_the_same_each_time() -> None:
    assert page_of(paced_run()) == page_named("paced_run")


@pytest.mark.parametrize("name", ["host_run", "trace_run", "bare", "paced_run"])
def test_a_page_links_its_panels_and_its_policy_allows_just_its_contents(name: str) -> None:
    run = getattr(report_runs, name)()
    page = page_named(name)
    root = html.document_fromstring(page)
    tables = Given(run.tables, run.result.provenance)
    contexts = {panel.name: panel.context(run.result, tables) for panel in PANELS}
    panel_names = [
        name for name, context in contexts.items() if context and not context.get("absent")
    ]
    section_names = root.xpath("//section/@id | //section/details/div/@id")
    assert [name for name in section_names if name != "missing"] == panel_names
    assert root.xpath("//section/@aria-labelledby") == root.xpath("//h2/@id")
    links, ids = root.xpath("//a/@href"), root.xpath("//@id")
    assert {f"#{name}" for name in panel_names} <= set(links) <= {f"#{name}" for name in ids}
    assert len(ids) == len(set(ids))
    loads = ("src", "srcset", "action", "ping", "background", "style", "onclick", "onerror")
    assert not root.xpath(" | ".join(f"//@{name}" for name in loads))
    assert root.xpath("//link/@href") == ["data:,"]
    assert page.count("http") == page.count("http-equiv")
    [policy] = root.xpath("//meta[@http-equiv]/@content")
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    for tag, rule in (("style", "style-src"), ("script", "script-src")):
        [text] = [code.text for code in root.iter(tag) if code.get("id") != "timeline-data"]
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert rules[rule] == f"'sha256-{digest}'", tag
    assert page.index("Content-Security-Policy") < page.index("<style") < page.index("<script")


def test_evidence_carries_its_window_for_the_timeline() -> None:
    root = html.document_fromstring(page_named("host_run"))
    [link] = root.xpath("//section[@id='findings']//a[@data-begin]")
    leads = [link.get(name) for name in ("href", "data-begin", "data-end")]
    assert leads == ["#timeline", "628000000", "641000000"]
    assert "GPU times" not in root.text_content(), "a host recording is no GPU's"


def make_run_of_word(word: str) -> Any:
    row = {"start": 5, "duration": 5, "channel": word, "label": word, "process": word}
    provenance = Provenance(
        **dict.fromkeys(("workload", "created", "recorder"), word),
        **dict.fromkeys(("command", "warnings"), (word,)),
        **{name: {word: word} for name in ("parameters", "machine", "clock")},
        command_lines=((word,),),
        targets=(Process(1, word),),
        overhead=Overhead(reason=word),
        stages={word: Stage("failed", word, word)},
    )
    run = host_run().having(
        provenance=provenance,
        findings=(Finding(word, Severity.ERROR, "b" * 150 + word, word, (Evidence(word, 1, 2),)),),
        metrics=(
            Measurement(word, 1, word, Better.LOWER),
            Measurement(f"{word}2", None, word, Better.LOWER, word),
        ),
        checks=(RuleCheck(word, Status.ABSTAINED, word),),
    )
    table = frame("gpu_intervals", [{**row, "target": True}, {**row, "target": False}])
    return run.result, {**host_run().tables, "gpu_intervals": table}


def test_hostile_strings_change_neither_the_page_nor_its_reading() -> None:
    page = render(*make_run_of_word(HOSTILE), redact=str)
    root = html.document_fromstring(page)
    assert (len(root.xpath("//script")), root.xpath("//img")) == (2, [])
    assert not re.search("[\u0000-\u0008\u000b-\u001f\u2028\u202e]", page)
    assert "\\u001b[31m" in page
    assert page.encode().decode() == page


def test_every_string_passes_the_redaction() -> None:
    secret = "xsecretx"
    spoiled_run = make_run_of_word(secret)
    page = render(*spoiled_run, redact=lambda text: text.replace(secret, "█"))
    assert secret[:6] not in page.casefold()
    packed = re.search(r'id="timeline-data">([^<]+)<', page)
    assert packed
    assert secret.encode() not in zlib.decompress(base64.b64decode(packed.group(1)))


def test_a_page_with_ten_thousand_intervals_stays_small() -> None:
    rows = [
        {
            "start": 7_000 * number + (number * number) % 977,
            "duration": 4_000 + (number * 7919) % 2_500,
            "channel": "Compute",
            "label": f"kernel {(number * 31) % 40}",
            "process": "probe",
            "target": number % 5 > 0,
            "clock": "gpu",
            "start_latency": 20_000 + (number * 104_729) % 60_000,
        }
        for number in range(10_000)
    ]
    page = render(bare().result, frames(gpu_intervals=rows), redact=str)
    assert len(page.encode()) <= 250_000


@pytest.fixture(scope="module")
def root() -> Any:
    """The page of a run that fills all panels, for those who do not see it, or do not point."""
    return html.document_fromstring(page_named("paced_run"))


def test_there_is_one_title_and_headings_go_down_step_by_step(root: Any) -> None:
    assert set(root.xpath("//section/@id | //section/details/div/@id")) >= SECTIONS
    levels = [int(element.tag[1]) for element in root.iter("h1", "h2", "h3", "h4")]
    assert levels.count(1) == 1
    assert levels[0] == 1
    assert all(next_level - previous_level <= 1 for previous_level, next_level in pairwise(levels))


def test_tables_can_be_reached_by_keys_and_their_cells_have_heads(root: Any) -> None:
    assert len(root.xpath("//section//table")) > 6
    for table in root.xpath("//section//table"):
        wide = len(table.xpath(".//thead//th")) > 3
        regions = table.xpath("ancestor::div[@class='scroll']")
        assert regions or not wide
        for region in regions:
            assert (region.get("tabindex"), region.get("role")) == ("0", "region"), (
                table.text_content()
            )
            assert region.get("aria-label"), table.text_content()
    for head in root.iter("th"):
        assert head.get("scope") in {"row", "col"}
        assert head.text_content().strip()
    for table in root.xpath("//section//table[tbody/tr]"):
        columns = len(table.xpath("./thead/tr/th"))
        for row in table.xpath("./tbody/tr"):
            words = (table.text_content(), row.text_content())
            assert sum(int(cell.get("colspan", 1)) for cell in row) == columns, words
            assert row[0].tag == "th", words


def test_charts_have_words_and_other_drawings_a_name_or_number(root: Any) -> None:
    charts = root.xpath("//svg[@class='chart']")
    assert len(charts) >= 3
    for drawn in charts:
        assert drawn.get("role") == "img"
        [figure] = drawn.xpath("ancestor::figure")
        assert drawn.findtext("title") in figure.findtext("figcaption/b")
        assert drawn.findtext("desc") == figure.findtext("p")
    drawings = root.xpath("//svg[not(@class='chart')]")
    assert drawings
    for drawing in drawings:
        assert drawing.get("aria-label") or drawing.get("aria-hidden") == "true"
        if drawing.get("aria-hidden"):
            assert re.search(r"\d", drawing.xpath("string(ancestor::tr)"))


def test_keys_go_through_the_page_in_its_order_and_all_they_stop_at_has_a_name(root: Any) -> None:
    assert set(root.xpath("//@tabindex")) == {"0"}
    first_stop = root.xpath("//body//a | //body//input | //body//button")[0]
    assert (first_stop.get("class"), first_stop.get("href")) == ("skip", "#main")
    assert root.xpath("//main[@id='main']")
    assert all(part.xpath("string(summary)").strip() for part in root.iter("details"))
    for field in root.iter("input"):
        assert field.xpath("ancestor::label") or root.xpath(f"//label[@for='{field.get('id')}']")
    assert all(button.text_content().strip() for button in root.iter("button"))


def test_markup_in_the_name_of_a_step_stays_text_in_tables_and_charts(root: Any) -> None:
    [roofline] = root.xpath("//div[@id='roofline']")
    assert MARKUP in roofline.xpath(".//tbody/tr/th")[0].text_content()
    assert MARKUP in [text.text for text in roofline.iter("text")]
    assert not root.xpath("//main//b[.='paged']")


CSS = (find_shipped_folder("templates") / "report" / "page.css").read_text()
PAIRS = dict(re.findall(r"--([a-z]+): light-dark\((#[0-9a-f]{6}, #[0-9a-f]{6})\)", CSS))
GROUNDS = {"page", "card", "sunk", "line"}
TEXTS = {"ink", "dim", "link", "error", "warning", "note", "good"}
MARKS = set(PAIRS) - GROUNDS - TEXTS
TEXT, MARK = 4.5, 3.0


def luminance(code: str) -> float:
    channels = [int(code[position : position + 2], 16) / 255 for position in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(first_color: str, second: str) -> float:
    """Return the contrast of two colours as WCAG 2.2 defines it."""
    upper_luminance, lower_luminance = sorted(
        (luminance(first_color), luminance(second)), reverse=True
    )
    return (upper_luminance + 0.05) / (lower_luminance + 0.05)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_text_is_readable_and_marks_have_contrast(theme: int) -> None:
    def measure_contrast(first_name: str, second: str) -> float:
        return contrast(PAIRS[first_name].split(", ")[theme], PAIRS[second].split(", ")[theme])

    assert {"device", "steps", "idle", "levels"} <= MARKS
    pairs = dict.fromkeys(product(TEXTS, ("page", "card", "sunk")), TEXT)
    pairs |= {(mark, "sunk"): MARK for mark in MARKS} | {(mark, "card"): TEXT for mark in MARKS}
    for mark in ("rect", "rect.idle", "rect.spread"):
        [rule] = re.findall(rf"(?m)^td\.bar {mark} \{{ fill: var\(--([a-z]+)\)", CSS)
        pairs[rule, "sunk"] = MARK
    used_names = {
        name
        for pattern in ("chart.py", "plots.py", "panels/*.py")
        for file in Path(chart.__file__).parent.glob(pattern)
        for name in re.findall(r'"([a-z]+)"', file.read_text())
        if name in set(PAIRS) - GROUNDS
    }
    pairs |= {(name, "card"): TEXT for name in used_names}
    assert {
        pair for pair, min_contrast in pairs.items() if measure_contrast(*pair) < min_contrast
    } == set()


def test_each_colour_is_said_once_and_who_wants_no_motion_gets_none() -> None:
    assert contrast("#ffffff", "#000000") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)
    css_rules = CSS[CSS.index("* {") :]
    loose = set(re.findall(r"#[0-9a-fA-F]{3,8}\b(?![^{}]*\{)", css_rules)) - {"#ffffff"}
    assert loose == set()
    moving = re.findall(r"(?:transition|animation|scroll-behavior):[^;}]*", CSS)
    assert moving == ["scroll-behavior: smooth", "scroll-behavior: auto"]
    assert re.search(r"prefers-reduced-motion: reduce\) \{ html \{ scroll-behavior: auto", CSS)
