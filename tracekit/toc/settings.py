"""The settings of a run's instruments, in the shapes of Instruments 26 and 27."""

from collections.abc import Iterator

from lxml.etree import _Element as Element  # pyright: ignore[reportPrivateUsage]

# Apple's own spelling, and the one that it means.
NAMES = ("intruments-recording-settings", "instruments-recording-settings")


def settings(run: Element) -> dict[str, tuple[str, ...]]:
    """Return one "Key: value" line for each setting, by instrument."""
    found: dict[str, tuple[str, ...]] = {}
    for name in NAMES:
        for instrument in run.iterfind(f"info/summary/{name}/instrument"):
            key = instrument.get("name", "")
            found[key] = found.get(key, ()) + tuple(_lines(instrument))
    return found


def _lines(instrument: Element) -> Iterator[str]:
    for setting in instrument.iter("key", "option"):
        yield from _option(setting) if setting.tag == "option" else _key(setting)


def _key(key: Element) -> Iterator[str]:
    name, own = key.get("name", ""), (key.text or "").strip()
    if own:
        yield f"{name}: {own}"
    for value in key.iterfind("value"):
        words = (value.text or "").strip()
        yield words if ": " in words else f"{name}: {words}"


def _option(option: Element) -> Iterator[str]:
    yield f"{option.get('key', '')}: {option.get('value', option.text or '')}"
