"""Processes and threads out of literal arrays."""

from pathlib import Path

import numpy as np
import pytest

from bundle_writer import Encoder, write_bundle
from bundle_writer.values import Thread
from small_bundle import PYTHON, SERVER, ticks
from tracekit.tables.bundle.bundle import Bundle
from tracekit.tables.bundle.cells.labels import Identities
from tracekit.tables.bundle.errors import ArchiveError

ALL = (1 << 64) - 1


def identities(path: Path, encoder: Encoder) -> Identities:
    bundle = write_bundle(path / "x.trace", [ticks([1])], encoder=encoder)
    return Identities(Bundle(bundle).runs[0])


def ids(*values: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array(values, np.int64)


def test_a_process_without_a_pid_is_not_known(tmp_path: Path) -> None:
    encoder = Encoder()
    wanted = ids(encoder.arrays.id((ALL, 0)), encoder.arrays.id((1, ALL)))
    texts, pids = identities(tmp_path, encoder).processes(wanted)
    assert (texts.to_pylist(), pids.to_pylist()) == ([None, "Unknown (1)"], [None, 1])


def test_threads_have_names_tids_and_the_pids_of_their_processes(tmp_path: Path) -> None:
    encoder = Encoder()
    threads = (Thread(0x10, PYTHON, "worker"), Thread(0x20, SERVER), Thread(0x30, None))
    wanted = ids(*(encoder.thread(one) for one in threads))
    texts, tids, pids = identities(tmp_path, encoder).threads(wanted)
    assert texts[0].as_py() == "worker 0x10 (python3, pid: 4711)"
    assert texts[1].as_py().endswith(" 0x20 (WindowServer, pid: 420)")
    assert texts[2].as_py() is None
    assert tids.to_pylist() == [0x10, 0x20, 0x30]
    assert pids.to_pylist() == [4711, 420, None]


def test_a_thread_of_a_process_without_a_pid_has_none(tmp_path: Path) -> None:
    encoder = Encoder()
    owner = encoder.arrays.id((ALL, 0))
    wanted = ids(encoder.arrays.id((7, owner)), encoder.arrays.id((ALL, encoder.process(PYTHON))))
    texts, tids, pids = identities(tmp_path, encoder).threads(wanted)
    assert texts.to_pylist() == [None, None]
    assert (tids.to_pylist(), pids.to_pylist()) == ([7, None], [None, 4711])


def test_a_thread_of_a_process_that_is_not_there_is_damage(tmp_path: Path) -> None:
    encoder = Encoder()
    wanted = ids(encoder.arrays.id((7, 1 << 30)), encoder.arrays.id((7, 1 << 63)))
    found = identities(tmp_path, encoder)
    for one in wanted:
        with pytest.raises(ArchiveError, match="does not hold"):
            found.threads(ids(one))
