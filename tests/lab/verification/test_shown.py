from tracekit.lab.verification.verify import (
    Moved,
    Outcome,
    Question,
    Verdict,
    Verification,
    in_full,
    in_short,
)

GOOD = Verification(
    "sums",
    {"dtype": "float16", "head_dim": 64},
    ("k",),
    (
        Verdict(Question.COMPILES, Outcome.PASSED, "1 kernel"),
        Verdict(Question.ENDS, Outcome.PASSED, ""),
    ),
    (Moved("k", "x", 2048, 0, 1024), Moved("k", "out", 0, 4, 4)),
)
BAD = Verification(
    "sums",
    {},
    (),
    (
        Verdict(Question.COMPILES, Outcome.PASSED, ""),
        Verdict(Question.ADDRESS_SPACES, Outcome.NOT_CHECKED, "it was stopped"),
        Verdict(Question.BOUNDS, Outcome.DEFECT, "out of x", ("7 | x[i]", "  | ^")),
        Verdict(Question.ERROR, Outcome.NOT_CHECKED, "it was stopped"),
        Verdict(Question.TRAFFIC, Outcome.NOT_CHECKED, "there is no model"),
    ),
)


def test_all_is_said_of_one() -> None:
    assert list(in_full(GOOD)) == [
        "sums --dtype float16 --head-dim 64",
        "  compiles                      ok      1 kernel",
        "  runs to its end               ok",
        "  k, x: 2,048 bytes loaded, 0 stored, 1,024 touched, 2.0 loads of a byte",
        "  k, out: 0 bytes loaded, 4 stored, 4 touched",
    ]


def test_what_was_not_checked_stands_together_with_its_reason() -> None:
    assert list(in_full(BAD)) == [
        "sums",
        "  compiles                      ok",
        "  accesses in bounds            DEFECT  out of x",
        "      7 | x[i]",
        "        | ^",
        "  not checked, because it was stopped: address spaces, error within its bound",
        "  not checked, because there is no model: bytes loaded",
    ]


def test_of_many_only_defects_are_said_in_full() -> None:
    assert list(in_short(GOOD)) == ["sums --dtype float16 --head-dim 64: 2 passed"]
    assert list(in_short(BAD)) == [
        "sums: 1 passed, 1 defect, 3 not checked",
        "  accesses in bounds            DEFECT  out of x",
        "      7 | x[i]",
        "        | ^",
    ]
