"""Facts become one sentence, in one place."""

import re
from pathlib import Path

import jinja2
import pytest

from tracekit.analysis.rule import Fact, Finding, Severity, finding
from tracekit.analysis.wording import headline, put_into_words, sentence_of
from tracekit.base import files

RULES = Path(__file__).parents[2] / "tracekit" / "analysis" / "rules"


def overhead(*facts: Fact) -> Finding:
    return finding(wording="trace-overhead", lever="trace-overhead", facts=facts)


def test_each_fact_is_written_by_its_unit() -> None:
    facts = (Fact("ratio", 0.125, "ratio"), Fact("spread", 0.01, "ratio"))
    assert sentence_of(overhead(*facts)) == (
        "Recording made the workload 12.5 % (± 1.0 %) slower: absolute times are too long, only "
        "shares can be compared."
    )


def test_a_fact_that_is_not_known_is_not_a_number() -> None:
    facts = (Fact("ratio", 0.125, "ratio"), Fact("spread", None, "ratio"))
    assert sentence_of(overhead(*facts)).startswith("Recording made the workload 12.5 % slower")


def test_a_template_that_names_a_fact_the_finding_lacks_is_an_error() -> None:
    with pytest.raises(jinja2.UndefinedError, match="ratio"):
        sentence_of(overhead())


def test_a_finding_without_a_template_keeps_its_message() -> None:
    unworded_finding = Finding("bubbles", Severity.WARNING, "As it is.", "Advice.")
    assert put_into_words(unworded_finding).message == "As it is."


@pytest.mark.parametrize(
    ("lever", "facts", "line"),
    [
        ("round-trips", {"idle_share": 0.96}, "Round trips between host and device: idle for 96.0"),
        (
            "gather",
            {"device_share": 0.3},
            "Gathering before attention: 30.0 % of the device",
        ),
        ("scatter", {"lost_share": 0.1}, "Writing the cache by encoders of their own: 10.0 % of"),
        ("low-occupancy", {"share": 0.17}, "Too few threads in flight."),
        ("of-another-version", {"idle_share": 0.5}, "The sentence."),
        ("", {}, "The sentence."),
    ],
)
def test_a_headline_names_the_cause_and_a_share_of_time(
    lever: str, facts: dict[str, float], line: str
) -> None:
    stated_facts = tuple(Fact(name, value, "ratio") for name, value in facts.items())
    all_facts = (*stated_facts, Fact("window", "the loop"))
    worded_finding = Finding(
        "r", Severity.WARNING, "The sentence.", "", facts=all_facts, lever=lever
    )
    assert headline(worded_finding).startswith(line)


def test_doubt_follows_the_sentence_of_any_finding() -> None:
    facts = (Fact("ratio", 0.125, "ratio"), Fact("spread", None), Fact("uncompared", "names"))
    assert sentence_of(overhead(*facts)).endswith(
        "only shares can be compared. The names were read by an encoding that was never compared "
        "with an export: compare some before you act."
    )


def test_rules_and_templates_name_each_other() -> None:
    template_names = {
        name
        for file in RULES.glob("*.py")
        for name in re.findall(r'wording="([^"]+)"', file.read_text())
    }
    assert template_names == {
        file.stem for file in (files.find_shipped_folder("templates") / "findings").glob("*.txt")
    }
