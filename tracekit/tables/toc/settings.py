"""The settings of a run's instruments, in the shapes of Instruments 26 and 27."""

from collections.abc import Iterator, Mapping, Sequence

from lxml.etree import _Element as Element  # pyright: ignore[reportPrivateUsage]

# As a bundle keeps those of one instrument: a text, or several, under the name of each setting.
Dictionaries = Sequence[Mapping[str, str | Sequence[str]]]
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


def setting_lines(dictionaries: Dictionaries) -> tuple[str, ...]:
    """Return one "Key: value" line for each setting that a bundle keeps of an instrument."""
    return tuple(_kept_lines(dictionaries))


def _kept_lines(dictionaries: Dictionaries) -> Iterator[str]:
    for one in dictionaries:
        for name, value in one.items():
            if not isinstance(value, str):
                yield from (_line(name, each.strip()) for each in value)
            elif value.strip():
                yield f"{name}: {value.strip()}"


def _lines(instrument: Element) -> Iterator[str]:
    for setting in instrument.iter("key", "option"):
        yield from _option(setting) if setting.tag == "option" else _key(setting)


def _key(key: Element) -> Iterator[str]:
    name, own = key.get("name", ""), (key.text or "").strip()
    if own:
        yield f"{name}: {own}"
    for value in key.iterfind("value"):
        yield _line(name, (value.text or "").strip())


def _line(name: str, words: str) -> str:
    return words if ": " in words else f"{name}: {words}"


def _option(option: Element) -> Iterator[str]:
    yield f"{option.get('key', '')}: {option.get('value', option.text or '')}"
