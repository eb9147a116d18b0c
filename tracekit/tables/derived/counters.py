"""GPU counters by their names, however the recording has them."""

import pandas as pd

from tracekit.base.errors import InputError
from tracekit.tables.derived.joined import Joined
from tracekit.tables.derived.matching import distinct, match

_MOST_CELLS = 100_000_000


def named_counters(
    gpu_counter_values: pd.DataFrame, gpu_counter_infos: pd.DataFrame, gpus: pd.DataFrame | None
) -> Joined:
    """Give raw samples the names of their counters, by counter and device.

    A sample of a device that is not stated takes the name by its counter alone where only one
    device has counters.
    """
    samples = gpu_counter_values
    infos = distinct(gpu_counter_infos, ["counter", "accelerator"], ["name", "type"])
    devices = infos["accelerator"].dropna().unique()
    device = samples["accelerator"]
    known = infos
    if len(devices) == 1:
        device = device.fillna(devices[0])
        known = infos.assign(accelerator=infos["accelerator"].fillna(devices[0]))
    named = match([samples["counter"], device], [known["counter"], known["accelerator"]])
    types = named.take(infos["type"])
    unnamed = named.asked - named.found - named.ambiguous
    warnings = named.said("counter samples", "gpu_counter_infos")
    if unnamed and named.found:
        warnings += (f"{unnamed:,} counter samples have an id that no name is known of",)
    columns = {
        "start": samples["time"],
        "counter": named.take(infos["name"]),
        "value": samples["value"],
        "percentage": _percentage(types),
        "clock": samples["clock"],
    }
    if gpus is not None:
        listed = distinct(gpus, ["accelerator"], ["device"])
        columns["device"] = match([device], [listed["accelerator"]]).take(listed["device"])
    return Joined(columns, warnings)


def counters_side_by_side(gpu_counters: pd.DataFrame) -> Joined:
    """Lay the counters that were sampled together side by side, a column for each name."""
    named = gpu_counters[gpu_counters["counter"].notna() & gpu_counters["value"].notna()]
    several = named.duplicated(["device", "start", "counter"], keep=False)
    single = named[~several]
    rows = single.groupby(["start", "device"], sort=True, dropna=False)
    row = rows.ngroup().to_numpy()
    names = list(dict.fromkeys(single["counter"]))
    count = int(row.max(initial=-1)) + 1
    if count * len(names) > _MOST_CELLS:
        raise InputError(
            f"{len(names)} counters at {count:,} different times are too many side by side.",
            hint="Use gpu_counters, which has a row for each sample.",
        )
    first = single.groupby(row, sort=True)
    columns: dict[str, pd.Series] = {
        name: first[name].first() for name in ("start", "device", "clock")
    }
    for name, samples in single.groupby("counter", sort=False):
        places = row[single["counter"].to_numpy() == name]
        column = pd.Series(pd.NA, index=range(count), dtype="Float64")
        column.iloc[places] = samples["value"].to_numpy()
        columns[_free(str(name), columns)] = column
    doubled = int(several.sum())
    warnings = (
        (f"{doubled:,} samples share their counter and their time, and are left out",)
        if doubled
        else ()
    )
    return Joined(columns, warnings)


def summarized_counters(
    gpu_counters: pd.DataFrame, gpu_counter_infos: pd.DataFrame | None
) -> Joined:
    """Sum up each counter of each device, and say what it is."""
    groups = gpu_counters.groupby(["counter", "device"], sort=False, dropna=False)
    table = groups.agg(
        samples=("value", "count"),
        mean=("value", "mean"),
        least=("value", "min"),
        most=("value", "max"),
        percentage=("percentage", "min"),
        mixed=("percentage", "max"),
    ).reset_index()
    alike = (table["percentage"] == table["mixed"]).fillna(value=False)
    table["percentage"] = table["percentage"].where(alike)
    units = pd.Series(pd.NA, index=table.index, dtype="string")
    units[table["percentage"].fillna(value=False).astype(bool)] = "percent"
    columns = {name: table[name] for name in table if name != "mixed"} | {"unit": units}
    warnings: tuple[str, ...] = ()
    if gpu_counter_infos is not None:
        infos = distinct(gpu_counter_infos, ["name"], ["description"])
        described = match([table["counter"]], [infos["name"]])
        columns["description"] = described.take(infos["description"])
        warnings = described.said("counters", "gpu_counter_infos")
    return Joined({str(name): column for name, column in columns.items()}, warnings)


def _percentage(types: pd.Series) -> pd.Series:
    known = types.isin(["Percentage", "Value"])
    return (types == "Percentage").astype("boolean").where(known)


def _free(name: str, taken: dict[str, pd.Series]) -> str:
    return name if name not in taken else _free(f"{name} (counter)", taken)
