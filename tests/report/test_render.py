import base64
import hashlib
import re
from collections.abc import Mapping
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import pytest

from tracekit.analysis.result import Better, Check, Measurement, Status
from tracekit.analysis.rule import Evidence, Finding, Severity
from tracekit.base.recording import Overhead, Process, Provenance, Stage
from tracekit.report.panels import PANELS
from tracekit.report.render import render

HOSTILE = (
    "</script><script>alert(1)</script><img src=x onerror=alert(2)>\u2028\u202e\x00\x1b[31m"
    + "A" * 10_000
)


class Outline(HTMLParser):
    """What a page is made of: tags, attributes, headings, and its data block."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.blocks: list[tuple[str, str]] = []
        self.words: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep a tag, and expect what a block holds."""
        self.tags.append((tag, dict(attrs)))
        if tag in {"script", "style"}:
            self.blocks.append((tag, ""))

    def handle_data(self, data: str) -> None:
        """Keep what can be read, apart from scripts and styles."""
        if self.lasttag in {"script", "style"} and self.blocks and not self.blocks[-1][1]:
            self.blocks[-1] = (self.lasttag, data)
        else:
            self.words.append(data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        """Return the attributes of all tags of a name."""
        return [attributes for name, attributes in self.tags if name == tag]

    @property
    def text(self) -> str:
        """All that can be read, on one line."""
        return " ".join(" ".join(self.words).split())


def same(text: str) -> str:
    return text


def page_of(run: Any, **options: Any) -> str:
    return render(run.result, run.tables, redact=options.get("redact", same))


@pytest.fixture(scope="module", params=["host_run", "trace_run", "bare", "paced_run"])
def run(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue(request.param)


@pytest.fixture(scope="module")
def page(run: Any) -> str:
    return page_of(run)


@pytest.fixture(scope="module")
def outline(page: str) -> Outline:
    return Outline(page)


def test_every_panel_has_its_section_and_its_heading(run: Any, outline: Outline) -> None:
    sections = {one["id"]: one for one in outline.all("section")}
    shown = [one.name for one in PANELS if one.context(run.result, run.tables) is not None]
    assert list(sections) == shown
    headings = {one["id"] for one in outline.all("h2")}
    assert {one["aria-labelledby"] for one in sections.values()} == headings
    links = [one["href"] for one in outline.all("a")]
    assert all(f"#{name}" in links for name in shown)


def test_ids_are_unique_and_links_within_the_page_lead_somewhere(outline: Outline) -> None:
    ids = [attributes["id"] for _, attributes in outline.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    targets = [link["href"] for link in outline.all("a")]
    assert all(target and target[1:] in ids for target in targets)


def test_nothing_is_loaded_and_no_address_is_named(page: str, outline: Outline) -> None:
    for _, attributes in outline.tags:
        assert not (attributes.keys() & {"src", "srcset", "action", "ping", "background"})
    assert {one["href"] for one in outline.all("link")} == {"data:,"}
    assert "http:" not in page
    assert "https:" not in page
    assert page.count("http") == page.count("http-equiv")


def test_the_policy_allows_just_what_is_on_the_page(page: str, outline: Outline) -> None:
    [policy] = [one["content"] for one in outline.all("meta") if "http-equiv" in one]
    rules = dict(rule.strip().split(" ", 1) for rule in str(policy).split(";"))
    assert rules["default-src"] == "'none'"
    assert rules["base-uri"] == rules["form-action"] == "'none'"
    [style] = [text for tag, text in outline.blocks if tag == "style"]
    script = next(text for tag, text in outline.blocks if tag == "script" and "unpack" in text)
    assert page.index("Content-Security-Policy") < page.index("<style") < page.index("<script")
    for text, rule in ((style, "style-src"), (script, "script-src")):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert rules[rule] == f"'sha256-{digest}'"
    for _, attributes in outline.tags:
        assert "style" not in attributes
        assert not [name for name in attributes if name.startswith("on")]


def test_evidence_carries_its_window_for_the_timeline(host_run: Any) -> None:
    section = page_of(host_run).split('<section id="findings"')[1].split("</section>")[0]
    links = [one for one in Outline(section).all("a") if "data-begin" in one]
    assert [(one["href"], one["data-begin"], one["data-end"]) for one in links] == [
        ("#timeline", "628000000", "641000000")
    ]


def test_the_still_timeline_has_words_for_every_mark(trace_run: Any) -> None:
    page = page_of(trace_run)
    still = page[page.index('id="timeline-still"') : page.index('id="timeline-data"')]
    assert still.count("<rect") == still.count("<title>") > 5
    assert "Command Buffer 0:Compute Command 1: 100 µs from 0.000 200 s" in still


def test_hostile_strings_change_neither_the_page_nor_its_reading(host_run: Any, frame: Any) -> None:
    row = {"start": 5, "duration": 5, "channel": HOSTILE, "label": HOSTILE, "process": HOSTILE}
    table = frame("gpu_intervals", [{**row, "target": True}, {**row, "target": False}])
    provenance = Provenance(
        workload=HOSTILE,
        created=HOSTILE,
        recorder=HOSTILE,
        command=(HOSTILE,),
        command_lines=((HOSTILE,),),
        parameters={HOSTILE: HOSTILE},
        machine={HOSTILE: HOSTILE},
        targets=(Process(1, HOSTILE),),
        warnings=(HOSTILE,),
        clock={HOSTILE: HOSTILE},
        overhead=Overhead(reason=HOSTILE),
        stages={HOSTILE: Stage("failed", HOSTILE, HOSTILE)},
    )
    hostile = host_run.having(
        provenance=provenance,
        findings=(Finding(HOSTILE, Severity.ERROR, HOSTILE, HOSTILE, (Evidence(HOSTILE, 1, 2),)),),
        metrics=(Measurement(HOSTILE, 1, HOSTILE, Better.LOWER),),
        checks=(Check(HOSTILE, Status.ABSTAINED, HOSTILE),),
    )
    tables: Mapping[str, Any] = {**host_run.tables, "gpu_intervals": table}
    page = render(hostile.result, tables, redact=same)
    outline = Outline(page)
    assert len(outline.all("script")) == 2
    assert outline.all("img") == []
    assert "<script>alert" not in page
    assert not re.search("[\u0000-\u0008\u000b-\u001f\u2028\u202e]", page)
    assert "\\u001b[31m" in page
    assert page.encode().decode() == page


def test_every_string_passes_the_redaction(host_run: Any, frame: Any) -> None:
    secret = "xsecretx"
    row = {"start": 5, "duration": 5, "channel": secret, "label": secret, "process": secret}
    table = frame("gpu_intervals", [{**row, "target": True}, {**row, "target": False}])
    long = "b" * 150 + secret
    hidden = host_run.having(
        provenance=Provenance(workload=secret, machine={secret: secret}, warnings=(secret,)),
        findings=(Finding(secret, Severity.NOTE, long, secret, (Evidence(secret, 1, 2),)),),
        checks=(Check(secret, Status.FAILED, secret),),
        metrics=(Measurement(secret, None, secret, Better.LOWER, secret),),
    )
    page = render(
        hidden.result,
        {**host_run.tables, "gpu_intervals": table},
        redact=lambda text: text.replace(secret, "█"),
    )
    assert secret not in page.casefold()
    assert secret[:6] not in page
    packed = re.search(r'id="timeline-data">([^<]+)<', page)
    assert packed
    assert secret.encode() not in unpacked(packed.group(1))


def unpacked(base: str) -> bytes:
    import zlib  # noqa: PLC0415

    return zlib.decompress(base64.b64decode(base))


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
    page = render(bare.result, {"gpu_intervals": frame("gpu_intervals", rows)}, redact=same)
    assert len(page.encode()) <= 250_000


@pytest.mark.parametrize(
    ("started", "said"),
    [
        ("2026-03-30T21:37:58+00:00", "imported; recorded 2026-03-30 21:37:58 UTC"),
        ("", "imported; recorded at a time not stated"),
    ],
)
def test_an_imported_run_tells_when_it_was_recorded(bare: Any, started: str, said: str) -> None:
    result = replace(bare.result, provenance=Provenance(recorder="import", started=started))
    assert said in Outline(render(result, {}, redact=same)).text
