import pytest

from tracekit.machine.machine import Machine
from tracekit.machine.sampler import read_vmmap

SUMMARY = """\
Process:         python3.12 [4711]
Path:            /opt/python/bin/python3.12

Physical footprint:         5.0G
Physical footprint (peak):  9.0G
----

ReadOnly portion of Libraries: Total=579.0M resident=421.4M(73%)
Writable regions: Total=5.3G written=267.1M(5%) resident=4.8G(90%) swapped_out=0K(0%)

                                VIRTUAL RESIDENT    DIRTY  SWAPPED VOLATILE   NONVOL    EMPTY   REGION
REGION TYPE                        SIZE     SIZE     SIZE     SIZE     SIZE     SIZE     SIZE    COUNT (non-coalesced)
===========                     ======= ========    =====  ======= ========   ======    =====  =======
IOAccelerator                       64K      64K      64K       0K       0K       0K       0K        2
IOAccelerator (graphics)           4.8G     4.5G     4.2G      16K       0K     4.8G    4496K     1144
MALLOC_LARGE                      8.9M     7.8M     7.8M     1.1M       0K       0K       0K      106         see MALLOC ZONE table below
Stack                             56.0M      96K      96K       0K       0K       0K       0K        7
===========                     ======= ========    =====  ======= ========   ======    =====  =======
TOTAL                              6.4G     5.0G    13.5M     5.0G       0K     4.8G    4496K     3488

                                 VIRTUAL   RESIDENT      DIRTY    SWAPPED ALLOCATION      BYTES
MALLOC ZONE                         SIZE       SIZE       SIZE       SIZE      COUNT  ALLOCATED
DefaultMallocZone_0x10bd4c000      94.4M      19.3M      19.3M         0K      60000      60.4M
"""  # noqa: E501  as vmmap prints it


def read(text: str) -> tuple[int | None, int | None]:
    asked: list[tuple[str, ...]] = []

    def answer(command: tuple[str, ...], _: float) -> bytes:
        asked.append(command)
        return text.encode()

    found = read_vmmap(4711, Machine("Darwin", answer=answer))
    assert asked == [("/usr/bin/vmmap", "-summary", "4711")]
    return found["footprint"], found["accelerator"]


def test_the_footprint_and_what_the_gpus_regions_have_resident_are_read() -> None:
    assert read(SUMMARY) == (5 * 2**30, round(4.5 * 2**30) + 64 * 2**10)


@pytest.mark.parametrize(
    "text",
    [
        SUMMARY.replace("Physical", "Other").replace("VIRTUAL RESIDENT", "RESIDENT VIRTUAL"),
        "REGION TYPE    PAGES   COUNT\nIOAccelerator  128     3\n",
        "     VIRTUAL RESIDENT\nREGION TYPE PAGES PAGES COUNT\nIOAccelerator 128 64 3\n",
        SUMMARY.replace("Physical", "Other").replace("IOAcc", "Acc"),
        "vmmap: no such process\n",
    ],
    ids=["other-columns", "columns", "pages", "regions", "no-table"],
)
def test_what_is_not_said_in_bytes_is_not_known(text: str) -> None:
    assert read(text) == (None, None)
