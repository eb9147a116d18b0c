"""Values as TOML has them, and what they become."""

from pathlib import Path
from typing import Any

import pytest

from tracekit.nightly.plan.keys import (
    COMMAND,
    COMMANDS,
    FLAG,
    NAME,
    PATH,
    TEXTS,
    Kind,
    UnfitError,
    above_zero,
    choice,
    duration,
    number,
    off_or,
    place_in,
    size,
    whole,
)

TIME = duration(0.001, 7200)


@pytest.mark.parametrize(
    ("kind", "given", "expected"),
    [
        (whole(1, 9), 9, 9),
        (number(0, 1), 0, 0.0),
        (number(0, 1), 1.0, 1.0),
        (above_zero(), 1e-9, 1e-9),
        (TIME, "300ms", 0.3),
        (TIME, "2h", 7200.0),
        (duration(0, 9), "0s", 0.0),
        (TIME, 5, 5.0),
        (TIME, 0.25, 0.25),
        (size(), 1024, 1024),
        (size(), "1GiB", 1 << 30),
        (size(), "1.5 MB", 1_500_000),
        (size(), "7kB", 7000),
        (size(), "12B", 12),
        (size(), "2 gib", 2 << 30),
        (off_or(number(0, 1)), False, None),
        (off_or(number(0, 1)), 0.5, 0.5),
        (place_in(("Nominal", "Light")), "light", 1),
        (place_in(("Nominal", "Light")), 0, 0),
        (choice("lower", "higher"), "lower", "lower"),
        (FLAG, True, True),
        (NAME, "décode_16.b+c-d", "décode_16.b+c-d"),
        (NAME, "de\u0301code", "décode"),
        (PATH, "~/x", Path.home() / "x"),
        (TEXTS, "one", ("one",)),
        (TEXTS, ["one", "two"], ("one", "two")),
        (TEXTS, [], ()),
        (COMMAND, "make 'a b'", ("make", "a b")),
        (COMMAND, ["make", "a b"], ("make", "a b")),
        (COMMANDS, [["a"], "b c"], (("a",), ("b", "c"))),
        (COMMANDS, [], ()),
    ],
)
def test_what_is_fit_is_read(kind: Kind, given: Any, expected: Any) -> None:
    found = kind.read(given)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        (whole(1, 9), 10),
        (whole(1, 9), True),
        (whole(1, 9), 1.0),
        (number(0, 1), float("nan")),
        (number(0, 1), "1"),
        (number(0, 1), False),
        (above_zero(), 0),
        (above_zero(), float("inf")),
        (above_zero(), float("nan")),
        (TIME, "0s"),
        (TIME, "-5s"),
        pytest.param(TIME, "1" * 400 + "h", id="endless hours"),
        pytest.param(TIME, 10**400, id="endless time"),
        pytest.param(above_zero(), 10**400, id="endless number"),
        pytest.param(number(0, 1), -(10**400), id="endless debt"),
        (TIME, [5]),
        (size(), "much"),
        (size(), -1),
        pytest.param(size(), "9" * 400 + "TB", id="endless memory"),
        (size(), float("inf")),
        (off_or(number(0, 1)), True),
        (place_in(("Nominal", "Light")), 2),
        (place_in(("Nominal", "Light")), "hot"),
        (choice("lower", "higher"), ["lower"]),
        (NAME, "x" * 65),
        (NAME, "-rf"),
        (NAME, "a\nb"),
        (NAME, "a b"),
        (PATH, "~nobody-of-this-name/x"),
        (TEXTS, [1]),
        (TEXTS, {"a": 1}),
        (COMMAND, 3),
        (COMMAND, "  "),
        (COMMANDS, "make"),
    ],
)
def test_what_is_unfit_is_refused_in_words(kind: Kind, given: Any) -> None:
    with pytest.raises(UnfitError) as refusal:
        kind.read(given)
    assert refusal.value.words.endswith((".", '"'))


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (TIME, 'time such as "5s", 1ms to 2h'),
        (duration(0.1, 90), 'time such as "5s", 100ms to 90s'),
        (off_or(size()), 'size such as "1GiB", or bytes; or `false`'),
    ],
)
def test_a_kind_says_what_it_takes(kind: Kind, words: str) -> None:
    assert kind.words == words
