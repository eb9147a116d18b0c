"""The process that a recording is about: chosen, named by the recording, or the only plausible."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from command_line import assert_error

Xml = Callable[..., str]
MS = 1_000_000
OURS, SERVER, NEIGHBOUR = (4711, "python3"), (420, "WindowServer"), (900, "Safari")


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (
            [(0, 900 * MS, *OURS), (0, 5 * MS, *SERVER)],
            (
                "python3 (4711): it has 900 ms of GPU time, and no other program comes near: "
                "WindowServer (420), 5 ms of GPU time."
            ),
        ),
        (
            [(0, 9 * MS, *OURS), (0, 900 * MS, *SERVER)],
            (
                "python3 (4711): it has 9 ms of GPU time, and no other program comes near: "
                "WindowServer (420), 900 ms of GPU time."
            ),
        ),
        (
            [(0, 900 * MS, *OURS), (0, 44 * MS, *NEIGHBOUR)],
            (
                "python3 (4711): it has 900 ms of GPU time, and no other program comes near: "
                "Safari (900), 44 ms of GPU time."
            ),
        ),
        (
            [(0, 900 * MS, *OURS), (0, 46 * MS, *NEIGHBOUR)],
            "Candidates: python3 (4711), 900 ms of GPU time; Safari (900), 46 ms of GPU time.",
        ),
        ([(0, 5 * MS, *SERVER)], "WindowServer (420): no other has rows."),
        # Work that overlaps counts once.
        (
            [(0, 10 * MS, *OURS), (0, 10 * MS, *OURS), (0, 11 * MS, *NEIGHBOUR)],
            "Candidates: Safari (900), 11 ms of GPU time; python3 (4711), 10 ms of GPU time.",
        ),
    ],
    ids=["one", "compositor", "below", "above", "alone", "union"],
)
def test_the_only_plausible_process_is_taken_with_the_reason(
    rows: list[Any], words: str, tmp_path: Path, tracekit: Any, intervals_xml: Xml
) -> None:
    (tmp_path / "one.xml").write_text(intervals_xml(rows))
    result = tracekit("report", tmp_path / "one.xml")
    [line] = [line for line in result.out.splitlines() if line.startswith("target")]
    assert words in line


def test_a_target_is_chosen_anew_without_an_import(
    tmp_path: Path, tracekit: Any, intervals_xml: Xml
) -> None:
    export = tmp_path / "one.xml"
    export.write_text(intervals_xml([(0, 900 * MS, *OURS), (0, 500 * MS, *NEIGHBOUR)]))
    unknown = tracekit("analyze", export)
    assert "which process is the target is not known" in unknown.out
    assert " 900 ms" in tracekit("analyze", export, "--target", "4711").out
    assert " 500 ms" in tracekit("analyze", export, "--target", "Safari").out
    # The choice stays until another one is made.
    kept = tracekit("report", export)
    assert "Safari (900): it was chosen with --target." in kept.out
    nobody = tracekit("analyze", export, "--target", "nobody")
    assert_error(nobody, 2, "--target nobody names none", "python3 (4711), 900 ms of GPU time")


def test_a_recording_names_its_target(imported: Path, tracekit: Any) -> None:
    assert tracekit("analyze", imported).code == 0
    result = tracekit("report", imported)
    assert "python3 (4711): the recording names it as its target." in result.out
