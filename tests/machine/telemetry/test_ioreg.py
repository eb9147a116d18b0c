from tracekit.machine.monitors import read_ioreg
from tracekit.machine.sources import Reading

M2 = (
    "+-o AGXAcceleratorG14G  <class AGXAcceleratorG14G, id 0x10000054f, registered, matched>\n"
    "    {\n"
    '      "PerformanceStatistics" = {"In use system memory (driver)"=0,"Alloc system memory"'
    '=2930081792,"Tiler Utilization %"=54,"recoveryCount"=0,"Renderer Utilization %"=53,'
    '"Device Utilization %"=56,"In use system memory"=855785472}\n'
    '      "model" = "Apple M2"\n'
    '      "gpu-core-count" = 10\n'
    "    }\n"
)


def test_the_statistics_of_a_gpu_are_read() -> None:
    taken = read_ioreg(M2)
    assert taken.remarks == ()
    assert {one.name: (round(one.value, 6), one.unit) for one in taken.readings} == {
        "gpu_active": (0.56, "ratio"),
        "gpu_renderer_active": (0.53, "ratio"),
        "gpu_tiler_active": (0.54, "ratio"),
        "gpu_memory": (855785472.0, "bytes"),
    }


def test_what_a_chip_does_not_tell_is_no_remark() -> None:
    taken = read_ioreg('"PerformanceStatistics" = {"Device Utilization %"=7}')
    assert taken.readings == (Reading("gpu_active", 0.07, "ratio"),)
    assert taken.remarks == ()


def test_of_several_gpus_the_busiest_counts() -> None:
    other = '"PerformanceStatistics" = {"Device Utilization %"=70,"In use system memory"=1}\n'
    values = {one.name: one.value for one in read_ioreg(M2 + other).readings}
    assert values == {"gpu_active": 0.7000000000000001, "gpu_memory": 1.0}


def test_where_nothing_is_known_what_there_is_is_named() -> None:
    taken = read_ioreg('"PerformanceStatistics" = {"GPU Busy %"=7,"Commands"=12}')
    assert taken.readings == ()
    assert taken.remarks == (
        "ioreg: none of the statistics is known; there are: Commands, GPU Busy %.",
    )
