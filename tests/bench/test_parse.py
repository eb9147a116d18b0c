"""The benchmark as a whole, at a tiny size: it compares, times, and writes; never how fast."""

import json
from pathlib import Path

import pytest

import parse
from reading.methods import METHODS, named
from reading.rounds import Export, compare

PLACE = "# Speed\n\n<!-- written by bench/parse.py -->\nold\n<!-- end -->\n\nMore.\n"


@pytest.mark.processes
def test_a_run_compares_times_and_writes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page, data = tmp_path / "page.md", tmp_path / "speed.json"
    page.write_text(PLACE)
    ways = ["--method=tracekit, exact", "--method=read(2)"]
    output_options = [f"--data={tmp_path}", f"--json={data}", f"--markdown={page}"]
    parse.main(["--mb=0.05", "--rounds=1", "--kind=counters", *ways, *output_options])

    document = json.loads(data.read_text())
    (export,) = document["exports"]
    assert export["rows"] == (tmp_path / "counters-0.05-1.xml").read_text().count("<row>")
    assert [*export["methods"]] == ["tracekit, exact", "read(2)"]
    for name, result in (("tracekit, exact", "equal to the truth"), ("read(2)", "decodes nothing")):
        assert export["methods"][name]["result"] == result
        assert len(export["methods"][name]["seconds"]) == 1, name
    page_text = page.read_text()
    assert page_text.startswith("# Speed\n\n<!-- written by bench/parse.py -->\n\n- machine: ")
    assert page_text.endswith("<!-- end -->\n\nMore.\n")
    assert "old" not in page_text
    assert page_text.partition("- machine: ")[2].partition("<!-- end")[0].strip() in (
        capsys.readouterr().out
    )


def test_a_page_without_a_place_is_refused(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Speed\n")
    with pytest.raises(SystemExit, match="no place for the table"):
        parse.main(["--mb=0", f"--markdown={page}"])
    assert page.read_text() == "# Speed\n"


@pytest.mark.processes
def test_a_reader_that_gives_up_is_named_and_not_timed(tmp_path: Path) -> None:
    path = tmp_path / "odd.xml"
    path.write_text("<no-export/>")
    messages: list[str] = []
    (outcome,) = compare(Export("odd", path), [named("lxml, tuned")], 20, messages.append)
    assert outcome.verdict == f"gave up: ValueError: {path} has no header"
    assert not outcome.timed
    assert messages == [f"odd, 0 MB: lxml, tuned: {outcome.verdict}"]


def test_slow_ways_skip_large_files(exports: dict[str, Path]) -> None:
    slow = [method for method in METHODS if method.slow]
    outcomes = compare(Export("counters", exports["counters"]), slow, 0.1, lambda _: None)
    assert [outcome.verdict for outcome in outcomes] == ["skipped: only up to 0.1 MB"] * len(slow)
    assert not any(outcome.timed for outcome in outcomes)
