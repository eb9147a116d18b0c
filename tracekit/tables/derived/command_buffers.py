"""The life of each command buffer: encoded, committed, run, completed."""

import pandas as pd

from tracekit.tables.derived.joined import Joined
from tracekit.tables.derived.matching import distinct, match

_KEY = "command_buffer"
_OWNER = ("process", "pid", "target")


def lives(
    *,
    gpu_intervals: pd.DataFrame,
    encoders: pd.DataFrame | None,
    commits: pd.DataFrame | None,
    submissions: pd.DataFrame | None,
    completions: pd.DataFrame | None,
    command_buffer_errors: pd.DataFrame | None,
    object_labels: pd.DataFrame | None,
) -> Joined:
    """Bring together what each table says of a command buffer, and sum up its encoders."""
    owned = [one for one in (gpu_intervals, commits, submissions, encoders) if one is not None]
    named = [*owned, *(one for one in (completions, command_buffer_errors) if one is not None)]
    ids = pd.concat([one[_KEY] for one in named], ignore_index=True).dropna()
    table = pd.DataFrame({_KEY: ids.drop_duplicates(ignore_index=True)})
    table, said = _owned(table, owned), list[str]()
    for source, name, columns in (
        (commits, "commits", {"committed": "committed", "frame": "frame"}),
        (submissions, "submissions", {"start": "submitted"}),
        (completions, "completions", {"time": "completed"}),
        (command_buffer_errors, "command_buffer_errors", {"error": "error"}),
        (encoders, "encoders", {"command_buffer_label": "label"}),
        (object_labels, "object_labels", {"object": _KEY, "label": "label"}),
    ):
        if source is not None:
            more = source[[*{_KEY, *columns} & set(source.columns)]].rename(columns=columns)
            table, words = _added(table, more, name)
            said += words
    table = _summed(table, gpu_intervals, encoders)
    first = table[[one for one in ("submitted", "committed", "gpu_start") if one in table]]
    order = first.min(axis="columns").sort_values(kind="stable").index
    table = table.loc[order].reset_index(drop=True)
    return Joined({str(name): table[name] for name in table} | _spans(table), tuple(said))


def _owned(table: pd.DataFrame, owned: list[pd.DataFrame]) -> pd.DataFrame:
    columns = [_KEY, *_OWNER, "clock"]
    named = [one.loc[one["pid"].notna() & one[_KEY].notna(), columns] for one in owned]
    firsts = [one.drop_duplicates(_KEY) for one in named]
    everyone = pd.concat(firsts, ignore_index=True).drop_duplicates(_KEY, ignore_index=True)
    at = match([table[_KEY]], [everyone[_KEY]])
    table = table.assign(**{name: at.take(everyone[name]) for name in (*_OWNER, "clock")})
    return table.assign(target=table["target"].fillna(value=False).astype(bool))


def _added(
    table: pd.DataFrame, more: pd.DataFrame, name: str
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    names = [str(column) for column in more if column != _KEY]
    rows = distinct(more, [_KEY], names)
    at = match([table[_KEY]], [rows[_KEY]])
    for column in names:
        found = at.take(rows[column])
        table[column] = (
            table[column].where(table[column].notna(), found) if column in table else found
        )
    return table, at.doubts("command buffers", name)


def _summed(
    table: pd.DataFrame, gpu_intervals: pd.DataFrame, encoders: pd.DataFrame | None
) -> pd.DataFrame:
    work = gpu_intervals.assign(end=gpu_intervals["start"] + gpu_intervals["duration"])
    sums = work.groupby(_KEY).agg(
        gpu_start=("start", "min"), gpu_end=("end", "max"), gpu_intervals=("start", "size")
    )
    table = table.join(sums.astype("Int64"), on=_KEY)
    table["gpu_time"] = _total(table, work)
    if encoders is not None:
        written = encoders.groupby(_KEY).agg(encoders=("start", "size"))
        table = table.join(written.astype("Int64"), on=_KEY)
        table["encoder_time"] = _total(table, encoders)
    return table


def _total(table: pd.DataFrame, work: pd.DataFrame) -> pd.Series:
    totals = work.groupby(_KEY)["duration"].sum(min_count=1)
    return table[_KEY].map(totals.astype("Int64")).astype("Int64")


def _spans(table: pd.DataFrame) -> dict[str, pd.Series]:
    spans: dict[str, pd.Series] = {}
    if "committed" in table:
        spans["commit_to_start"] = table["gpu_start"] - table["committed"]
        if "completed" in table:
            spans["commit_to_complete"] = table["completed"] - table["committed"]
    return spans
