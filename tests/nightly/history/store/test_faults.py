"""Every statement of a transaction may fail: then nothing of it is there, and it can be redone."""

from collections.abc import Callable
from multiprocessing.context import ForkServerContext
from typing import Any

import pytest
from sqlalchemy import inspect

from stored_nights import Cut, cut_at, entry_of, night_of, open_once
from tracekit.nightly.history.store.database import database, require_tables
from tracekit.nightly.history.store.schema import METADATA
from tracekit.nightly.history.store.store import Store

Say = Callable[[str], list[Any]]


def test_a_night_and_a_baseline_are_whole_or_not_there(store: Store, sql: Say) -> None:
    def counts() -> dict[str, int]:
        return {name: sql(f"SELECT count(*) FROM {name}")[0][0] for name in METADATA.tables}  # noqa: S608

    with cut_at(store.database.engine, -1) as written:
        store.append(night_of(1, [entry_of("decode"), entry_of("prefill")]))
    with cut_at(store.database.engine, -1) as accepting:
        store.accept("latest", [], "first")
    assert len(written) > 2, "a look for its id, the night, what was judged"
    before = counts()
    for number in range(len(written)):
        with cut_at(store.database.engine, number), pytest.raises(Cut):
            store.append(night_of(2))
        assert counts() == before, f"cut at {number}"
    for number in range(len(accepting)):
        with cut_at(store.database.engine, number), pytest.raises(Cut):
            store.accept("latest", [], "second")
        assert [baseline.reason for baseline in store.acceptances()] == ["first", "first"]
    assert store.append(night_of(2))
    assert [night.id for night in store.nights()] == [night_of(1).id, night_of(2).id]


@pytest.mark.parametrize("number", [4, 10, 16, 20])
def test_tables_that_were_cut_short_are_made_again(url: str, number: int) -> None:
    opened = database(url, create=True)
    with cut_at(opened.engine, number), pytest.raises(Cut):
        require_tables(opened, make=True)
    with opened.reading() as connection:
        assert inspect(connection).get_table_names() == []
    opened.engine.dispose()
    with Store.open(url) as store:
        assert store.append(night_of(1))


@pytest.mark.processes
def test_several_who_open_a_new_history_at_once_make_it_once(
    url: str, processes: ForkServerContext
) -> None:
    opening = [processes.Process(target=open_once, args=(url,)) for _ in range(3)]
    for process in opening:
        process.start()
    for process in opening:
        process.join(60)
    assert [process.exitcode for process in opening] == [0, 0, 0]
    with Store.open(url) as store:
        assert store.append(night_of(1))
