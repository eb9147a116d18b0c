"""Names, density and English may become better, never worse: `python tests/harness/style.py`."""

import pytest

import prose
import style

_ENGLISH = "Write as CONTRIBUTING.md asks; `style.py --places english` lists the phrases."

# The most that each figure may be, and what to do when it rises.
LIMITS: dict[str, tuple[float, str]] = {
    "shared class names": (0, "Give one of the two classes a name of its own."),
    "vague functions, %": (0.5, "Name a function by a verb: `find_gaps`, not `found`."),
    "vague stored names, %": (0.8, "Name a value by a noun: `gaps`, not `found`."),
    "nodes a statement": (11.3, "Part long statements: one idea a line."),
    "tuple assignments": (0.4, "Assign unrelated values in lines of their own."),
    "comprehensions": (26.5, "Write a loop, or give the comprehension's parts names."),
    "ternaries": (7.5, "Write `if` and `else` as statements."),
    "nested ternaries": (0, "Write `if`, `elif` and `else` as statements."),
    "functions of 15 branches": (1, "Part the function by what its parts decide."),
    "odd English: help": (0.2, _ENGLISH),
    "odd English: errors": (0.3, _ENGLISH),
    "odd English: docs": (0.7, _ENGLISH),
    "odd English: changelog": (0.1, _ENGLISH),
    "odd English: docstrings": (1.1, _ENGLISH),
    "odd English: test names": (0.1, "Name a test `test_<subject>_<behaviour>`."),
    "public names": (350, "Give a face only the names that other rooms use."),
}


def test_no_figure_of_style_rises(subtests: pytest.Subtests) -> None:
    figures = style.all_figures()
    assert figures.keys() == LIMITS.keys()
    for name, figure in figures.items():
        limit, remedy = LIMITS[name]
        with subtests.test(name):
            assert figure <= limit, f"{name}: {figure:.2f}, at most {limit}. {remedy}"


MOST_WORDS = 36_400  # of all written pages
LONG_SENTENCE = 28  # words that nine of ten sentences of a page do not exceed


def test_written_pages_stay_short(subtests: pytest.Subtests) -> None:
    pages = prose.written_pages()
    assert len(pages) > 50
    assert sum(page.words for page in pages) <= MOST_WORDS, "`python tests/harness/prose.py`"
    for page in prose.judged_pages(pages):
        with subtests.test(page.file.name):
            assert page.long_sentence <= LONG_SENTENCE, f"python tests/harness/prose.py {page.file}"


def test_each_page_names_its_reader_first() -> None:
    folders = ("explanation", "how-to")
    pages = [page.file for page in prose.written_pages() if page.file.parent.name in folders]
    assert [file.name for file in pages if not prose.first_paragraph(file).startswith("For ")] == []


def test_sentences_end_at_full_stops() -> None:
    text = (
        "# Title\n\nOne `a. b` here. Two\ngoes on, e.g. so.\n\n- An item\n| a | b |\n```\nx\n```\n"
    )
    assert [*prose.sentences(text)] == ["One X here.", "Two goes on, e.g. so.", "An item"]


def test_vague_names_are_found() -> None:
    vague = ["found", "_held", "at", "one", "left_out", "merged"]
    clear = ["find_gaps", "gaps", "kept_rows", "speed", "is_kept"]
    assert [name for name in vague + clear if style.is_vague(name)] == vague


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("Return what a file holds.", ["a clause headed by what"]),
        ("What does a file hold?", []),
        ("'3' is no age.", ["is no"]),
        ("There is no age, and it is no longer asked.", []),
        ("It stands beside the page.", ["stands", "beside"]),
        (
            "A folder where nothing is kept, for it is empty.",
            ["a clause headed by where", "for, as because"],
        ),
        ("Somebody who used it.", []),
        ("It says who used it.", ["a clause headed by who"]),
    ],
)
def test_odd_phrases_are_counted(text: str, kinds: list[str]) -> None:
    assert [*style.odd_phrases(text)] == kinds
