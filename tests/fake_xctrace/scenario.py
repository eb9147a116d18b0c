"""The scenario that the fake follows, and counts that outlive one call."""

import json
import os
from pathlib import Path
from typing import Any

from versions import BY_BUILD, USUAL, Version


class Scenario:
    """What the scenario file says; nothing is asked of it without one."""

    def __init__(self) -> None:
        name = os.environ.get("FAKE_XCTRACE_SCENARIO", "")
        self._path = Path(name) if name else None
        self._keys: dict[str, Any] = json.loads(self._path.read_text()) if self._path else {}

    def get(self, key: str, default: Any = None) -> Any:
        return self._keys.get(key, default)

    @property
    def version(self) -> Version:
        """Return the version of Xcode that the scenario plays."""
        return BY_BUILD[self.get("version", USUAL)]

    def note(self, line: str) -> None:
        """Write down what is said, so that a test can see how far a recording has come."""
        if self._path is not None:
            with self._path.with_suffix(".said").open("a") as file:
                file.write(f"{line}\n")

    def is_due(self, event: str, times: int | None) -> bool:
        """Tell whether something that happens so many times (None: always) happens once more."""
        return self._path is None or times is None or self.count(event) < times

    def count(self, event: str) -> int:
        """Return how often something happened before, and count it once more."""
        assert self._path is not None
        file = self._path.with_suffix(f".{event}.count")
        past_count = len(file.read_bytes()) if file.exists() else 0
        with file.open("ab") as handle:
            handle.write(b".")
        return past_count
