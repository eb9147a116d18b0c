"""The exam is taken through the command line; here with a recording that no exam has."""

from pathlib import Path

import pytest

from scorer import Label
from sealed.mac import Mac, Owner, Pass, Program
from take import EXAMS, choose, take

OWNER = Owner("invented", 77)
LABEL = Label(
    *("project #1", "merged", "none", "none", "invented", "", "", ""),
    *((), (), (), 0.0, (), ("no such word",), 10**6),
)


def write_invented_exports(folder: Path) -> None:
    """Write a program that commits 40 command buffers and waits for each."""
    program = Program(Mac(1, "M1"), OWNER)
    for _ in range(40):
        program.wait(program.commit([Pass("Compute", 2_000.0)]))
    program.mac.holds(OWNER, [(0.0, 1 << 20)])
    program.mac.write(folder, OWNER)


@pytest.mark.processes
def test_a_recording_is_written_imported_analyzed_and_scored(tmp_path: Path) -> None:
    exam_score = take(write_invented_exports, LABEL, tmp_path)
    assert (exam_score.share, exam_score.foreign) == (None, ())
    assert (tmp_path / "run" / "result.json").is_file()


def test_words_choose_an_exam_and_problems_of_it(subtests: pytest.Subtests) -> None:
    for words, exam, names in (
        ([], "first", list(EXAMS["first"].problems)),
        (["staged-writes"], "first", ["staged-writes"]),
        (["second"], "second", list(EXAMS["second"].problems)),
        (["second", "split-layers"], "second", ["split-layers"]),
        (["third"], "third", list(EXAMS["third"].problems)),
        (["third", "sizes-kept"], "third", ["sizes-kept"]),
        (["fourth"], "fourth", list(EXAMS["fourth"].problems)),
        (["fourth", "two-at-once"], "fourth", ["two-at-once"]),
        (["fifth"], "fifth", list(EXAMS["fifth"].problems)),
        (["fifth", "soaked-runs"], "fifth", ["soaked-runs"]),
    ):
        with subtests.test(" ".join(words) or "no word"):
            assert choose(words) == (EXAMS[exam], names)
