"""A page as a document: its sections and links, its policy, hostile strings, secrets, its size."""

import base64
import hashlib
import re
import zlib
from typing import Any

import pytest
from lxml import html

from tracekit.analysis.result import Better, Check, Measurement, Status
from tracekit.analysis.rule import Evidence, Finding, Severity
from tracekit.base.recording import Overhead, Process, Provenance, Stage
from tracekit.report.panels import PANELS
from tracekit.report.render import render

HOSTILE = (
    "</script><script>alert(1)</script><img src=x onerror=alert(2)>\u2028\u202e\x1b[31m"
    + "A" * 10_000
)


@pytest.fixture(scope="module", params=["host_run", "trace_run", "bare", "paced_run"])
def run(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue(request.param)


@pytest.fixture(scope="module")
def page(run: Any) -> str:
    return render(run.result, run.tables, redact=str)


@pytest.fixture(scope="module")
def root(page: str) -> Any:
    return html.document_fromstring(page)


def test_every_panel_has_its_section_its_heading_and_a_link(run: Any, root: Any) -> None:
    shown = [one.name for one in PANELS if one.context(run.result, run.tables) is not None]
    assert root.xpath("//section/@id") == shown
    assert root.xpath("//section/@aria-labelledby") == root.xpath("//h2/@id")
    links, ids = root.xpath("//a/@href"), root.xpath("//@id")
    assert {f"#{name}" for name in shown} <= set(links) <= {f"#{name}" for name in ids}
    assert len(ids) == len(set(ids))


def test_nothing_is_loaded_and_the_policy_allows_just_what_is_on_the_page(
    page: str, root: Any
) -> None:
    loads = ("src", "srcset", "action", "ping", "background", "style", "onclick", "onerror")
    assert not root.xpath(" | ".join(f"//@{name}" for name in loads))
    assert root.xpath("//link/@href") == ["data:,"]
    assert page.count("http") == page.count("http-equiv")
    [policy] = root.xpath("//meta[@http-equiv]/@content")
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    for tag, rule in (("style", "style-src"), ("script", "script-src")):
        [text] = [one.text for one in root.iter(tag) if one.get("id") != "timeline-data"]
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert rules[rule] == f"'sha256-{digest}'"
    assert page.index("Content-Security-Policy") < page.index("<style") < page.index("<script")


def test_evidence_carries_its_window_for_the_timeline(host_run: Any) -> None:
    root = html.document_fromstring(render(host_run.result, host_run.tables, redact=str))
    [link] = root.xpath("//section[@id='findings']//a[@data-begin]")
    assert [link.get(name) for name in ("href", "data-begin", "data-end")] == [
        *("#timeline", "628000000", "641000000")
    ]
    assert "GPU times" not in root.text_content(), "a host recording is no GPU's"


def spoiled(host_run: Any, frame: Any, word: str) -> Any:
    """Return a run of which every string is this one."""
    row = {"start": 5, "duration": 5, "channel": word, "label": word, "process": word}
    provenance = Provenance(
        workload=word,
        created=word,
        recorder=word,
        command=(word,),
        command_lines=((word,),),
        parameters={word: word},
        machine={word: word},
        targets=(Process(1, word),),
        warnings=(word,),
        clock={word: word},
        overhead=Overhead(reason=word),
        stages={word: Stage("failed", word, word)},
    )
    run = host_run.having(
        provenance=provenance,
        findings=(Finding(word, Severity.ERROR, "b" * 150 + word, word, (Evidence(word, 1, 2),)),),
        metrics=(
            Measurement(word, 1, word, Better.LOWER),
            Measurement(f"{word}2", None, word, Better.LOWER, word),
        ),
        checks=(Check(word, Status.ABSTAINED, word),),
    )
    table = frame("gpu_intervals", [{**row, "target": True}, {**row, "target": False}])
    return run.result, {**host_run.tables, "gpu_intervals": table}


def test_hostile_strings_change_neither_the_page_nor_its_reading(host_run: Any, frame: Any) -> None:
    page = render(*spoiled(host_run, frame, HOSTILE), redact=str)
    root = html.document_fromstring(page)
    assert (len(root.xpath("//script")), root.xpath("//img")) == (2, [])
    assert not re.search("[\u0000-\u0008\u000b-\u001f\u2028\u202e]", page)
    assert "\\u001b[31m" in page
    assert page.encode().decode() == page


def test_every_string_passes_the_redaction(host_run: Any, frame: Any) -> None:
    secret = "xsecretx"
    spoiled_run = spoiled(host_run, frame, secret)
    page = render(*spoiled_run, redact=lambda text: text.replace(secret, "█"))
    assert secret[:6] not in page.casefold()
    packed = re.search(r'id="timeline-data">([^<]+)<', page)
    assert packed
    assert secret.encode() not in zlib.decompress(base64.b64decode(packed.group(1)))


def test_a_page_with_ten_thousand_intervals_stays_small(bare: Any, frame: Any) -> None:
    rows = [
        {
            "start": 7_000 * at + (at * at) % 977,
            "duration": 4_000 + (at * 7919) % 2_500,
            "channel": "Compute",
            "label": f"kernel {(at * 31) % 40}",
            "process": "probe",
            "target": at % 5 > 0,
            "clock": "gpu",
            "start_latency": 20_000 + (at * 104_729) % 60_000,
        }
        for at in range(10_000)
    ]
    page = render(bare.result, {"gpu_intervals": frame("gpu_intervals", rows)}, redact=str)
    assert len(page.encode()) <= 250_000
