"""Any text comes back out of every format, and breaks none of them."""

import json
import re

from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree
from markdown_it import MarkdownIt
from markdown_it.token import Token
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from prometheus_client.parser import text_string_to_metric_families as prometheus_families

from tracekit.nightly.gate.report.junit import junit
from tracekit.nightly.gate.report.model import Case, GateReport, Suite
from tracekit.nightly.gate.report.openmetrics import openmetrics
from tracekit.nightly.gate.report.sarif import sarif
from tracekit.nightly.gate.report.text import annotations, escaped, markdown, said
from tracekit.nightly.history.night import Outcome
from tracekit.report.text import visible

HOSTILE = [
    "]]>",
    "<script>&amp;",
    "a\nb\r\n::error::c",
    "\x00\x1b[31m\x7f",
    "\ud800",
    "\ufffe\uffff",
    "👩‍🚀 ü",
    'a"b\\n{x="y"} 1',
    "| a | `b` |",
    "#1 @all ![x](y)",
    "1. one",
    "- - -",
    "===",
    "%0A,:",
    "# EOF",
    "&#x3c;",
    "",
    " ",
]
TEXTS = st.one_of(st.sampled_from(HOSTILE), st.text(st.characters(exclude_categories=[])))
MARKDOWN = MarkdownIt("commonmark").enable(["table", "strikethrough"])


def made(text: str) -> GateReport:
    """A report in which every text is this one."""
    metric = Case(
        *(text, text, "metric", Outcome.REGRESSION, text, text),
        candidate=1.0,
    )
    finding = Case(text, text, "finding", None, text, severity=text)
    suite = Suite(text, Outcome.REGRESSION, text, (metric, finding), {"workload": text})
    facts = {"chip": text, "mlx": text}
    return GateReport(
        *(text, text, Outcome.REGRESSION, text, (suite,), facts),
        plan=text,
        machine=text,
        started="2026-11-20T11:30:00+09:00",
        commit=text,
        file=text,
        warnings=(text,),
    )


def shown(tokens: list[Token] | None) -> str:
    """Return what a reader of rendered Markdown sees: text alone."""
    assert tokens is not None
    assert {one.type for one in tokens} <= {"text", "text_special", "softbreak"}
    return "".join(one.content for one in tokens)


@settings(deadline=None)
@given(TEXTS)
def test_xml_holds_what_can_be_seen(text: str) -> None:
    root = etree.fromstring(junit(made(text)))
    assert root[0].get("name") == visible(text).translate({0xFFFE: 0xFFFD, 0xFFFF: 0xFFFD})
    (failure,) = root.iter("failure")
    assert said(text).translate({0xFFFE: 0xFFFD, 0xFFFF: 0xFFFD}) in failure.get("message", "")


@settings(deadline=None)
@given(TEXTS)
def test_openmetrics_holds_it_in_labels(text: str) -> None:
    written = openmetrics(made(text)).decode()
    for families in (text_string_to_metric_families, prometheus_families):
        found = {one.name: one for one in families(written)}
        (sample,) = found["tracekit_gate_pairs"].samples
        assert sample.labels["metric"] == said(text)
        assert sample.labels["chip"] == said(text)


@settings(deadline=None)
@given(TEXTS)
def test_sarif_is_json_whatever_it_holds(text: str) -> None:
    (run,) = json.loads(sarif(made(text), "0.1.0"))["runs"]
    (result,) = run["results"]
    assert result["message"]["text"].startswith(f"{said(text)}: ")
    assert result["ruleId"]
    assert not re.search(r"[\s/]", result["ruleId"])


@settings(deadline=None)
@given(TEXTS)
def test_markdown_shows_it_as_it_is(text: str) -> None:
    told = escaped(text)
    assert "\n" not in told
    inline = MARKDOWN.parseInline(told)[0].children
    assert shown(inline) == said(text)


@settings(deadline=None)
@given(TEXTS)
def test_markdown_makes_nothing_of_it_at_a_lines_beginning_or_in_a_table(text: str) -> None:
    kinds = {one.type for one in MARKDOWN.parse(escaped(text))}
    assert kinds <= {"paragraph_open", "inline", "paragraph_close"}
    rows = [one for one in MARKDOWN.parse(markdown(made(text))) if one.type == "tr_open"]
    assert len(rows) == 2, "a head and one metric, whatever stands in the cells"


@settings(deadline=None)
@given(TEXTS)
def test_an_annotation_is_one_line_that_reads_back(text: str) -> None:
    (line,) = annotations(made(text))
    assert line.splitlines() == [line]
    command = re.fullmatch(r"::error ([^:]*)::(.*)", line)
    assert command is not None
    decoded = command[2].replace("%0A", "\n").replace("%0D", "\r").replace("%25", "%")
    assert decoded.startswith(f"{said(text)}: ")
    properties = dict(one.split("=", 1) for one in command[1].split(","))
    title = properties["title"].replace("%3A", ":").replace("%2C", ",").replace("%25", "%")
    assert title == f"Regression: {said(text)}, {said(text)}"
