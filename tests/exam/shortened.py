"""Two problems of exams that are over, made shorter, so that their recordings can be packaged.

The sealed files stay as they were sealed: they have no parameter for the length.
"""

from collections.abc import Callable, Mapping
from pathlib import Path

from practise import PROBLEMS
from sealed.mac import MEBIBYTE, MS, Mac, Owner, Pass, Program
from third.counters import SCHEMA, sampled, write_counters
from third.problems import _COUNTED as COUNTED

Rows = dict[str, int]


def one_thread_groups(folder: Path, patches: int) -> Rows:
    """Write `one-thread-groups` of the third exam with so many patches of speech a request."""
    mac, owner = Mac(149, "M3 Max"), Owner("audiocpp_cli", 14901)
    program = Program(mac, owner)
    kinds: list[str] = []
    for _ in range(2):  # requests
        for _ in range(patches):
            for _ in range(10):
                made = program.commit([Pass("Compute", mac.about(12.5 * MS, 0.03))], encode=120)
                kinds.append("model")
            program.wait(made)
            program.spend(mac.rough(900))
        for upsampling in (0.42, 0.86, 1.5, 2.1, 2.2, 1.92):  # seconds
            works = (upsampling * 1_000 * MS, 128 * MS, 77 * MS)
            passes = [Pass("Compute", mac.about(work, 0.01)) for work in works]
            made = program.commit(passes, encode=90)
            kinds += ["upsampling", "other", "other"]
        program.wait(made)
        program.spend(mac.rough(40 * MS))
    mac.holds(owner, [(90 * MS, 3_300_000_000)])
    busy = [(*span, kind) for span, kind in zip(mac.busy["Compute"], kinds, strict=True)]
    interval = 10 * MS
    count = int(busy[-1][1] / interval) * len(COUNTED["model"])
    noise = mac.random.lognormal(0.0, 0.08, count).tolist()
    mac.draws(0.2)
    rows = mac.write(folder, owner)
    samples = sampled(busy, COUNTED, interval, noise)
    return rows | {SCHEMA: write_counters(folder, mac.device, samples)}


def dispatch_by_dispatch(folder: Path, tokens: int) -> Rows:
    """Write `dispatch-by-dispatch` of the fourth exam with so many tokens."""
    mac, owner = Mac(18877, "M4 Max"), Owner("python3.12", 18877)
    program = Program(mac, owner, switch=2.5)
    for _ in range(tokens):
        for _ in range(262):
            work = mac.about(7.4, 0.25)
            made = program.commit([Pass("Compute", work)], encode=11.0, driver=7.5, start=6)
        program.wait(made)
        program.spend(mac.rough(110))  # a token is chosen
    mac.holds(owner, [(50 * MS, 620 * MEBIBYTE)])
    mac.draws(0.2)
    return mac.write(folder, owner)


DEMO_PROBLEMS: Mapping[str, Callable[..., Rows]] = {
    **PROBLEMS,
    "one-thread-groups": one_thread_groups,
    "dispatch-by-dispatch": dispatch_by_dispatch,
}
"""The problems that packaged recordings are made of; the two take their length."""
