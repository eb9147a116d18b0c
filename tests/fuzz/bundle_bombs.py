"""Read bundles made to exhaust memory, each in a process of its own; print what each one took.

    uv run python tests/fuzz/bundle_bombs.py               # all
    uv run python tests/fuzz/bundle_bombs.py laughs rows   # those with a word in their name

A process may have 4 GiB of address space. One that ends in any other way than with the words of
a refusal or with tables is a finding.
"""

import json
import os
import resource
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "harness"))

from fuzzing.bundle_bombs import Bomb, bombs
from fuzzing.bundles import told

_MOST = 4 << 30
_LONGEST = 60


def main() -> int:
    """Print a line of JSON for each; return 1 if there is a finding."""
    chosen = sys.argv[1:] or [""]
    failed = 0
    for name, bomb in bombs():
        if any(word in name for word in chosen):
            found = measured(bomb)
            failed += not found["outcome"]
            print(json.dumps({"bomb": name, **found}), flush=True)
    return 1 if failed else 0


def measured(bomb: Bomb) -> dict[str, object]:
    """Return how reading it ended, and the most memory and time that it took."""
    with tempfile.TemporaryDirectory() as folder:
        maker = os.fork()
        if not maker:
            bomb(Path(folder, "bomb.trace"))
            os._exit(0)
        os.waitpid(maker, 0)
        begun = time.monotonic()
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            _read(Path(folder, "bomb.trace"), writing)
        os.close(writing)
        with os.fdopen(reading) as pipe:
            outcome = pipe.read()
        _, _, used = os.wait4(child, 0)
        seconds = time.monotonic() - begun
    return {
        "outcome": outcome,
        "mib": used.ru_maxrss >> 10,
        "seconds": round(seconds, 2),
    }


def _read(bundle: Path, pipe: int) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (_MOST, _MOST))
    resource.setrlimit(resource.RLIMIT_CPU, (_LONGEST, _LONGEST))
    code = 1
    try:
        found = told(bundle)
        words = found.refused or " ".join(found.unread.values()) or "read"
        os.write(pipe, words[:2000].encode())
        code = 0
    finally:
        os._exit(code)


if __name__ == "__main__":
    sys.exit(main())
