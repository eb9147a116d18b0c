"""What a worker process of ours does first."""

import logging
import signal

import tracekit.pipeline as _warm  # noqa: F401  # pyright: ignore[reportUnusedImport]  so that no recording waits for it


def dask_setup(_worker: object) -> None:
    """Leave it to the batch what an interrupt means: a terminal sends it to all processes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    logging.getLogger("tracekit").setLevel(logging.CRITICAL)  # rows hold what readers warn of
