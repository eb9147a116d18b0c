from tracekit.machine.sampler import Region, read_vmmap, vmmap_command

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


def test_a_summary_is_read_by_kinds_of_regions() -> None:
    found = read_vmmap(SUMMARY)
    assert found.remarks == ()
    assert list(found.regions) == [
        "IOAccelerator",
        "IOAccelerator (graphics)",
        "MALLOC_LARGE",
        "Stack",
    ]
    assert found.regions["IOAccelerator"] == Region(65536, 65536, 65536, 0, 2)
    assert found.regions["MALLOC_LARGE"].count == 106


def test_sizes_are_in_binary_units() -> None:
    graphics = read_vmmap(SUMMARY).regions["IOAccelerator (graphics)"]
    assert graphics.virtual == round(4.8 * 2**30)
    assert graphics.dirty == round(4.2 * 2**30)
    assert graphics.swapped == 16 * 2**10
    assert graphics.count == 1144


def test_the_gpus_regions_are_told_apart() -> None:
    assert set(read_vmmap(SUMMARY).accelerator) == {"IOAccelerator", "IOAccelerator (graphics)"}


def test_the_footprint_and_its_peak_are_read() -> None:
    found = read_vmmap(SUMMARY)
    assert (found.footprint, found.peak) == (5 * 2**30, 9 * 2**30)


def test_columns_are_found_by_their_names() -> None:
    text = (
        "             VIRTUAL    DIRTY   REGION\n"
        "REGION TYPE     SIZE     SIZE    COUNT\n"
        "IOAccelerator     2M       1M        3\n"
    )
    assert read_vmmap(text).regions == {"IOAccelerator": Region(2 << 20, None, 1 << 20, None, 3)}


def test_a_table_without_the_known_columns_says_what_it_has() -> None:
    text = "REGION TYPE    PAGES   COUNT\nIOAccelerator  128     3\n"
    found = read_vmmap(text)
    assert found.regions == {}
    assert found.remarks == (
        "vmmap: the table of regions has no column VIRTUAL, but: REGION TYPE PAGES COUNT.",
    )


def test_rows_in_pages_are_not_taken_for_bytes() -> None:
    text = "     VIRTUAL RESIDENT\nREGION TYPE PAGES PAGES COUNT\nIOAccelerator 128 64 3\n"
    assert read_vmmap(text).remarks == ("vmmap: no row of the table of regions can be read.",)


def test_no_table_is_a_remark() -> None:
    found = read_vmmap("vmmap: no such process\n")
    assert (found.footprint, found.regions) == (None, {})
    assert found.remarks == ("vmmap: there is no table of regions.",)


def test_the_command_line_asks_for_the_summary_alone() -> None:
    assert vmmap_command(4711) == ("/usr/bin/vmmap", "-summary", "4711")
