"""What is wrong with a plan, told at once with its lines; and which values are fit."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta

from tracekit.base.errors import UsageError
from tracekit.nightly.plan.plan import (
    Bytes,
    Command,
    Commands,
    Name,
    NightPlan,
    Pressure,
    Seconds,
    Share,
    Text,
    Texts,
    converted,
)
from tracekit.nightly.plan.reading import read_plan

Refused = Callable[..., UsageError]
HEAD = '[nightly]\n[[nightly.capture]]\nworkload = "paged"\n'
BEGUN = {
    "": "",
    "HEAD": HEAD,
    "REFERENCE": HEAD + 'reference.revision = "main"\n',
    "UNFINISHED": HEAD[:30],
}

# What stands before, then the lines; the number of the line that is told, what is said of it, and
# what the hint says.
MISTAKES = (Path(__file__).parent / "mistakes.txt").read_text().splitlines()


@pytest.mark.parametrize("case", MISTAKES)
def test_a_mistake_is_told_with_its_line_and_what_to_do(case: str, refused: Refused) -> None:
    before, lines, line, said, hint = (part.strip() for part in case.split("|"))
    text = BEGUN[before] + lines.replace("; ", "\n").replace("HEAD", HEAD[10:])
    error = refused(text)
    assert error.message.startswith(f"tracekit.toml:{line}: "), error.message
    assert said in error.message
    assert hint in error.hint
    assert "\n" not in error.message
    assert "secret" not in error.message + error.hint


def test_all_mistakes_are_told_at_once_in_the_order_of_the_file(refused: Refused) -> None:
    second = "[[nightly.capture]]\nname = 'Decode'\nworkload = 'sdpa'\npairs = 'ten'\n"
    before = "[nightlyy]\n[nightly]\nbudget = 'soon'\ndefaults.turn = 0\n"
    error = refused(f"{before}{HEAD[10:]}name = 'decode'\n{second}")
    head, *lines = error.message.splitlines()
    assert head == "tracekit.toml has 4 mistakes:"
    assert [line.split(": ")[0].strip() for line in lines] == [
        "tracekit.toml:1",
        *("tracekit.toml:3", "tracekit.toml:4", "tracekit.toml:11"),  # once, though two read it
    ]
    assert "--init" in error.hint


def test_a_shared_file_is_named_by_its_own_tables(tmp_path: Path) -> None:
    file = tmp_path / "pyproject.toml"
    file.write_text("[project]\nname = 'x'\n[tool.tracekit.nightly]\nbudgt = '1h'\n")
    with pytest.raises(UsageError) as refusal:
        read_plan(file)
    assert "4: tool.tracekit.nightly.budgt is no key" in refusal.value.message
    assert "3: tool.tracekit.nightly.capture must be" in refusal.value.message


@pytest.mark.parametrize("text", ["raise OSError('no disk')\n", "def ("])
def test_a_workload_that_cannot_be_loaded_is_no_mistake_of_the_plan(
    text: str, plan_file: Path
) -> None:
    (plan_file.parent / "broken.py").write_text(text)
    head = "[nightly]\n[[nightly.capture]]\nworkload = 'broken'\nworkloads = '.'\n"
    plan_file.write_text(head + "parameters = { size = 1 }\n")
    (capture,) = read_plan(plan_file).captures
    assert (capture.workload, capture.parameters) == ("broken", {"size": 1})


WHOLE = Annotated[int, Meta(ge=1, le=9)]
TIME = Annotated[Seconds, Meta(ge=0.001, le=7200)]


FIT: list[tuple[Any, Any, Any]] = [
    (Share, 1.0, 1.0), (TIME, "300ms", 0.3), (TIME, "2h", 7200.0), (Seconds, "0s", 0.0),
    (Bytes, "1GiB", 1 << 30), (Bytes, "1.5 MB", 1_500_000), (Pressure, "light", 1),
    (Name, "décode_16.b+c-d", "décode_16.b+c-d"), (Path, "~/x", Path.home() / "x"),
    (Texts, "one", ("one",)), (Texts, ["one", "two"], ("one", "two")),
    (Command, "make 'a b'", ("make", "a b")), (Command, ["make", "a b"], ("make", "a b")),
    (Commands, [["a"], "b c"], (("a",), ("b", "c"))),
]  # fmt: skip
UNFIT: list[tuple[Any, Any]] = [
    (WHOLE, 0), (WHOLE, True), (Share, 1.001), (Share, -0.001), (Share, float("nan")),
    (Share, False), (TIME, "0s"), (TIME, "7201s"), (TIME, "1" * 400 + "h"), (Bytes, -1),
    (Pressure, 6), (Pressure, "hot"), (Name, "x" * 65), (Name, "a\nb"), (Name, "a\n"),
    (Name, ".."), (Text, ""), (Text, "a\0b"), (Path, "~nobody-of-this-name/x"), (Texts, [1]),
    (Command, "  "), (Command, "a 'b"), (Commands, [[]]), (Commands, "make"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "given", "expected"), FIT)
def test_what_is_fit_is_read(kind: Any, given: Any, expected: Any) -> None:
    found = converted(given, kind)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(("kind", "given"), UNFIT, ids=range(len(UNFIT)))
def test_what_is_unfit_is_refused_in_words(kind: Any, given: Any) -> None:
    with pytest.raises(ValueError, match=r"\S"):
        converted(given, kind)


LINES = (Path(__file__).parent / "fit.toml").read_text().splitlines()
NUMBERS = ["1", "-1", "0", "0.5", "nan", "-inf", "9" * 40, "true", "false"]
TEXTS = ['""', '"x"', "'5s'", "1979-05-27", "07:32:00"]
NESTED = ["[]", "[[]]", "[1]", '["x"]', "{}", "{ a = 1 }", "{ threshold = [] }"]
VALUES = st.sampled_from([*NUMBERS, *TEXTS, *NESTED])
KEYED = [place for place, line in enumerate(LINES) if " = " in line]


def attempt(folder: Path, text: str) -> NightPlan | UsageError:
    """Read a text as a plan; a mistake must name a line that the text has."""
    file = folder / "tracekit.toml"
    file.write_text(text, encoding="utf-8")
    try:
        return read_plan(file)
    except UsageError as refusal:
        error = refusal
    found = re.findall(r"tracekit\.toml:(\d+): |at line (\d+)", error.message)
    lines = [int(each or other) for each, other in found]
    assert lines or "end of document" in error.message
    assert all(1 <= each <= text.count("\n") + 1 for each in lines)
    assert lines == sorted(lines)
    return error


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("any")
    assert isinstance(attempt(made, "\n".join(LINES)), NightPlan)
    return made


@given(st.sampled_from(KEYED), VALUES)
def test_a_value_of_any_kind_is_read_or_told_at_its_line(
    folder: Path, place: int, value: str
) -> None:
    lines = list(LINES)
    lines[place] = f"{lines[place].partition(' = ')[0]} = {value}"
    found = attempt(folder, "\n".join(lines))
    if isinstance(found, UsageError) and "mistakes" not in found.message:
        told = int(found.message.partition(".toml:")[2].partition(":")[0])
        # A capture is named as a whole where the spoilt line is what it lacks now.
        assert told in {place + 1, 14, 21, 26, 27, 28}


@given(st.sampled_from(KEYED), st.text(st.characters(codec="utf-8"), max_size=8))
def test_a_key_of_any_letters_is_told_and_never_passed_over(
    folder: Path, place: int, name: str
) -> None:
    key, _, value = LINES[place].partition(" = ")
    escaped = "".join(f"\\U{ord(each):08x}" for each in name)
    lines = list(LINES)
    lines[place] = f'"{escaped}" = {value}'
    found = attempt(folder, "\n".join(lines))
    if isinstance(found, NightPlan):
        in_metrics = key in {"tokens_per_second", "steady_compiles"}
        assert name == key or in_metrics


@given(st.integers(0, len("\n".join(LINES)) - 1), st.sampled_from("\"'[]{}=#.,\n \\x0é"))
def test_a_letter_that_slipped_in_leaves_a_plan_or_a_sentence(
    folder: Path, place: int, letter: str
) -> None:
    text = "\n".join(LINES)
    found = attempt(folder, text[:place] + letter + text[place:])
    assert isinstance(found, NightPlan | UsageError)
