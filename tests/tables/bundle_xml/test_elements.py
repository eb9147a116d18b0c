"""Each value once, then references; numbered as elements begin."""

from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from tracekit.tables.bundle_xml.meanings import Meaning, Value
from tracekit.tables.bundle_xml.write import Elements, escaped, quoted

MEANINGS: dict[Value, Meaning | Value | None] = {
    ("pid", 7): Meaning("pid", "7", "7"),
    ("process", 1): Meaning("process", "a (7)", children=(("pid", 7), ("session", 0))),
    ("session", 0): None,
    ("any", 5): ("pid", 7),
    ("frame", 0): Meaning("frame", attributes=(("name", "a<b"), ("addr", "0x1"))),
    ("text", 2): Meaning("string", "", ""),
}


def meaning_of(kind: str, value: int) -> Meaning | Value | None:
    return MEANINGS[kind, value]


def test_a_value_of_any_type_is_the_value_of_its_own() -> None:
    elements = Elements(meaning_of)
    assert elements.write("any", 5) == '<pid id="1" fmt="7">7</pid>'
    assert elements.write("pid", 7) == '<pid ref="1"/>'
    assert elements.write("any", 5) == '<pid ref="1"/>'


def test_no_more_values_are_remembered_than_allowed() -> None:
    elements = Elements(lambda _, value: Meaning("n", str(value), str(value)), most=4)
    first = [elements.write("n", number) for number in range(100)]
    assert first[99] == '<n id="100" fmt="99">99</n>'
    assert len(elements.known("n")) <= 4
    assert elements.write("n", 99) == '<n ref="100"/>'
    assert elements.write("n", 0) == '<n id="101" fmt="0">0</n>'


@given(st.text())
def test_any_text_becomes_xml_that_says_it_as_far_as_xml_can(text: str) -> None:
    document = f'<a b="{quoted(text)}">{escaped(text)}</a>'
    element = etree.fromstring(document.encode())
    expected = "".join(one if _is_xml(one) else "\ufffd" for one in text)
    assert element.text == (expected or None)
    assert element.get("b") == expected


def _is_xml(character: str) -> bool:
    number = ord(character)
    return (
        number in {9, 10, 13}
        or 0x20 <= number <= 0xD7FF
        or (0xE000 <= number <= 0xFFFD or number >= 0x10000)
    )
