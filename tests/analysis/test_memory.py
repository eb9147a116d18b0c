from tracekit.analysis.memory import Room

GIB = 1 << 30


def test_a_target_without_memory_has_displaced_nothing() -> None:
    empty = Room(initial_level=0, highest_level=0, limit=10 * GIB, machine=16 * GIB)
    assert empty.outgrown is False
    assert Room(initial_level=0, highest_level=0).outgrown is False
    assert Room(highest_level=0, swapped=GIB).outgrown is True


def test_memory_that_the_system_wrote_out_was_displaced() -> None:
    for swapped, outgrown in ((GIB // 25, False), (GIB // 20 + 1, True)):
        room = Room(highest_level=GIB, limit=10 * GIB, machine=16 * GIB, swapped=swapped)
        assert room.outgrown is outgrown, swapped
