"""Values as TOML has them, and what they become."""

from pathlib import Path
from typing import Annotated, Any

import pytest
from msgspec import Meta

from tracekit.nightly.plan.kinds import (
    Bytes,
    Command,
    Commands,
    Name,
    Pressure,
    Seconds,
    Share,
    Text,
    Texts,
    converted,
)

WHOLE = Annotated[int, Meta(ge=1, le=9)]
TIME = Annotated[Seconds, Meta(ge=0.001, le=7200)]


@pytest.mark.parametrize(
    ("kind", "given", "expected"),
    [
        (Share, 1.0, 1.0),
        (TIME, "300ms", 0.3),
        (TIME, "2h", 7200.0),
        (Seconds, "0s", 0.0),
        (Bytes, "1GiB", 1 << 30),
        (Bytes, "1.5 MB", 1_500_000),
        (Pressure, "light", 1),
        (Name, "décode_16.b+c-d", "décode_16.b+c-d"),
        (Path, "~/x", Path.home() / "x"),
        (Texts, "one", ("one",)),
        (Texts, ["one", "two"], ("one", "two")),
        (Command, "make 'a b'", ("make", "a b")),
        (Command, ["make", "a b"], ("make", "a b")),
        (Commands, [["a"], "b c"], (("a",), ("b", "c"))),
    ],
)
def test_what_is_fit_is_read(kind: Any, given: Any, expected: Any) -> None:
    found = converted(given, kind)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        (WHOLE, 0),
        (WHOLE, True),
        (Share, 1.001),
        (Share, -0.001),
        (Share, float("nan")),
        (Share, False),
        (TIME, "0s"),
        (TIME, "7201s"),
        pytest.param(TIME, "1" * 400 + "h", id="endless hours"),
        (Bytes, -1),
        (Pressure, 6),
        (Pressure, "hot"),
        (Name, "x" * 65),
        (Name, "a\nb"),
        (Name, "a\n"),
        (Name, ".."),
        (Text, ""),
        (Text, "a\0b"),
        (Path, "~nobody-of-this-name/x"),
        (Texts, [1]),
        (Command, "  "),
        (Command, "a 'b"),
        (Commands, [[]]),
        (Commands, "make"),
    ],
)
def test_what_is_unfit_is_refused_in_words(kind: Any, given: Any) -> None:
    with pytest.raises(ValueError, match=r"\S"):
        converted(given, kind)
