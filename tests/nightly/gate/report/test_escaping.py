"""Any text comes back out of every format, and breaks none of them."""

import json
import re

from hypothesis import example, given, settings
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
    *("]]>", "<script>&amp;", "a\nb\r\n::error::c", "\x00\x1b[31m\x7f", "\ud800", "\ufffe\uffff"),
    *("👩‍🚀 ü", 'a"b\\n{x="y"} 1', "| a | `b` |", "#1 @all ![x](y)", "1. one", "- - -", "==="),
    *("%0A,:", "# EOF", "&#x3c;", "", " "),
]
TEXTS = st.one_of(st.sampled_from(HOSTILE), st.text(st.characters(exclude_categories=[])))
MARKDOWN = MarkdownIt("commonmark").enable(["table", "strikethrough"])
_XML = {0xFFFE: 0xFFFD, 0xFFFF: 0xFFFD}


def made(text: str) -> GateReport:
    """A report in which every text is this one."""
    metric = Case(text, text, "metric", Outcome.REGRESSION, text, text, candidate=1.0)
    finding = Case(text, text, "finding", None, text, severity=text)
    suite = Suite(text, Outcome.REGRESSION, text, (metric, finding), {"workload": text})
    facts = {"chip": text, "mlx": text}
    more = dict.fromkeys(("plan", "machine", "commit", "file"), text)
    return GateReport(
        text, text, Outcome.REGRESSION, text, (suite,), facts, warnings=(text,), **more
    )  # fmt: skip


def shown(tokens: list[Token] | None) -> str:
    """Return what a reader of rendered Markdown sees: text alone."""
    assert tokens is not None
    assert {each.type for each in tokens} <= {"text", "text_special", "softbreak"}
    return "".join(each.content for each in tokens)


@settings(deadline=None)
@given(TEXTS)
def test_a_machine_reads_back_what_can_be_seen(text: str) -> None:
    report = made(text)
    root = etree.fromstring(junit(report))
    assert root[0].get("name") == visible(text).translate(_XML)
    (failure,) = root.iter("failure")
    assert said(text).translate(_XML) in failure.get("message", "")
    written = openmetrics(report).decode()
    for families in (text_string_to_metric_families, prometheus_families):
        found = {each.name: each for each in families(written)}
        (sample,) = found["tracekit_gate_pairs"].samples
        assert sample.labels["metric"] == sample.labels["chip"] == said(text)
    (run,) = json.loads(sarif(report, "0.1.0"))["runs"]
    (result,) = run["results"]
    assert result["message"]["text"].startswith(f"{said(text)}: ")
    assert re.fullmatch(r"[^\s/]+", result["ruleId"])


@settings(deadline=None)
@given(TEXTS)
@example("1. one")
def test_markdown_shows_it_as_it_is_wherever_it_stands(text: str) -> None:
    line = escaped(text)
    assert "\n" not in line
    assert shown(MARKDOWN.parseInline(line)[0].children) == said(text)
    kinds = {each.type for each in MARKDOWN.parse(line)}
    assert kinds <= {"paragraph_open", "inline", "paragraph_close"}
    rows = [each for each in MARKDOWN.parse(markdown(made(text))) if each.type == "tr_open"]
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
    properties = dict(each.split("=", 1) for each in command[1].split(","))
    title = properties["title"].replace("%3A", ":").replace("%2C", ",").replace("%25", "%")
    assert title == f"Regression: {said(text)}, {said(text)}"
