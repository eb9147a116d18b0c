"""What DuckDB refuses and what an answer lacks, in sentences."""

import duckdb
import pytest

from tracekit.base.errors import InputError, TracekitError, UsageError
from tracekit.fleet.query.ask import missing_table, refusal
from tracekit.fleet.query.views import LeftOut


@pytest.mark.parametrize(
    ("error", "kind", "said"),
    [
        (
            duckdb.OutOfMemoryException("Out of Memory Error: no\nroom"),
            InputError,
            "failed: no room.",
        ),
        (duckdb.IOException("IO Error: cut"), InputError, "The query failed: cut."),
        (duckdb.PermissionException("Permission Error: no"), UsageError, "is refused: no."),
        (duckdb.BinderException("Binder Error: so\n\nLINE 1: x\n  ^"), UsageError, "answered: so."),
        (duckdb.ConversionException("Conversion Error: a!"), UsageError, "cannot be answered: a!"),
    ],
)
def test_an_error_is_one_sentence_of_the_right_class(
    error: duckdb.Error, kind: type[TracekitError], said: str
) -> None:
    put = refusal(error)
    assert type(put) is kind
    assert put.message.endswith(said)


def test_only_a_missing_table_is_one() -> None:
    missing = duckdb.CatalogException('Catalog Error: Table with name "a b" does not exist!')
    assert missing_table(missing) == "a b"
    function = duckdb.CatalogException("Catalog Error: Scalar Function with name f does not exist!")
    assert missing_table(function) == ""
    assert missing_table(duckdb.BinderException("Table with name a does not exist!")) == ""


def test_many_runs_are_counted_and_some_named() -> None:
    left_out = LeftOut()
    for number in range(30):
        left_out.note("hangs", f"r{number}")
        left_out.note("steps", f"r{number}", " is left out: It is cut.")
        left_out.note("steps", f"r{number}", ": A column is new.")
    some = ", ".join(f"r{number}" for number in range(12))
    assert left_out.warnings == (
        f"hangs of {some} and 18 more is left out: there is none.",
        f"steps of {some} and 18 more is left out: It is cut.",
        f"steps of {some} and 18 more: A column is new.",
    )
