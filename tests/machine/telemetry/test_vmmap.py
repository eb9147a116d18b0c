from tracekit.machine.sampler import Summary, read_vmmap, vmmap_command

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


def test_the_footprint_and_what_the_gpus_regions_have_resident_are_read() -> None:
    graphics = round(4.5 * 2**30)
    assert read_vmmap(SUMMARY) == Summary(5 * 2**30, graphics + 64 * 2**10)


def test_columns_are_found_by_their_names() -> None:
    text = (
        "             RESIDENT    DIRTY   REGION\n"
        "REGION TYPE     SIZE     SIZE    COUNT\n"
        "IOAccelerator     2M       1M        3\n"
    )
    assert read_vmmap(text) == Summary(accelerator=2 << 20)


def test_a_table_without_the_known_columns_says_what_it_has() -> None:
    text = "REGION TYPE    PAGES   COUNT\nIOAccelerator  128     3\n"
    found = read_vmmap(text)
    assert found.accelerator is None
    assert found.remarks == (
        "vmmap: the table of regions has no column RESIDENT, but: REGION TYPE PAGES COUNT.",
    )


def test_rows_in_pages_are_not_taken_for_bytes() -> None:
    text = "     VIRTUAL RESIDENT\nREGION TYPE PAGES PAGES COUNT\nIOAccelerator 128 64 3\n"
    assert read_vmmap(text).remarks == ("vmmap: no row of the table of regions can be read.",)


def test_no_table_is_a_remark() -> None:
    found = read_vmmap("vmmap: no such process\n")
    assert (found.footprint, found.accelerator) == (None, None)
    assert found.remarks == ("vmmap: there is no table of regions.",)


def test_the_command_line_asks_for_the_summary_alone() -> None:
    assert vmmap_command(4711) == ("/usr/bin/vmmap", "-summary", "4711")
