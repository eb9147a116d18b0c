"""Read one file in one way in this process, and say on standard output what it took.

python -m direct.alone WAY PATH
"""

import json
import sys
import time
from pathlib import Path

from direct.ways import WAYS, rows_of, size_of
from reading import memory


def main(way: str, path: str) -> None:
    """Run a way once; time and memory are those above its imports."""
    run = WAYS[way]
    before = memory.resident()
    began, worked = time.perf_counter(), time.process_time()
    made = run(Path(path))
    seconds, cpu = time.perf_counter() - began, time.process_time() - worked
    taken = memory.peak() - before
    answer = {"seconds": seconds, "cpu": cpu, "memory": taken}
    print(json.dumps(answer | {"rows": rows_of(made), "bytes": size_of(made)}))


if __name__ == "__main__":
    main(*sys.argv[1:])
