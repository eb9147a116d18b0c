"""Tables made of other tables: command buffers, GPU jobs, shader runs, counters, signposts."""

from __future__ import annotations

from collections.abc import Mapping

from tracekit.base import InputError
from tracekit.tables.joins import Joined, Match, distinct, match, reads
from tracekit.tables.lazy import np, pd

_KEY = "command_buffer"
_OWNER = ("process", "pid", "target")
_OWNED = (_KEY, *_OWNER, "clock")


@reads(
    gpu_intervals=(*_OWNED, "start", "duration"),
    encoders=(*_OWNED, "start", "duration", "command_buffer_label"),
    commits=(*_OWNED, "committed", "frame"),
    submissions=(*_OWNED, "start"),
    completions=(_KEY, "time"),
)
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
    """Collect the times, labels and errors of each command buffer, and sum up its encoders."""
    owned = _list_present([gpu_intervals, commits, submissions, encoders])
    other_frames = _list_present([completions, command_buffer_errors])
    keyed_frames = [*owned, *other_frames]
    id_columns = [frame[_KEY] for frame in keyed_frames]
    ids = pd.concat(id_columns, ignore_index=True)
    distinct_ids = ids.dropna().drop_duplicates(ignore_index=True)
    table = pd.DataFrame({_KEY: distinct_ids})
    table = _add_owners(table, owned)
    warnings = list[str]()
    for source, name, columns in (
        (commits, "commits", {"committed": "committed", "frame": "frame"}),
        (submissions, "submissions", {"start": "submitted"}),
        (completions, "completions", {"time": "completed"}),
        (command_buffer_errors, "command_buffer_errors", {"error": "error"}),
        (encoders, "encoders", {"command_buffer_label": "label"}),
        (object_labels, "object_labels", {"object": _KEY, "label": "label"}),
    ):
        if source is None:
            continue
        present_columns = {_KEY, *columns} & set(source.columns)
        more = source[list(present_columns)].rename(columns=columns)
        table, words = _add_columns(table, more, name)
        warnings += words
    table = _add_sums(table, gpu_intervals, encoders)
    table = _sort_by_first_time(table)
    joined_columns = {str(name): table[name] for name in table}
    joined_columns.update(_spans(table))
    return Joined(joined_columns, tuple(warnings))


def _list_present(frames: list[pd.DataFrame | None]) -> list[pd.DataFrame]:
    return [frame for frame in frames if frame is not None]


def _sort_by_first_time(table: pd.DataFrame) -> pd.DataFrame:
    """Sort command buffers by the first of their times that is known."""
    time_columns = [name for name in ("submitted", "committed", "gpu_start") if name in table]
    first_times = table[time_columns].min(axis="columns")
    order = first_times.sort_values(kind="stable").index
    return table.loc[order].reset_index(drop=True)


def _add_owners(table: pd.DataFrame, owned: list[pd.DataFrame]) -> pd.DataFrame:
    """Add the process of each command buffer, from the first frame that has one."""
    owner_columns = [*_OWNER, "clock"]
    firsts: list[pd.DataFrame] = []
    for frame in owned:
        has_owner = frame["pid"].notna() & frame[_KEY].notna()
        first_rows = frame.loc[has_owner, _KEY].drop_duplicates().index
        firsts.append(frame.loc[first_rows, [_KEY, *owner_columns]])
    all_owners = pd.concat(firsts, ignore_index=True)
    owners = all_owners.drop_duplicates(_KEY, ignore_index=True)
    matches = match([table[_KEY]], [owners[_KEY]])
    taken_columns = {name: matches.take(owners[name]) for name in owner_columns}
    is_target = taken_columns["target"].fillna(value=False).astype(bool)
    return table.assign(**{**taken_columns, "target": is_target})


def _add_columns(
    table: pd.DataFrame, more: pd.DataFrame, name: str
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    names = [str(column) for column in more if column != _KEY]
    rows = distinct(more, [_KEY], names)
    matches = match([table[_KEY]], [rows[_KEY]])
    for column in names:
        values = matches.take(rows[column])
        if column in table:
            has_value = table[column].notna()
            table[column] = table[column].where(has_value, values)
        else:
            table[column] = values
    return table, matches.doubts("command buffers", name)


def _add_sums(
    table: pd.DataFrame, gpu_intervals: pd.DataFrame, encoders: pd.DataFrame | None
) -> pd.DataFrame:
    ends = gpu_intervals["start"] + gpu_intervals["duration"]
    work = gpu_intervals.assign(end=ends)
    groups = work.groupby(_KEY)
    sums = groups.agg(
        gpu_start=("start", "min"), gpu_end=("end", "max"), gpu_intervals=("start", "size")
    )
    table = table.join(sums.astype("Int64"), on=_KEY)
    table["gpu_time"] = _total(table, work)
    if encoders is not None:
        encoder_groups = encoders.groupby(_KEY)
        encoder_counts = encoder_groups.agg(encoders=("start", "size"))
        table = table.join(encoder_counts.astype("Int64"), on=_KEY)
        table["encoder_time"] = _total(table, encoders)
    return table


def _total(table: pd.DataFrame, work: pd.DataFrame) -> pd.Series:
    """Return the summed duration of the work of each command buffer; null if it has none."""
    durations = work.groupby(_KEY)["duration"]
    totals = durations.sum(min_count=1).astype("Int64")
    return table[_KEY].map(totals).astype("Int64")


def _spans(table: pd.DataFrame) -> dict[str, pd.Series]:
    spans: dict[str, pd.Series] = {}
    if "committed" in table:
        spans["commit_to_start"] = table["gpu_start"] - table["committed"]
        if "completed" in table:
            spans["commit_to_complete"] = table["completed"] - table["committed"]
    return spans


_MOST_CELLS = 100_000_000


def named_counters(
    gpu_counter_values: pd.DataFrame, gpu_counter_infos: pd.DataFrame, gpus: pd.DataFrame | None
) -> Joined:
    """Give raw samples the names of their counters, by counter and device.

    A sample without a device takes the name by its counter alone if only one device has counters.
    """
    samples = gpu_counter_values
    infos = distinct(gpu_counter_infos, ["counter", "accelerator"], ["name", "type"])
    devices = infos["accelerator"].dropna().unique()
    device = samples["accelerator"]
    complete_infos = infos
    if len(devices) == 1:
        device = device.fillna(devices[0])
        accelerators = infos["accelerator"].fillna(devices[0])
        complete_infos = infos.assign(accelerator=accelerators)
    sample_keys = [samples["counter"], device]
    info_keys = [complete_infos["counter"], complete_infos["accelerator"]]
    matches = match(sample_keys, info_keys)
    types = matches.take(infos["type"])
    unnamed = matches.key_count - matches.match_count - matches.ambiguous
    warnings = matches.describe_mismatches("counter samples", "gpu_counter_infos")
    if unnamed and matches.match_count:
        warnings += (f"{unnamed:,} counter samples have an id that no name is known of",)
    counter = matches.take(infos["name"])
    value = samples["value"]
    percentage = _percentage(types)
    columns = {
        "start": samples["time"],
        "counter": counter,
        "value": value,
        "percentage": percentage,
        "clock": samples["clock"],
    }
    if gpus is not None:
        listed = distinct(gpus, ["accelerator"], ["device"])
        gpu_matches = match([device], [listed["accelerator"]])
        columns["device"] = gpu_matches.take(listed["device"])
    return Joined(columns, warnings)


def counters_side_by_side(gpu_counters: pd.DataFrame) -> Joined:
    """Lay the counters that were sampled together side by side, a column for each name."""
    has_name = gpu_counters["counter"].notna()
    has_value = gpu_counters["value"].notna()
    named_samples = gpu_counters[has_name & has_value]
    is_duplicate = named_samples.duplicated(["device", "start", "counter"], keep=False)
    single = named_samples[~is_duplicate]
    rows = single.groupby(["start", "device"], sort=True, dropna=False)
    row = rows.ngroup().to_numpy()
    names = list(dict.fromkeys(single["counter"]))
    count = int(row.max(initial=-1)) + 1
    if count * len(names) > _MOST_CELLS:
        raise InputError(
            f"{len(names)} counters at {count:,} different times are too many side by side.",
            hint="Use gpu_counters, which has a row for each sample.",
        )
    row_groups = single.groupby(row, sort=True)
    columns: dict[str, pd.Series] = {}
    for name in ("start", "device", "clock"):
        columns[name] = row_groups[name].first()
    counter_names = single["counter"].to_numpy()
    for name, samples in single.groupby("counter", sort=False):
        places = row[counter_names == name]
        column = pd.Series(pd.NA, index=range(count), dtype="Float64")
        column.iloc[places] = samples["value"].to_numpy()
        columns[_find_free_name(str(name), columns)] = column
    doubled = int(is_duplicate.sum())
    warnings: list[str] = []
    if doubled:
        warnings.append(f"{doubled:,} samples share their counter and their time, and are left out")
    return Joined(columns, tuple(warnings))


def summarized_counters(
    gpu_counters: pd.DataFrame, gpu_counter_infos: pd.DataFrame | None
) -> Joined:
    """Sum up each counter of each device, and add its unit and description."""
    groups = gpu_counters.groupby(["counter", "device"], sort=False, dropna=False)
    table = groups.agg(
        samples=("value", "count"),
        mean=("value", "mean"),
        least=("value", "min"),
        most=("value", "max"),
        percentage=("percentage", "min"),
        mixed=("percentage", "max"),
    ).reset_index()
    is_equal = table["percentage"] == table["mixed"]
    percentage = table["percentage"].where(is_equal.fillna(value=False))
    table["percentage"] = percentage
    is_percentage = percentage.fillna(value=False).astype(bool)
    units = pd.Series(pd.NA, index=table.index, dtype="string")
    units[is_percentage] = "percent"
    columns = {str(name): table[name] for name in table}
    del columns["mixed"]
    columns["unit"] = units
    warnings: tuple[str, ...] = ()
    if gpu_counter_infos is not None:
        infos = distinct(gpu_counter_infos, ["name"], ["description"])
        described = match([table["counter"]], [infos["name"]])
        columns["description"] = described.take(infos["description"])
        warnings = described.describe_mismatches("counters", "gpu_counter_infos")
    return Joined(columns, warnings)


def _percentage(types: pd.Series) -> pd.Series:
    is_known = types.isin(["Percentage", "Value"])
    return (types == "Percentage").astype("boolean").where(is_known)


def _find_free_name(name: str, columns: dict[str, pd.Series]) -> str:
    if name not in columns:
        return name
    return _find_free_name(f"{name} (counter)", columns)


_ROWS = "GPU intervals"


def jobs(
    *,
    gpu_intervals: pd.DataFrame,
    encoders: pd.DataFrame | None,
    object_labels: pd.DataFrame | None,
    commits: pd.DataFrame | None,
    submissions: pd.DataFrame | None,
    completions: pd.DataFrame | None,
) -> Joined:
    """Add to each GPU interval the labels and times of its encoder and command buffer."""
    intervals = gpu_intervals
    warnings = list[str]()
    joined_columns: dict[str, pd.Series] = {}
    sources = (
        (commits, "commits", "committed", "committed"),
        (submissions, "submissions", "start", "submitted"),
        (completions, "completions", "time", "completed"),
    )
    for table, name, time_column, joined_name in sources:
        if table is not None:
            moments = distinct(table, [_KEY], [time_column])
            matches = match([intervals[_KEY]], [moments[_KEY]])
            joined_columns[joined_name] = matches.take(moments[time_column])
            warnings += matches.describe_mismatches(_ROWS, name)
    if encoders is not None:
        keys = [_KEY, "encoder"]
        labeled = distinct(encoders, keys, ["label", "command_buffer_label", "event"])
        interval_keys = [intervals[key] for key in keys]
        labeled_keys = [labeled[key] for key in keys]
        matches = match(interval_keys, labeled_keys)
        joined_columns["encoder_label"] = matches.take(labeled["label"])
        joined_columns["command_buffer_label"] = matches.take(labeled["command_buffer_label"])
        joined_columns["encoder_kind"] = matches.take(labeled["event"])
        warnings += matches.describe_mismatches(_ROWS, "encoders")
    if object_labels is not None:
        warnings += _add_object_labels(joined_columns, intervals, object_labels)
    columns = {str(name): intervals[name] for name in intervals}
    columns.update(joined_columns)
    if "committed" in joined_columns and "completed" in joined_columns:
        columns["commit_to_complete"] = joined_columns["completed"] - joined_columns["committed"]
    columns["latency"], latency_warnings = _latency(intervals, joined_columns)
    return Joined(columns, (*warnings, *latency_warnings))


def _add_object_labels(
    joined_columns: dict[str, pd.Series], intervals: pd.DataFrame, object_labels: pd.DataFrame
) -> list[str]:
    """Add the labels of objects to rows without one; return the warnings of the match."""
    warnings = list[str]()
    labels = distinct(object_labels, ["object"], ["label"])
    for key in ("encoder", _KEY):
        name = f"{key}_label"
        matches = match([intervals[key]], [labels["object"]])
        texts = matches.take(labels["label"])
        present_labels = joined_columns.get(name)
        if present_labels is not None:
            texts = present_labels.where(present_labels.notna(), texts)
        joined_columns[name] = texts
        warnings += matches.doubts(_ROWS, "object_labels")
    return warnings


def _latency(
    intervals: pd.DataFrame, joined_columns: Mapping[str, pd.Series]
) -> tuple[pd.Series, list[str]]:
    """Return the stated latency, or else the time since the commit, or since the submission."""
    latency = intervals["start_latency"].astype("Int64")
    warnings = list[str]()
    for name, words in (("committed", "commit"), ("submitted", "start of the submission")):
        if name not in joined_columns:
            continue
        computed_latency = intervals["start"] - joined_columns[name]
        is_filled = latency.isna() & computed_latency.notna()
        latency = latency.where(latency.notna(), computed_latency)
        filled = int(is_filled.sum())
        if filled:
            warnings.append(f"the latency of {filled:,} {_ROWS} is counted from the {words}")
    return latency, warnings


_KEY_SHADERS = ["name", "pipeline", "kind", "pid"]


def runs(shader_profiler_intervals: pd.DataFrame, shaders: pd.DataFrame) -> Joined:
    """Add the listed shader to each stretch of a shader."""
    intervals = shader_profiler_intervals
    names = ["shader", "pc_start", "pc_end"]
    listed = distinct(shaders, _KEY_SHADERS, names)
    keys = [intervals[key] for key in _KEY_SHADERS]
    listed_keys = [listed[key] for key in _KEY_SHADERS]
    matches = match(keys, listed_keys)
    columns = {str(name): intervals[name] for name in intervals}
    for name in names:
        columns[name] = matches.take(listed[name])
    return Joined(columns, matches.describe_mismatches("stretches of shaders", "shaders"))


def pc_runs(shader_pc_intervals: pd.DataFrame, shaders: pd.DataFrame) -> Joined:
    """Add the shader whose code has the instruction to each stretch at one instruction."""
    intervals = shader_pc_intervals
    names = ["shader", "name", "label", "pipeline", "kind", "pid"]
    place = ["pc_start", "pc_end"]
    code = distinct(shaders, place, names).dropna(subset=place)
    code = code.sort_values("pc_start", kind="stable", ignore_index=True)
    matches = _match_ranges(intervals["pc"], code["pc_start"], code["pc_end"])
    columns = {str(name): intervals[name] for name in intervals}
    for name in names:
        columns[name] = matches.take(code[name])
    return Joined(columns, matches.describe_mismatches("instructions", "shaders"))


def _match_ranges(points: pd.Series, begins: pd.Series, ends: pd.Series) -> Match:
    """Match points with the only range [begin, end) that holds them; `begins` are sorted.

    A point is in as many ranges as have begun by then and have not ended.
    """
    has_point = points.notna().to_numpy()
    point_values = points.to_numpy(dtype="uint64", na_value=0)
    distinct_points, inverse = np.unique(point_values, return_inverse=True)
    range_starts = begins.to_numpy(dtype="uint64")
    range_ends = ends.to_numpy(dtype="uint64")
    begun_counts = np.searchsorted(range_starts, distinct_points, side="right")
    ended_counts = np.searchsorted(np.sort(range_ends), distinct_points, side="right")
    open_counts = begun_counts - ended_counts
    places = np.full(len(distinct_points), -1, dtype=np.intp)
    for index in np.flatnonzero(open_counts == 1):
        begun_ends = range_ends[: begun_counts[index]]
        places[index] = np.flatnonzero(begun_ends > distinct_points[index])[-1]
    is_ambiguous = (open_counts[inverse] > 1) & has_point
    return Match(
        places=np.where(has_point, places[inverse], -1),
        key_count=int(has_point.sum()),
        ambiguous=int(is_ambiguous.sum()),
        there=len(begins),
    )


PHASES = ("tracekit", "phases")
_KEY_SIGNPOSTS = ["pid", "subsystem", "category", "name", "identifier"]


def paired_signposts(signposts: pd.DataFrame) -> Joined:
    """Make an interval of each begin and the end that comes next under the same key.

    A begin before another begin, and an end without a begin, make no interval and are counted:
    their pairs cannot be known.
    """
    is_mark = signposts["event"].isin(["Begin", "End"])
    marks = signposts[is_mark]
    groups = marks.groupby(_KEY_SIGNPOSTS, sort=False, dropna=False)
    key = groups.ngroup().to_numpy()
    order = np.lexsort((marks["time"].to_numpy(), key))
    key = key[order]
    marks = marks.iloc[order]
    begins = (marks["event"] == "Begin").to_numpy(dtype=bool)
    has_same_key = key[:-1] == key[1:]
    is_paired = np.zeros(len(marks), dtype=bool)
    is_paired[:-1] = begins[:-1] & ~begins[1:] & has_same_key
    begin_places = np.flatnonzero(is_paired)
    begin_times = marks["time"].to_numpy()[begin_places]
    begin_places = begin_places[np.argsort(begin_times, kind="stable")]
    begin = marks.iloc[begin_places].reset_index(drop=True)
    end_rows = marks.iloc[begin_places + 1]
    end = end_rows.reset_index(drop=True)
    duration = end["time"] - begin["time"]
    columns = {"start": begin["time"], "duration": duration}
    for name in (*_KEY_SIGNPOSTS, "process", "target", "tid", "clock"):
        columns[name] = begin[name]
    columns["begin_message"] = begin["message"]
    columns["end_message"] = end["message"]
    single = len(marks) - 2 * len(begin_places)
    warnings: list[str] = []
    if single:
        warnings.append(f"{single:,} signposts have no counterpart and are left out")
    return Joined(columns, tuple(warnings))


def phases_of_signposts(signpost_intervals: pd.DataFrame) -> Joined:
    """Select the signposts of the target that have the subsystem and category of phases."""
    return _select_own_signposts(signpost_intervals, PHASES[1])


def spans_of_signposts(signpost_intervals: pd.DataFrame) -> Joined:
    """Select the signposts of the target that have the subsystem of phases, and are activities."""
    return _select_own_signposts(signpost_intervals, "spans")


def _select_own_signposts(signpost_intervals: pd.DataFrame, category: str) -> Joined:
    subsystem, _ = PHASES
    has_subsystem = (signpost_intervals["subsystem"] == subsystem).fillna(value=False)
    has_category = (signpost_intervals["category"] == category).fillna(value=False)
    has_duration = signpost_intervals["duration"].notna()
    is_chosen = signpost_intervals["target"] & has_subsystem & has_category & has_duration
    chosen_intervals = signpost_intervals[is_chosen].reset_index(drop=True)
    columns = {name: chosen_intervals[name] for name in ("start", "duration", "name", "clock")}
    return Joined(columns)
