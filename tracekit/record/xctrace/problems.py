"""What goes wrong with xctrace in ways that are known: how to tell, what it means, what helps."""

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Problem:
    """A failure that people have met before; `problems.toml` says what each field is."""

    meaning: str
    hint: str
    code: int | None = None
    pattern: str = ""
    passing: bool = False

    def fits(self, code: int, text: str) -> bool:
        """Tell whether a command that ended with `code` and said `text` has this problem."""
        return self.code in {None, code} and bool(re.search(self.pattern, text, re.IGNORECASE))


PROBLEMS = {
    name: Problem(**fields)
    for name, fields in tomllib.loads(
        Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
    ).items()
}
NO_DOCUMENT = PROBLEMS["no_document"]
UNSUPPORTED_COUNTERS = PROBLEMS["unsupported_counters"]
NO_COUNTERS = UNSUPPORTED_COUNTERS.meaning.removesuffix(".")
WAYS_TO_COUNTERS = UNSUPPORTED_COUNTERS.hint
SELECT_XCODE = PROBLEMS["no_xcode"].hint


def recognize(code: int, text: str) -> Problem | None:
    """Return the known problem that a failed command had, or None."""
    return next((problem for problem in PROBLEMS.values() if problem.fits(code, text)), None)
