"""Time what it costs to look at the machine before, after and during a pair.

python bench/machine_state.py
python bench/machine_state.py --looks 50 --seconds 20

The time that a look waits is not its cost: this counts the CPU time of this process and of the
programs that it starts.
"""

import argparse
import resource
import time
from collections.abc import Sequence

from tracekit.base.units import duration, percent
from tracekit.machine.watch import Watch


def main(arguments: Sequence[str] | None = None) -> None:
    """Look often, then wait, and print what both cost."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--looks", type=int, default=20, help="pairs of looks")
    parser.add_argument("--seconds", type=float, default=10.0, help="seconds between two looks")
    chosen = parser.parse_args(arguments)
    with Watch() as watch:
        state = watch.before()
        began = _worked()
        for _ in range(chosen.looks):
            watch.before()
            state = watch.after()
        each = (_worked() - began) / (2 * chosen.looks)
        began = _worked()
        time.sleep(chosen.seconds)
        between = (_worked() - began) / chosen.seconds
        monitor = watch.monitor or "none"
    print(f"monitor   {monitor}")
    print(f"readable  {', '.join(sorted(state.readings))}")
    print(f"a look    {duration(each * 1e9)} of CPU time")
    print(f"between   {percent(between)} of one core, without the monitor's own program")


def _worked() -> float:
    """Return the CPU time of this process, and of those of its children that have ended."""
    spent = (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in spent)


if __name__ == "__main__":
    main()
