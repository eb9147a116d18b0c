"""A check as a subject: its own code runs on this CPU, kernels and all."""

from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import mlx.core as mx
import numpy as np

from tracekit.base.errors import InputError, TracekitError
from tracekit.lab.msl.emulation import Log, emulation
from tracekit.lab.msl.generated import generated
from tracekit.lab.msl.statistics import Order
from tracekit.lab.verification.check import Declared, load
from tracekit.lab.verification.comparison import arrays
from tracekit.lab.verification.subject import PATIENCE, Answer, Launched, Source, Subject


def check_subjects(
    file: Path,
    given: Mapping[str, Any],
    seed: int,
    *,
    lenient: bool = False,
    patience: float = PATIENCE,
) -> Iterator[Subject]:
    """Return a subject for every case of the check in `file`, made when its turn comes.

    Kernels that the file makes at its top run on the CPU as well. A `lenient` run lets some lanes
    leave an operation of their simdgroup out, as Metal does. A launch that takes more seconds than
    `patience` is stopped.
    """
    with emulation():
        declared = load(file)
    for case in declared.cases(given):
        yield check_subject(declared, case, seed, lenient=lenient, patience=patience)


def check_subject(
    declared: Declared,
    case: Mapping[str, Any],
    seed: int,
    *,
    lenient: bool = False,
    patience: float = PATIENCE,
) -> Subject:
    """Make the inputs of one case, and return what is to be verified of it.

    MLX's and numpy's generators start at `seed`, so that every run has the same inputs.

    Raises:
        InputError: The check's function fails, or returns no check.
    """
    mx.random.seed(seed)
    np.random.seed(seed % 2**32)  # noqa: NPY002  a user's check may draw from it
    with emulation(), _blaming(declared):
        check = declared.check(case)
        expected = arrays(check.expected)

    def launch(order: Order, watched: bool) -> Answer:
        emulated = emulation(
            order=order, seed=seed, checked=watched, lenient=lenient, patience=patience
        )
        with emulated as log, _blaming(declared):
            got = arrays(check.run())
        if not log.launches:
            raise InputError(
                f"The check {declared.name} launches no kernel.",
                hint="Call a kernel of mx.fast.metal_kernel in `run`.",
            )
        return Answer(got, tuple(_launched(log)))

    def sources() -> tuple[Source, ...]:
        with _blaming(declared):
            kernels = generated(check.run)
        return tuple(
            Source(f"{one.name}.metal", one.function, one.template, one.text) for one in kernels
        )

    return Subject(declared.name, case, launch, sources, expected, check.bound, check.loaded)


def _launched(log: Log) -> Iterator[Launched]:
    for one in log.launches:
        source = Source(f"{one.name}.metal", one.function, one.template, one.text)
        yield Launched(source, one.statistics)


@contextmanager
def _blaming(declared: Declared) -> Generator[None]:
    """Tell what a user's own code raises as a mistake of the check, not as a bug of ours."""
    try:
        yield
    except TracekitError:
        raise
    except Exception as error:
        raise InputError(f"The check {declared.name} fails: {error!r}.") from error
