"""The trend page: what it says, to whom, and that nothing in it runs or loads."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from lxml import html

import made_nights
from tracekit.base.redaction import Redaction
from tracekit.nightly.history.night import Accepted, Described, Night, Outcome, TracedFinding
from tracekit.nightly.history.steps import Series
from tracekit.nightly.history.store.decisions import Missed
from tracekit.nightly.trend.page import render_trend

HOSTILE = "</script></title><script>alert(1)</script>\u202e\ud800\x00"
GOLDEN = Path(__file__).parent / "page.txt"


def beside(path: str) -> str:
    return quote(path, errors="replace")


def page_of(
    series: Sequence[Series],
    nights: Sequence[Night],
    accepted: Sequence[Accepted] = (),
    **others: Any,
) -> str:
    kept = {"now": made_nights.NOW, "redact": str, "links": beside, **others}
    return render_trend(series, nights, accepted, **kept)


@pytest.fixture(scope="module")
def forty() -> str:
    """The page of forty made-up nights."""
    held = made_nights.history()
    return page_of(held.series, held.nights, held.accepted, missed=held.missed)


@pytest.fixture(scope="module")
def tree(forty: str) -> Any:
    return html.document_fromstring(forty)


def words(element: Any) -> str:
    return " ".join(element.text_content().split())


def test_all_words_of_the_page_are_those_of_last_time(request: pytest.FixtureRequest) -> None:
    held = made_nights.history(12)
    page = page_of(held.series, held.nights, missed=held.missed)
    found = "\n".join(said(html.document_fromstring(page).find("body"))) + "\n"
    if request.config.getoption("--update-goldens"):
        GOLDEN.write_text(found)
    assert found == GOLDEN.read_text()


def said(element: Any) -> Iterator[str]:
    """Yield the words of a page, a line for each block, cells with bars between them."""
    for one in element.iter("h1", "h2", "h3", "p", "li", "tr", "summary", "figcaption", "desc"):
        text = " | ".join(words(cell) for cell in one) if one.tag == "tr" else words(one)
        yield f"{one.tag}: {text}"


def test_points_and_rows_lead_to_the_nights_reports(tree: Any) -> None:
    section = tree.get_element_by_id("capture-1")
    links = section.xpath("(.//figure)[1]//*[name()='a']/@href")
    assert links[0] == "nights/2026-10-12T02-30-00Z-0000/paged/candidate-1/report.html"
    rows = section.xpath(".//table[@class='values']/tbody/tr")
    assert len(rows) == 40
    assert rows[0].xpath(".//a/@href") == [
        f"nights/2026-11-20T02-30-00Z-0027/paged/{side}-1/report.html"
        for side in ("candidate", "reference")
    ]
    assert set(links) <= set(section.xpath(".//table[@class='values']//a/@href"))


def test_nothing_runs_and_nothing_is_loaded(forty: str, tree: Any) -> None:
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', forty)
    assert policy is not None
    assert "default-src 'none'" in policy[1]
    assert "unsafe" not in policy[1]
    assert "<script" not in forty
    assert "style=" not in forty.partition("<body>")[2]
    assert not re.search(r"(?:src|href)=\"(?:https?:|//)", forty)
    inner = [one[1:] for one in tree.xpath("//a/@href") if one.startswith("#")]
    assert inner
    assert set(inner) <= set(tree.xpath("//@id"))


def test_the_same_history_gives_the_same_page_in_whatever_order(forty: str) -> None:
    held = made_nights.history()
    again = page_of(held.series, held.nights[::-1], held.accepted, missed=held.missed[::-1])
    assert again == forty


def test_several_plans_are_counted_and_one_whose_last_night_failed_has_decided_nothing(
    made: Any,
) -> None:
    nights = [
        made.night(1, made.entry(judged=(made.judged(change=0.1),))),
        made.night(3, outcome=Outcome.FAILED),
        made.replace(made.night(2, made.entry()), plan="q", id="x"),
    ]
    empty = html.document_fromstring(page_of([], []))
    assert words(empty.xpath("//h1")[0]) == "Nights of an empty history"
    assert "There is no night in the history yet. tracekit nightly makes one." in words(empty)
    page = html.document_fromstring(page_of([], nights))
    assert words(page.xpath("//h1")[0]) == "Nights of 2 plans on m"
    assert words(page.xpath("//table[contains(@class, 'stands')]//tr[1]/td[2]")[0]) == "nothing"


def test_nights_that_were_all_inconclusive_say_why_and_draw_no_line(made: Any) -> None:
    why = {"outcome": Outcome.INCONCLUSIVE, "reason": "The battery was at 20 %."}
    nights = [made.night(day, made.entry(**why)) for day in range(1, 9)]
    points = [made.point(day, None, **why) for day in range(1, 9)]
    absent = made.series(made.point(1, None), metric="gpu_time_per_token", gated=False)
    page = html.document_fromstring(page_of([made.series(*points), absent], nights))
    assert "Inconclusive" in words(page.xpath("//p[contains(@class, 'verdict')]")[0])
    assert why["reason"] in words(page.get_element_by_id("standing"))
    assert "2 series with fewer than 6 nights" not in words(page.get_element_by_id("standing"))
    assert "1 series with fewer than 6 nights with a value" in words(page)
    assert not page.xpath("//*[@class='median']")
    assert len(page.xpath("//*[name()='svg']//*[contains(@class, 'unclear')]")) == 8
    assert [words(one) for one in page.xpath("//figcaption/b")] == ["Step p50"]
    section = words(page.get_element_by_id("capture-1"))
    assert "but no night has a value of it; the nights' reports say why: GPU time" in section
    assert "GPU time per token" not in words(page.xpath("//table[@class='values']")[0])


def test_the_table_has_all_nights_the_latest_first(made: Any) -> None:
    nights = [
        made.night(1, made.entry(pairs=(made.traced("c"),)), commit="0123456789abcdef"),
        made.night(2, made.entry(Outcome.FAILED, reason="It broke.")),
    ]
    step = made.series(
        made.point(1, 1e6, change=0.02, low=0.01, high=0.03, reference=1e6), made.point(2, None)
    )
    idle = made.series(made.point(1, 0.2), metric="gpu_idle_ratio", unit="ratio", gated=False)
    page = html.document_fromstring(page_of([step, idle], nights))
    rows = page.xpath("//table[@class='values']/tbody/tr")
    assert [[words(cell) for cell in row] for row in rows] == [
        ["2026-11-02 02:30", "✕ failed It broke.", "", "", "", ""],
        ["2026-11-01 02:30", "✓ ok", "1 ms; +2.0 % [+1.0 % … +3.0 %]", "20.0 %", "0123456789ab",
         "candidate"],
    ]  # fmt: skip


def test_earlier_work_and_many_followed_series_are_folded_away(made: Any) -> None:
    nights = [made.night(1, made.entry(work="old")), made.night(2, made.entry())]
    series = [made.series(made.point(2, 1.0), metric=f"m{at}", gated=False) for at in range(13)]
    few = html.document_fromstring(page_of(series[:12], nights))
    many = html.document_fromstring(page_of(series, nights))
    assert [words(one) for one in few.xpath("//main/section/h2")] == [
        "How things stand",
        "paged",
        "paged earlier work",
    ]
    assert few.xpath("//section[3]/details/summary/text()") == [
        "1 night before the plan changed what is measured"
    ]
    assert len(few.xpath("//details[@open]")) == 1
    assert len(many.xpath("//details[@open]")) == 0
    assert len(many.xpath("//details//figure")) == 13


def test_hostile_words_stay_words(made: Any) -> None:
    described = Described(HOSTILE, words=HOSTILE, commit=HOSTILE)
    named = dict.fromkeys(("plan", "machine", "reason", "folder", "commit"), HOSTILE)
    nights = [
        made.night(
            day,
            made.replace(
                made.entry(
                    Outcome.REGRESSION, HOSTILE, reason=HOSTILE, findings=findings,
                    pairs=(made.traced(HOSTILE),), parity=HOSTILE,
                    judged=(made.judged(reason=HOSTILE, change=0.1),),
                ),
                candidate=described,
                reference=described,
            ),
            environment={HOSTILE: f"{HOSTILE}{day}"},
            partial=True,
            **named,
        )
        for day, findings in enumerate(
            [(TracedFinding(*[HOSTILE] * 3, 1, 1, saving_per_token=1.0),), ()], 1
        )
    ]  # fmt: skip
    points = [made.point(1, 1.0, reason=HOSTILE, outcome=Outcome.REGRESSION), made.point(2, 1.0)]
    known = dict.fromkeys(("capture", "machine", "plan", "metric", "unit"), HOSTILE)
    series = made.replace(made.series(*points), **known)
    accepted = [Accepted("n01", HOSTILE, "w1", made.at(1), HOSTILE)]
    missed = [Missed(HOSTILE, HOSTILE, made.at(3), HOSTILE)]
    page = page_of([series], nights, accepted, missed=missed)
    assert "<script" not in page
    assert "\u202e" not in page
    assert "alert(1)" in page
    page.encode()


def test_what_names_a_person_is_left_out_of_words_and_links(made: Any) -> None:
    home = "/Users/ada"
    night = made.night(
        1,
        made.entry(Outcome.FAILED, reason=f"{home}/x is gone.", pairs=(made.traced("run"),)),
        folder=f"{home}/nights",
        environment={"where": home},
    )
    page = page_of(
        [made.series(made.point(1, 1.0))], [night], redact=Redaction(), links=lambda path: path
    )
    assert "ada" not in page
    assert "~/x is gone." in page
    assert "report.html" not in page


def test_the_page_of_a_year_is_bounded() -> None:
    held = made_nights.history(365)
    page = page_of(held.series[:1], held.nights, held.accepted, missed=held.missed)
    marks = len(re.findall(r"<(?:circle|a) ", page.partition('<table class="values">')[0]))
    assert len(page) < 1_200_000
    assert marks < 600
    assert "The charts mark the latest 120 nights of a series" in page
