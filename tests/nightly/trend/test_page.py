"""The trend page: what it says, to whom, and that nothing in it runs or loads."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import quote

import pytest
from lxml import html

import made_nights
import short_nights as made
from tracekit.base.redaction import Redaction
from tracekit.nightly.history.night import (
    Accepted,
    Described,
    Entry,
    Missed,
    Night,
    Outcome,
    TracedFinding,
)
from tracekit.nightly.history.steps import Series
from tracekit.nightly.history.trend_changes import Changes, LevelStep, Ramp
from tracekit.nightly.trend import page as pages
from tracekit.nightly.trend.course import courses_of
from tracekit.nightly.trend.findings import Claim, FindingRow, claims_of, finding_rows
from tracekit.nightly.trend.headline import headline_of, lost_of, stale_of, tally_of
from tracekit.nightly.trend.listed_changes import list_changes

HOSTILE = "</script></title><script>alert(1)</script>\u202e\ud800\x00"
NOW = "2026-11-05T08:00:00+00:00"
OK, WORSE, FAILED = Outcome.OK, Outcome.REGRESSION, Outcome.FAILED
OPEN, UNJUDGED = Outcome.INCONCLUSIVE, Outcome.UNJUDGED
US = 1_000.0


def quote_all(path: str) -> str:
    return quote(path, errors="replace")


def page_of(
    series: Sequence[Series], nights: Sequence[Night], accepted: Any = (), **options: Any
) -> str:
    defaults: dict[str, Any] = {"links": quote_all, "redact": str, "now": made_nights.NOW}
    return pages.render_trend(series, nights, accepted, **defaults | options)


def parse_page(*page_inputs: Any) -> Any:
    return html.document_fromstring(page_of(*page_inputs))


@pytest.fixture(scope="module")
def held() -> made_nights.Made:
    return made_nights.history()


@pytest.fixture(scope="module")
def forty(held: made_nights.Made) -> str:
    return page_of(held.series, held.nights, held.accepted, missed=held.missed_nights)


def words(element: Any) -> str:
    return " ".join(element.text_content().split())


def iter_words(element: Any) -> Iterator[str]:
    """Yield the words of a page, a line for each block, cells with bars between them."""
    for element_block in element.iter(
        "h1", "h2", "h3", "p", "li", "tr", "summary", "figcaption", "desc"
    ):
        text = (
            " | ".join(words(cell) for cell in element_block)
            if element_block.tag == "tr"
            else words(element_block)
        )
        yield f"{element_block.tag}: {text}\n"


def test_all_words_of_the_page_are_those_of_the_golden_file_in_whatever_order_nights_come(
    held: made_nights.Made, forty: str, golden: Callable[[str, str], None]
) -> None:
    golden("page.txt", "".join(iter_words(html.document_fromstring(forty).find("body"))))
    again = page_of(held.series, held.nights[::-1], held.accepted, missed=held.missed_nights[::-1])
    assert again == forty


def test_the_latest_changes_are_listed_and_earlier_ones_counted(
    held: made_nights.Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "MOST_CHANGES", 2)
    page = "".join(iter_words(parse_page(held.series, held.nights).find("body")))
    rows = page.partition("tr: Since night")[2].partition("earlier ones")[0].splitlines()
    assert rows[1].startswith("tr: 1 to 38 12 Oct 2026 to 20 Nov 2026 | "), "the drift goes on"
    assert rows[2].startswith("tr: 32 14 Nov 2026 | ")


def test_the_deciding_metric_comes_first_among_changes_of_one_night() -> None:
    points = [made.point(day, 1e6 * (1 + (day > 4))) for day in range(1, 9)]
    nights = [made.night(day, made.entry(), made.entry(capture="b")) for day in range(1, 9)]
    followed = made.series(*points, metric="step_p99", gated=False)
    page = parse_page([made.series(*points), followed, made.series(*points, capture="b")], nights)
    rows = [
        row.split(" | ")[1:3] for row in iter_words(page) if row.startswith("tr: 5 5 Nov 2026 | ")
    ]
    assert [row[0] for row in rows] == ["paged", "b"]
    assert all(row[1].startswith("Step p50 decides") for row in rows)
    assert "with it Step p99 +100.0 %, worse" in rows[0][1]


def test_points_and_rows_lead_to_reports_and_nothing_runs_or_is_loaded(forty: str) -> None:
    tree: Any = html.document_fromstring(forty)
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
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', forty)
    assert policy is not None
    assert "default-src 'none'" in policy[1]
    assert "unsafe" not in policy[1]
    assert "<script" not in forty
    assert "style=" not in forty.partition("<body>")[2]
    assert not re.search(r"(?:src|href)=\"(?:https?:|//)", forty)
    inner = {href[1:] for href in tree.xpath("//a/@href") if href.startswith("#")}
    assert inner
    assert inner <= set(tree.xpath("//@id"))


def test_several_plans_are_counted_and_one_whose_last_night_failed_has_decided_nothing() -> None:
    nights = [
        made.night(1, made.entry(judged=(made.make_judgement(change=0.1),))),
        made.night(3, outcome=FAILED),
        made.night(2, made.entry(), plan="q", id="x"),
    ]
    page = parse_page([], nights)
    assert words(page.xpath("//h1")[0]) == "Nights of 2 plans on m"
    assert words(page.xpath("//table[contains(@class, 'stands')]//tr[1]/td[2]")[0]) == "nothing"
    empty = parse_page([], [])
    assert words(empty.xpath("//h1")[0]) == "Nights of an empty history"
    assert "There is no night in the history yet. tracekit nightly run makes one." in words(empty)


def test_nights_that_were_all_inconclusive_say_why_and_draw_no_line() -> None:
    night_facts: dict[str, Any] = {"outcome": OPEN, "reason": "The battery was at 20 %."}
    nights = [made.night(day, made.entry(**night_facts)) for day in range(1, 9)]
    points = [made.point(day, None, **night_facts) for day in range(1, 9)]
    absent_series = made.series(made.point(1, None), metric="gpu_time_per_token", gated=False)
    page = parse_page([made.series(*points), absent_series], nights)
    assert "Inconclusive" in words(page.xpath("//p[contains(@class, 'verdict')]")[0])
    assert night_facts["reason"] in words(page.get_element_by_id("standing"))
    assert "1 series with fewer than 6 nights with a value" in words(page)
    assert not page.xpath("//*[@class='median']")
    assert len(page.xpath("//*[name()='svg']//*[contains(@class, 'unclear')]")) == 8
    section = words(page.get_element_by_id("capture-1"))
    assert "but no night has a value of it; the nights' reports say why: GPU time" in section


def test_earlier_work_and_many_followed_series_are_folded_away() -> None:
    nights = [made.night(1, made.entry(work="old")), made.night(2, made.entry())]
    series = [
        made.series(made.point(2, 1.0), metric=f"m{number}", gated=False) for number in range(13)
    ]
    few_series, many = parse_page(series[:12], nights), parse_page(series, nights)
    heads = [words(head) for head in few_series.xpath("//main/section//h2")]
    assert heads == ["Current state", "paged", "paged, earlier work"]
    open_heads = [words(head) for head in many.xpath("//details[@open]/summary/h2")]
    assert open_heads == ["paged"]
    assert len(many.xpath("//details//figure")) == 13


def test_sections_that_need_a_look_are_open_and_no_two_have_one_name() -> None:
    entries = [made.entry(), made.entry(WORSE, "sdpa")]
    nights = [made.night(1, entries[0]), replace(made.night(2, entries[0]), entries=tuple(entries))]
    other_nights = [replace(night, machine="other", id=f"{night.id}x") for night in nights]
    page = parse_page([], [*nights, *other_nights])
    open_heads = {words(head) for head in page.xpath("//details[@open]/summary/h2")}
    heads = [words(head) for head in page.xpath("//section/details/summary/h2")]
    assert len(set(heads)) == len(heads)
    assert open_heads == {head for head in heads if head.startswith("sdpa")}


def test_hostile_words_stay_words() -> None:
    side = Described(HOSTILE, words=HOSTILE, commit=HOSTILE)
    finding = TracedFinding(HOSTILE, HOSTILE, HOSTILE, 1, 1, saving_per_token=1.0)
    first_entry = made.entry(
        WORSE, HOSTILE, reason=HOSTILE, findings=(finding,),
        pairs=(made.make_traced_pair(HOSTILE),),
        parity=HOSTILE, judged=(made.make_judgement(reason=HOSTILE, change=0.1),),
        candidate=side, reference=side,
    )  # fmt: skip
    hostile_facts = dict.fromkeys(("plan", "machine", "reason", "folder", "commit"), HOSTILE)
    nights = [
        made.night(
            day, entry, environment={HOSTILE: f"{HOSTILE}{day}"}, partial=True, **hostile_facts
        )
        for day, entry in ((1, first_entry), (2, replace(first_entry, findings=())))
    ]
    points = made.point(1, 1.0, reason=HOSTILE, outcome=WORSE), made.point(2, 1.0)
    hostile_names = dict.fromkeys(("capture", "machine", "plan", "metric", "unit"), HOSTILE)
    accepted = [Accepted("n01", HOSTILE, "w1", made.make_start_time(1), HOSTILE)]
    missed_nights = [Missed(HOSTILE, HOSTILE, made.make_start_time(3), HOSTILE)]
    page = page_of([made.series(*points, **hostile_names)], nights, accepted, missed=missed_nights)
    assert not [text for text in ("<script", "\u202e") if text in page]
    assert "alert(1)" in page
    page.encode()


def test_names_of_persons_are_left_out_of_words_and_links() -> None:
    home = "/Users/ada"
    entry = made.entry(FAILED, reason=f"{home}/x is gone.", pairs=(made.make_traced_pair("run"),))
    night = made.night(1, entry, folder=f"{home}/nights", environment={"where": home})
    page = page_of([made.series(made.point(1, 1.0))], [night], redact=Redaction(), links=str)
    assert not [text for text in ("ada", "report.html") if text in page]
    assert "~/x is gone." in page


def test_the_page_begins_with_the_worst_in_few_words() -> None:
    last_night = "4 Nov 2026 (yesterday)"
    slower = made.make_judgement(change=0.061, outcome=WORSE)
    for outcomes, *headline in (
        ([FAILED, WORSE, OK], "error", "▲ Regression", f"c1: step_p50 +6.1 %, {last_night}"),
        ([FAILED, OPEN], "warning", "✕ Failed", f"c0, {last_night}"),
        ([OPEN, None, OK, OPEN], "unclear", "? Inconclusive", f"c0, c3, {last_night}"),
        ([OPEN, OPEN, OPEN], "unclear", "? Inconclusive", f"3 captures, {last_night}"),
        ([None, OK], "plain", "… Unfinished", f"c0, {last_night}"),
        ([OK, UNJUDGED], "good", "✓ OK", f"1 capture, nothing worse, {last_night}"),
        ([], "unclear", "? Nothing yet", "No capture has been measured in any night."),
    ):
        entries = [
            made.entry(outcome, f"c{number}", judged=(slower,) if outcome is WORSE else ())
            for number, outcome in enumerate(outcomes)
        ]
        courses = courses_of([], [made.night(4, *entries)], [], [])
        page_headline = headline_of(courses, NOW)
        assert [page_headline.tone, page_headline.sign, page_headline.words] == headline, outcomes
        words = [
            word for word in f"{page_headline.sign} {page_headline.words}".split() if word.isascii()
        ]
        assert len(words) <= 12, (outcomes, headline)


def test_the_command_that_finds_a_commit_has_a_line_of_its_own() -> None:
    search = "git bisect start b a && git bisect run tracekit bench ab paged@a -- --bisect"
    reason = "It came tonight, in a..b."
    page = parse_page([], [made.night(4, made.entry(WORSE, reason=reason, search=search))])
    standing = page.get_element_by_id("standing")
    assert [words(code) for code in standing.xpath(".//pre[@class='command']/code")] == [search]
    assert words(standing).count(reason) == 1
    assert "git bisect" not in words(standing.xpath(".//p[contains(@class, 'verdict')]")[0])


def test_a_capture_and_its_anchor_are_one_row_one_name_and_one_change() -> None:
    days = range(1, 11)
    points = [made.point(day, 1e6 * (1 + 0.1 * (day > 5))) for day in days]
    anchor = made.entry(UNJUDGED, "paged-anchor", reason="Its regression is that of paged.")
    nights = [made.night(day, made.entry(WORSE), anchor) for day in days]
    series = [
        made.series(*points),
        made.series(*points, metric="step_p99", gated=False),
        made.series(*points, capture="paged-anchor"),
    ]
    page = parse_page(series, nights)
    heads = [words(row) for row in page.xpath("//table[contains(@class, 'stands')]/tbody/tr/th")]
    assert heads == ["paged"]
    [change] = page.xpath("//div[@aria-label='Steps and drifts']//tbody/tr")
    cells = [words(cell) for cell in change]
    assert cells[0] == "6 6 Nov 2026"
    assert cells[2] == "Step p50 decideswith it Step p99 +10.0 %, worse"
    won_back = [made.night(1, made.entry(WORSE), made.entry(WORSE, "paged-anchor"))]
    won_back += [made.night(2, made.entry())]
    assert headline_of(courses_of([], won_back, [], []), NOW).sign == "✓ OK"
    old = [made.night(4, made.entry(WORSE), made.entry(WORSE, "paged-anchor"))]
    assert headline_of(courses_of([], old, [], []), NOW).words.startswith("paged, ")


def test_a_change_point_has_its_certainty_and_other_changes() -> None:
    days = range(1, 6)
    nights = [
        made.night(night_day, made.entry(), environment={"mlx": str(1 + night_day // 3)})
        for night_day in days
    ]
    series = made.series(*(made.point(day, 1e6) for day in days))
    steps = (
        LevelStep(1, 1e6, 2e6, 1.0, earliest=1, latest=1),
        LevelStep(2, 0.0, -0.05, -0.05, earliest=1, latest=3, basis="change"),
    )
    course = made.course(nights, series)
    assert [
        (row.time, row.change, row.tone, row.levels, row.doubt, row.with_it)
        for row in list_changes(course, series, Changes(steps))
    ] == [
        (made.make_start_time(2), "+100.0 %, worse", "error", "1 ms → 2 ms", "", ""),
        (made.make_start_time(3), "-5.0 %, better", "good", "0.0 % → -5.0 % from the reference",
         "2 to 4", "MLX 1 → 2"),
    ]  # fmt: skip
    neither = list_changes(course, replace(series, better="neither"), Changes(steps[:1]))
    assert [row.change for row in neither] == ["+100.0 %"]


def test_a_drift_has_a_range_and_a_rate_and_no_night_of_its_own() -> None:
    days = range(1, 11)
    nights = [
        made.night(night_day, made.entry(), environment={"mlx": str(night_day)})
        for night_day in days
    ]
    series = made.series(*(made.point(day, 1e6) for day in days))
    ramp = Ramp(2, 8, 0.0, 0.14, 0.14, 0.023, basis="change")
    [row] = list_changes(made.course(nights, series), series, Changes(ramps=(ramp,)))
    assert (row.time, row.until) == (made.make_start_time(3), made.make_start_time(9))
    assert (row.change, row.tone) == ("+2.3 % a night, worse", "error")
    assert row.levels == "0.0 % → +14.0 % from the reference"
    assert (row.doubt, row.with_it) == ("", ""), "MLX changed each night"


def test_nothing_that_did_not_count_is_left_out() -> None:
    nights = [
        made.night(1, made.entry(FAILED, reason="It broke.")),
        made.night(2, made.entry(OPEN, reason="Hot."), made.entry(capture="b")),
        made.night(3, outcome=FAILED, reason="No plan."),
        made.night(4, made.entry(), partial=True),
        made.night(5, made.entry(None)),
        made.night(6, made.entry()),
    ]
    lost_nights = lost_of(nights, [Missed("p", "m", made.make_start_time(7), "")])
    assert [
        f"{lost_night.at[8:10]} {lost_night.what}, {lost_night.state}: {lost_night.reason}"
        for lost_night in lost_nights
    ] == [
        "07 p, missed: it did not run",
        "05 p: paged, unfinished: ",
        "04 p, not run: it ended before all of its captures were measured",
        "03 p, failed: No plan.",
        "02 p: paged, inconclusive: Hot.",
        "01 p: paged, failed: It broke.",
    ]
    ended_nights = [
        made.night(day, outcome=outcome) for day, outcome in enumerate([*Outcome, None], 1)
    ]
    tally = tally_of(ended_nights, [Missed("p", "m", made.make_start_time(9), "")])
    assert ", ".join(words for words, _ in tally) == (
        "6 nights, ✓ 1 ok, ▲ 1 regression, ? 1 inconclusive, ◇ 1 unjudged, ✕ 1 failed, "
        "… 1 unfinished, ▯ 1 missed"
    )


def test_a_history_that_has_stopped_says_so() -> None:
    for last_day, due_days, current_time, stale in (
        (5, (), NOW, ""),
        (4, (1,), NOW, ""),
        (4, (5,), NOW, "No night has run since 4 Nov 2026, yesterday; 1 was missed."),
        (2, (3, 4), NOW, "No night has run since 2 Nov 2026, 3 days ago; 2 were missed."),
        # A night is fresh for a day and a half.
        (4, (), "2026-11-05T14:29:59+00:00", ""),
        (4, (), "2026-11-05T14:30:00+00:00", "No night has run since 4 Nov 2026, yesterday."),
    ):
        nights = [made.night(day, made.entry()) for day in range(1, last_day + 1)]
        missed_nights = [Missed("p", "m", made.make_start_time(day), "") for day in due_days]
        words = [
            stale_of(shown_nights, missed_nights, current_time) for shown_nights in (nights, [])
        ]
        assert words == [stale, ""], (last_day, due_days, current_time)


def make_finding(
    rule: str = "bubbles", traces: int = 1, traced_runs: int = 1, **facts: Any
) -> TracedFinding:
    return TracedFinding(rule, f"{rule} was seen.", "warning", traces, traced_runs, **facts)


def make_traced_entry(*findings: TracedFinding) -> Entry:
    return made.entry(findings=findings, pairs=(made.make_traced_pair("candidate-1"),))


def test_a_rule_has_a_row_that_says_when_it_was_seen() -> None:
    nights = [
        made.night(1, make_traced_entry(make_finding("alone"))),
        made.night(
            2, make_traced_entry(make_finding(), make_finding("only-theirs", 0, 1, in_reference=1))
        ),
        made.night(3, made.entry()),
        made.night(4, make_traced_entry(make_finding("bubbles", 1, 2, in_reference=2))),
    ]
    bubbles, alone = finding_rows(made.course(nights))
    assert bubbles == FindingRow(
        "bubbles", "warning", "bubbles was seen.",
        "first seen in night 2 (2 Nov 2026), now in 1 of 2 traces; the reference has it in 2",
        (
            (0.0, "night 1 (1 Nov 2026): not found"),
            (1.0, "night 2 (2 Nov 2026): found in 1 of 1 trace"),
            (None, "night 3 (3 Nov 2026): no traces"),
            (0.5, "night 4 (4 Nov 2026): found in 1 of 2 traces"),
        ),
    )  # fmt: skip
    sentence = "first seen in night 1 (1 Nov 2026), last in night 1 (1 Nov 2026)"
    assert (alone.rule, alone.became) == ("alone", sentence)


MEANWHILE, UNKNOWN = "the reference meanwhile: ", "one of both nights has no tokens_per_second"
ALONE = "without a reference, so the machine's own pace is in it"


def test_a_claim_is_compared_with_its_measurement() -> None:
    for rates, references, measured, reason in (
        ((500, 1000), (1000, 1250), "1 ms per token won", f"{MEANWHILE}200 µs per token won"),
        ((1000, 500), (1250, 1000), "1 ms per token lost", f"{MEANWHILE}200 µs per token lost"),
        ((500, 1000), (5, None), "1 ms per token won", ALONE),
        ((500, None), (5, 5), "", UNKNOWN),
        ((0.0, 500), (5, 5), "", UNKNOWN),
    ):
        old, new = (
            made.point(day, rate, reference=reference)
            for day, rate, reference in zip((1, 3), rates, references, strict=True)
        )
        claiming = make_traced_entry(
            make_finding(saving_per_token=600 * US), make_finding("silent", saving=3e6)
        )
        nights = [
            made.night(1, claiming),
            made.night(2, made.entry()),
            made.night(3, make_traced_entry()),
        ]
        for metric in ("tokens_per_second", "step_p50"):
            series = made.series(old, made.point(2, 1.0), new, metric=metric, unit="tokens/s")
            measured_words = (measured, reason) if metric == "tokens_per_second" else ("", UNKNOWN)
            claim = Claim("bubbles", made.make_start_time(3), "600 µs per token", *measured_words)
            claims = claims_of(made.course(nights, series))
            assert claims == [claim], (rates, references, metric)


def test_the_latest_claim_comes_first_and_a_level_makes_none() -> None:
    claiming = make_traced_entry(make_finding(saving_per_token=US))
    nights = [made.night(day, claiming if day % 2 else make_traced_entry()) for day in range(1, 8)]
    claims = claims_of(made.course(nights))
    assert [claim.at for claim in claims] == [made.make_start_time(day) for day in (6, 4, 2)]
