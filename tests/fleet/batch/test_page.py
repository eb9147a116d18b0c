"""The page over a batch, and how numbers are spread over its recordings."""

from dataclasses import replace
from typing import Any

from lxml import html

from tracekit.analysis.metrics import METRICS
from tracekit.fleet.batch.page import MOST_CHARTS, render_batch, spreads
from tracekit.fleet.batch.results import BatchRow, RowFinding
from tracekit.pages.chart import svg

HOSTILE = "</script><script>alert(1)</script>"


def entry(name: str, *findings: RowFinding, **facts: Any) -> BatchRow:
    return BatchRow(name, "k", "k", "", "run", "ok", findings=findings, **facts)


def make_failed_entry(name: str, error: str, hint: str = "") -> BatchRow:
    return BatchRow(name, "k", "k", "", "run", "failed", error, hint)


def page(*entries: BatchRow) -> Any:
    return html.fromstring(render_batch(entries, "out", redact=str))


def words(element: Any) -> str:
    return " ".join(" ".join(element.itertext()).split())


WARNING = RowFinding("bubbles", "warning", "The GPU idles.", "", 2.0)
ERROR = RowFinding("capture-empty", "error", "Nothing was recorded.", "", None)


def test_failures_come_first_then_the_worst() -> None:
    small, large = entry("small", replace(WARNING, saving_ms=1.0)), entry("large", WARNING)
    tree = page(
        entry("clean"), small, large, entry("void", ERROR), make_failed_entry("bad", "It is cut.")
    )
    names = tree.xpath("//table[@class='runs']/tbody/tr/th/b/text()")
    assert names == ["bad", "void", "large", "small", "clean"]
    [header] = tree.xpath("//header")
    assert "5 recordings · 1 failed · 3 with findings · 1 without" in words(header)


def test_findings_are_counted_over_all_recordings() -> None:
    tree = page(
        entry("a", WARNING), entry("b", WARNING, ERROR), entry("c"), make_failed_entry("d", "No.")
    )
    [table] = tree.xpath("//section[.//h2='What was found']//table")
    assert [words(row) for row in table.xpath("./tbody/tr")] == [
        "bubbles 2 2 ms 4 ms",
        "capture-empty 1 not estimated not estimated",
    ]
    assert table.xpath(".//svg/@aria-label") == ["66.7 %", "33.3 %"]


def test_failures_of_one_kind_are_grouped_under_any_names() -> None:
    failures = [
        make_failed_entry(f"r{n}", f"r{n}/toc.xml cannot be read.", "Export it.") for n in range(5)
    ]
    tree = page(*failures, make_failed_entry("z", "No memory."))
    [table] = tree.xpath("//section[.//h2='What failed']//table")
    assert [words(row) for row in table.xpath("./tbody/tr")] == [
        "5 …/toc.xml cannot be read. Export it. r0 r1 r2",
        "1 No memory. z",
    ]


def test_spreads_of_shared_metrics_are_drawn() -> None:
    tree = page(
        *(entry(str(n), metrics={"gpu_busy": n * 1e6, "idle_ratio": 0.1}) for n in range(1, 9)),
        entry("x", metrics={"step_p50": 1.0}),
    )
    assert tree.xpath("//figcaption/b/text()") == ["GPU busy"]
    assert "8 recordings from 1 ms to 8 ms, half of them up to 4.50 ms." in words(tree)


def test_a_page_of_very_many_stays_usable_and_names_its_omissions() -> None:
    many = [entry(f"traces/{n:05d}.trace", metrics={"gpu_busy": 1e6 + n}) for n in range(10_000)]
    many[9_999] = make_failed_entry("traces/09999.trace", "It cannot be read.")
    text = render_batch(many, "out", redact=str)
    assert len(text) < 2_000_000
    tree = html.fromstring(text)
    assert len(tree.xpath("//table[@class='runs']/tbody/tr")) == 2_000
    assert "8,000 more recordings are not listed here" in words(tree)
    assert tree.xpath("//table[@class='runs']/tbody/tr[1]/th/b/text()") == ["09999.trace"]
    assert len(tree.xpath("//table[@class='runs']/tbody/tr[contains(@class, 'later')]")) == 1_980


def test_names_are_relative_to_the_folder_that_all_share() -> None:
    names = {
        ("s3://bucket/a/one.trace", "s3://bucket/a/b/two.trace"): ["b/two.trace", "one.trace"],
        ("s3://bucket/one.trace", "s3://other/two.trace"): None,
        ("/a/one.trace", "/b/two.trace"): None,
        ("/a/one.trace",): ["one.trace"],
        ("one.trace", "two.trace"): None,
        ("/a/x#finder", "/a/x#hangs"): ["x#finder", "x#hangs"],
    }
    for recordings_of, expected in names.items():
        tree = page(*map(entry, recordings_of))
        shown = tree.xpath("//table[@class='runs']/tbody/tr/th/b/text()")
        assert shown == (expected or list(recordings_of)), recordings_of
        folder = tree.xpath("//dl[@class='setting']//dt[.='Folder']")
        assert bool(folder) is bool(expected), recordings_of


def test_facts_that_all_recordings_share_are_said_once() -> None:
    tree = page(
        entry("a", device="Apple M4", template="Metal System Trace"),
        entry("b", device="Apple M2", template="Metal System Trace"),
    )
    assert tree.xpath("//dl[@class='setting']//dd/text()") == ["Metal System Trace"]
    details = tree.xpath("//table[@class='runs']//th/span/text()")
    assert details == ["Apple M4", "Apple M2"]


def test_a_finding_is_a_line_with_its_cost() -> None:
    long_finding = replace(WARNING, message="The GPU idles for a long time. " * 9)
    tree = page(entry("a", long_finding, ERROR), entry("b"))
    [cell, _] = tree.xpath("//td[@class='said']")
    assert words(cell) == "bubbles: The GPU idles for a long time · 2 ms and 1 more"
    [line, _] = tree.xpath("//ol[@class='lines']/li/a")
    assert words(line) == "bubbles: in 1 of 2 · usually 2 ms each"


def test_a_recording_leads_to_the_page_that_it_has() -> None:
    rows = (entry("/a/one"), entry("/a/two"))
    text = render_batch(
        rows,
        "out",
        redact=str,
        page_link=lambda row: "pages/k.html" if "one" in row.recording else "",
    )
    table = html.fromstring(text).xpath("//table[@class='runs']")[0]
    assert table.xpath(".//th/a/@href") == ["pages/k.html"]
    assert table.xpath(".//th/b/text()") == ["two"]


def test_nothing_of_a_recording_becomes_markup() -> None:
    finding = replace(WARNING, rule=HOSTILE, message=HOSTILE)
    hostile = (entry(HOSTILE, finding, device=HOSTILE), make_failed_entry("a", HOSTILE, HOSTILE))
    assert page(*hostile).xpath("count(//script)") == 0


def recordings(name: str, *values: float) -> list[BatchRow]:
    return [entry(str(index), metrics={name: value}) for index, value in enumerate(values)]


def test_numbers_of_any_size_have_an_axis() -> None:
    for lower_bound, upper_bound in ((0.01, 0.02), (-3.0, 5e12), (0.0, 1.0)):
        [chart] = spreads(recordings("idle_ratio", lower_bound, upper_bound))
        assert (chart.x.minimum, chart.x.maximum) == (lower_bound, upper_bound)
        assert all(lower_bound <= mark <= upper_bound for mark in chart.x.marks), lower_bound
        assert svg(chart).count("<title>") == 1, lower_bound


def test_equal_values_are_not_drawn() -> None:
    for values in ((0.0, 0.0), (5e6, 5e6, 5e6), (0.1, 0.1 + 2**-56)):
        assert list(spreads(recordings("gpu_busy", *values))) == [], values


def test_the_most_important_comes_first_and_some_is_left_out() -> None:
    metrics = [{name: float(n * place) for place, name in enumerate(METRICS, 1)} for n in range(3)]
    entries = [entry(str(n), metrics=values) for n, values in enumerate(metrics)]
    drawn = [chart.title for chart in spreads(entries)]
    assert len(drawn) == MOST_CHARTS
    assert drawn[:3] == ["Tokens per second", "Step p50", "Step p99"]


def test_equal_numbers_are_drawn_once() -> None:
    rows = [entry(str(n), metrics={"gpu_busy": n * 1e6, "gpu_span": n * 1e6}) for n in range(1, 4)]
    assert [chart.title for chart in spreads(rows)] == ["GPU busy"]
