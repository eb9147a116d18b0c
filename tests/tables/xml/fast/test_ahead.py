"""Work done ahead keeps its order, its exceptions, and its end."""

import threading
from collections.abc import Iterator

import pytest

from tracekit.tables.xml.fast import reader as module
from tracekit.tables.xml.fast.reader import ahead


@pytest.fixture(params=[1, 2])
def cores(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(module, "_cores", lambda: request.param)
    return request.param


@pytest.mark.usefixtures("cores")
def test_results_come_in_order() -> None:
    assert list(ahead(lambda number: number * number, range(20))) == [n * n for n in range(20)]
    assert list(ahead(str, [])) == []


def test_with_two_cores_another_thread_works(cores: int) -> None:
    threads = set(ahead(lambda _: threading.current_thread().name, range(3)))
    assert (threads == {"MainThread"}) == (cores == 1)


@pytest.mark.usefixtures("cores")
def test_an_exception_is_raised_where_its_result_would_come() -> None:
    results = ahead(lambda number: 12 // (2 - number), range(9))
    assert [next(results), next(results)] == [6, 12]
    with pytest.raises(ZeroDivisionError):
        next(results)


def test_not_more_is_taken_than_is_soon_needed(cores: int) -> None:
    taken: list[int] = []

    def items() -> Iterator[int]:
        for number in range(100):
            taken.append(number)
            yield number

    results = ahead(str, items())
    assert next(results) == "0"
    assert len(taken) <= (1 if cores == 1 else 4)


@pytest.mark.usefixtures("cores")
def test_whoever_stops_early_leaves_no_thread_behind() -> None:
    before = threading.active_count()
    results = ahead(str, range(100))
    next(results)
    results.close()
    assert threading.active_count() == before
