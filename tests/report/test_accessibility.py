"""The page for those who do not see it, or do not point: of a run that fills all its panels."""

from itertools import pairwise
from typing import Any

import pytest
from lxml import html

from tracekit.report.render import render

SECTIONS = {"occupancy", "roofline", "memory", "health", "latencies", "throughput", "timeline"}
MARKUP = "<b>paged</b>"


@pytest.fixture(scope="module")
def page(paced_run: Any) -> Any:
    """The page of steps on a GPU of which bytes, operations, counters and memory are known."""
    return html.document_fromstring(render(paced_run.result, paced_run.tables, redact=str))


def test_it_has_all_of_the_panels_that_are_looked_at_here(page: Any) -> None:
    assert set(page.xpath("//section/@id")) >= SECTIONS


def test_there_is_one_title_and_headings_go_down_step_by_step(page: Any) -> None:
    levels = [int(one.tag[1]) for one in page.iter("h1", "h2", "h3", "h4")]
    assert levels.count(1) == 1
    assert levels[0] == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))


def test_tables_scroll_by_themselves_and_can_be_reached_by_keys(page: Any) -> None:
    tables = page.xpath("//section//table")
    assert len(tables) > 6
    for table in tables:
        wide = len(table.xpath(".//thead//th")) > 3
        regions = table.xpath("ancestor::div[@class='scroll']")
        assert regions or not wide
        for region in regions:
            assert (region.get("tabindex"), region.get("role")) == ("0", "region")
            assert region.get("aria-label")


def test_cells_have_heads_and_heads_have_words(page: Any) -> None:
    for head in page.iter("th"):
        assert head.get("scope") in {"row", "col"}
        assert head.text_content().strip()
    for table in page.xpath("//section//table[tbody/tr]"):
        columns = len(table.xpath("./thead/tr/th"))
        for row in table.xpath("./tbody/tr"):
            assert sum(int(cell.get("colspan", 1)) for cell in row) == columns
            assert row[0].tag == "th"


def test_charts_have_a_title_a_description_and_words_beside_them(page: Any) -> None:
    charts = page.xpath("//svg[@class='chart']")
    assert len(charts) >= 3
    for chart in charts:
        assert chart.get("role") == "img"
        title, description = chart.findtext("title"), chart.findtext("desc")
        [figure] = chart.xpath("ancestor::figure")
        assert title in figure.findtext("figcaption/b")
        assert description == figure.findtext("p")


def test_other_drawings_are_named_or_beside_their_number(page: Any) -> None:
    drawings = page.xpath("//svg[not(@class='chart')]")
    assert drawings
    for one in drawings:
        assert one.get("aria-label") or one.get("aria-hidden") == "true"
        if one.get("aria-hidden"):
            assert any(character.isdigit() for character in one.xpath("string(ancestor::tr)"))


def test_keys_go_through_the_page_in_its_own_order(page: Any) -> None:
    assert set(page.xpath("//@tabindex")) == {"0"}
    first = page.xpath("//body//a | //body//input | //body//button")[0]
    assert (first.get("class"), first.get("href")) == ("skip", "#main")
    assert page.xpath("//main[@id='main']")
    assert all(one.xpath("string(summary)").strip() for one in page.iter("details"))


def test_fields_and_buttons_have_names(page: Any) -> None:
    for field in page.iter("input"):
        assert field.xpath("ancestor::label") or page.xpath(f"//label[@for='{field.get('id')}']")
    assert all(one.text_content().strip() for one in page.iter("button"))


def test_markup_in_the_name_of_a_step_stays_text_in_tables_and_charts(page: Any) -> None:
    [roofline] = page.xpath("//section[@id='roofline']")
    assert MARKUP in roofline.xpath(".//tbody/tr/th")[0].text_content()
    assert MARKUP in [one.text for one in roofline.iter("text")]
    assert not page.xpath("//main//b[.='paged']")
