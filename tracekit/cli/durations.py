"""How long commands took on this machine, so that the next run of one can say it first.

A command is known by its words and the folder that it ran in, of which a digest is kept.
"""

import json
from collections.abc import Sequence
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from statistics import median

from tracekit.base import files

_FILE = "durations.json"
_MOST_COMMANDS = 200
_MOST_TIMES = 5  # of one command; the last ones count
_LEAST = 2.0  # seconds: a shorter command is not kept
_ABOUT_OUTPUT = {"--json", "--json=summary", "--json-summary", "--open"}


def expect_seconds(words: Sequence[str]) -> float | None:
    """Return the median duration of the last runs of a command; None if it was never kept."""
    times = _read().get(_key(words))
    if not times:
        return None
    return median(times)


def keep_seconds(words: Sequence[str], seconds: float) -> None:
    """Keep the duration of a run that ended; if that fails, the next run does not know it."""
    if seconds < _LEAST:
        return
    durations = _read()
    key = _key(words)
    times = [*durations.pop(key, []), round(seconds, 2)]
    durations[key] = times[-_MOST_TIMES:]
    last_commands = list(durations)[-_MOST_COMMANDS:]
    text = json.dumps({name: durations[name] for name in last_commands})
    with suppress(OSError):
        folder = files.notes_folder()
        folder.mkdir(parents=True, exist_ok=True)
        files.write_whole(folder / _FILE, text.encode())


def _key(words: Sequence[str]) -> str:
    compared_words = [word for word in words if word not in _ABOUT_OUTPUT]
    folder = ""
    with suppress(OSError):  # the folder was removed meanwhile
        folder = str(Path.cwd())
    command = "\0".join((folder, *compared_words))
    return blake2b(command.encode("utf-8", "surrogateescape"), digest_size=12).hexdigest()


def _read() -> dict[str, list[float]]:
    """Return the kept durations by the key of their command; none if the file is not ours."""
    try:
        document = json.loads((files.notes_folder() / _FILE).read_bytes())
        return {str(key): [float(time) for time in times] for key, times in document.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}
