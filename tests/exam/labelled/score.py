"""Let the rules judge traces with known faults, and say how often they are right.

uv run python tests/exam/labelled/score.py                     # the part to tune on
uv run python tests/exam/labelled/score.py --part score        # the other one
uv run python tests/exam/labelled/score.py --rule late-start   # clean and with this fault alone
uv run python tests/exam/labelled/score.py --write DIR SEED    # one trace, to open with tracekit
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # as a script it has only its own folder

from labelled.corpus import CLEAN, EACH, Trace, corpus, trace_of
from labelled.facts import Facts
from labelled.faults import FAULTS
from labelled.folder import write
from labelled.judged import Judged, judge
from labelled.labels import SIZES, label
from labelled.program import simulate
from labelled.tally import far_off, tally, wrong
from labelled.words import as_data, estimated, inserted, listed, markdown, plain


def main(arguments: Sequence[str] | None = None) -> int:
    """Score the rules, or write one trace; return 0."""
    options = _options().parse_args(arguments)
    if options.write:
        return _write(Path(options.write[0]), int(options.write[1]))
    begun = time.monotonic()
    traces = list(_chosen(options))
    judged = _judged(traces, options.keep, options.jobs)
    scores = tally(judged, options.rule)
    wrongs = [pair for pair in wrong(judged) if options.rule in {None, pair[1].rule}]
    far = [pair for pair in far_off(judged) if options.rule in {None, pair[1].rule}]
    print(listed(wrongs), end="\n\n" if wrongs else "")
    print(estimated(far), end="\n\n" if far else "")
    print(plain(scores))
    print(f"{len(traces)} traces of the part {options.part} in {time.monotonic() - begun:.0f} s")
    if options.markdown:
        page = options.markdown.read_text()
        options.markdown.write_text(inserted(page, markdown(scores)))
    if options.json:
        options.json.write_text(json.dumps(as_data(scores), indent=2) + "\n")
    return 0


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--part", choices=("tune", "score"), default="tune")
    parser.add_argument("--rule", choices=sorted(FAULTS), help="its traces and the clean ones only")
    parser.add_argument("--stock", action="store_true", help="of programs that mark nothing")
    parser.add_argument("--traces", type=int, default=EACH, help="traces for each fault")
    parser.add_argument("--clean", type=int, default=CLEAN, help="traces with nothing wrong")
    jobs = min(4, os.cpu_count() or 1)
    parser.add_argument("--jobs", type=int, default=jobs, help="processes that work at once")
    parser.add_argument("--keep", type=Path, help="folder for the runs' folders of all traces")
    parser.add_argument("--json", type=Path, help="file for the scores")
    parser.add_argument("--markdown", type=Path, metavar="PAGE", help="put the scores there")
    parser.add_argument("--write", nargs=2, metavar=("DIR", "SEED"), help="write one trace")
    return parser


def _chosen(options: argparse.Namespace) -> Iterator[Trace]:
    for one in corpus(options.part, options.traces, options.clean):
        if options.rule is None or not one.faults or options.rule in one.faults:
            yield replace(one, stock=options.stock)


def _judged(traces: Sequence[Trace], keep: Path | None, jobs: int) -> list[Judged]:
    folders = [keep and keep / f"{one.kind}-{one.seed}" for one in traces]
    if jobs == 1:
        return [judge(one, folder) for one, folder in zip(traces, folders, strict=True)]
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        return list(pool.map(judge, traces, folders, chunksize=4))


def _write(folder: Path, seed: int) -> int:
    trace = trace_of(seed)
    world = simulate(trace.setup())
    write(world, folder)
    facts = Facts(world)
    print(f"{folder}: {', '.join(trace.faults) or 'clean'}")
    for rule in FAULTS:
        size = SIZES[rule](facts)
        shown = "-" if size is None else f"{size:.2f}"
        print(f"  {rule:26} should {label(rule, facts).value:7} size {shown}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
