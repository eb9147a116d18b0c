"""Work for one core whose length is known: what `compare_runs.py` slows down on purpose."""

from typing import Annotated

import typer

from tracekit.workload import Step, workload

_ROUNDS = 40_000
_MODULUS = 2_147_483_647


@workload
def burn(
    slow: Annotated[float, typer.Option(min=0, help="Share of work to add, such as 0.1.")] = 0.0,
) -> Step:
    """Iterate a recurrence on one core, as often as asked for."""
    rounds = round(_ROUNDS * (1 + slow))
    return Step(submit=lambda: rounds, wait=_iterate, backend="cpu", tokens=1)


def _iterate(rounds: int) -> None:
    state = 1
    for _ in range(rounds):
        state = state * 48_271 % _MODULUS
