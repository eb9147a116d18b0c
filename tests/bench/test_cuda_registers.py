"""The counted registers belong to the kernels and plans of today, and fit an M1."""

from cuda.registers import default_launches, digest_of, read_rows

MOST_REGISTERS = 128  # of a thread, if 768 threads share the 384 KiB of an M1's core


def test_every_default_launch_is_counted_with_its_text_and_plan() -> None:
    counted_digests = {row.launch: row.digest for row in read_rows()}
    launches = list(default_launches())
    assert len(launches) == 3 * 5 * 16 * 3
    assert counted_digests == {launch: digest_of(launch) for launch in launches}, (
        "A kernel or a plan is another now: run `python bench/cuda/build.py FOLDER --registers`."
    )


def test_no_default_launch_needs_more_registers_than_an_m1_has() -> None:
    for row in read_rows():
        assert row.counts.registers <= MOST_REGISTERS, row
        assert (row.counts.stack, row.counts.spills) == (0, 0), row
