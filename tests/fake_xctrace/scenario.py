"""The scenario that the fake follows, and counts that outlive one call."""

import json
import os
from pathlib import Path
from typing import Any


class Scenario:
    """What the scenario file says; nothing is asked of it without one."""

    def __init__(self) -> None:
        name = os.environ.get("FAKE_XCTRACE_SCENARIO", "")
        self._path = Path(name) if name else None
        self._keys: dict[str, Any] = json.loads(self._path.read_text()) if self._path else {}

    def get(self, key: str, default: Any = None) -> Any:
        return self._keys.get(key, default)

    def note(self, line: str) -> None:
        """Write down what is said, so that a test can see how far a recording has come."""
        if self._path is not None:
            with self._path.with_suffix(".said").open("a") as file:
                file.write(f"{line}\n")

    def is_due(self, event: str, times: int | None) -> bool:
        """Tell whether something that happens so many times (None: always) happens once more."""
        if self._path is None or times is None:
            return True
        file = self._path.with_suffix(f".{event}.count")
        past_count = len(file.read_bytes()) if file.exists() else 0
        with file.open("ab") as handle:
            handle.write(b".")
        return past_count < times
