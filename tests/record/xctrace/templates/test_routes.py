"""How objects of an archive are reached, in words."""

import plistlib
from collections.abc import Callable
from typing import Any

from tracekit.record.xctrace.templates.archive import Archive, read_archive
from tracekit.record.xctrace.templates.settings import route_to, routes

UID = plistlib.UID


def of_objects(*objects: Any, **top: UID) -> Archive:
    plist = {"$archiver": "NSKeyedArchiver", "$top": top, "$objects": list(objects)}
    return read_archive("a", plistlib.dumps(plist, fmt=plistlib.FMT_BINARY))


def test_attributes_rows_and_keys_are_steps() -> None:
    archive = of_objects(
        "$null",
        {"owner": UID(2), "$class": UID(6)},
        {"NS.objects": [UID(0), UID(3)], "$class": UID(6)},
        {"NS.keys": [UID(4)], "NS.objects": [UID(5)], "$class": UID(6)},
        "depth",
        7,
        {"$classname": "Anything"},
        root=UID(1),
        other=UID(2),
    )
    found = routes(archive)
    said = {number: route_to(found, number) for number in range(7)}
    assert said == {
        0: "other[0]",
        1: "root",
        2: "other",
        3: "other[1]",
        4: "(nothing points at it)",
        5: "other[1].depth",
        6: "(nothing points at it)",
    }


def test_a_long_way_is_said_by_its_end() -> None:
    depth = 50
    chain = [{"next": UID(number + 1)} for number in range(depth)]
    found = routes(of_objects(*chain, "end", root=UID(0)))
    assert route_to(found, 3) == "root.next.next.next"
    assert route_to(found, depth) == "…" + ".next" * 12


def test_a_chain_of_many_objects_is_walked_without_recursion() -> None:
    depth = 20_000
    chain = [{"next": UID((number + 1) % depth)} for number in range(depth)]
    found = routes(of_objects(*chain, root=UID(0)))
    assert len(found) == depth


def test_an_archive_without_a_root_has_no_routes(archive: Archive) -> None:
    assert routes(of_objects("$null", {"a": UID(0)})) == {}
    assert routes(archive)


def test_the_template_of_the_tests_is_reached_whole(
    archive: Archive, keyed: Callable[..., dict[str, Any]]
) -> None:
    found = routes(archive)
    names = {route_to(found, number) for number in found}
    assert {"root.name", "root.instruments[1].options.interval"} <= names
    assert len(keyed()["$objects"]) > len(found)  # keys and classes are no places
