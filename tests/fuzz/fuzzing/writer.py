"""Write values as the elements of an export, and remember what they say."""

from random import Random
from xml.sax.saxutils import escape

from fuzzing.style import Style
from fuzzing.values import SENTINEL, Value

_BLANKS = ["", " ", "\n", "\t ", "  "]
_ASIDES = ["<!-- <row> -->", "<!-- &undeclared; -->", "<?note row?>", "<!---->"]


class Writer:
    """Writes elements one after the other, each value once and then its repeats."""

    def __init__(self, random: Random, style: Style) -> None:
        self._random = random
        self._style = style
        self._count = 0
        self._keys: dict[Value, str] = {}
        self._owners: dict[str, Value] = {}

    def restart(self) -> None:
        """Begin a table."""
        if self._style.restarts:
            self._count = 0

    def blank(self) -> str:
        """Return nothing, or what may stand between two elements."""
        if self._chance(self._style.sections):
            return self._random.choice(_ASIDES)
        return self._random.choice(_BLANKS) if self._chance(self._style.spacing) else ""

    def element(self, value: Value) -> str:
        """Write an element: its definition, or its repeat where it is known."""
        if value == SENTINEL:
            return self._tag(value.tag, [], empty=True)
        known = self._keys.get(value)
        if known is not None and self._random.random() < self._style.repeats:
            return self._tag(value.tag, [("ref", known)], empty=True)
        attributes = list(value.attributes)
        key = ""
        if value.keyed:
            self._count += 1
            key = self._style.key(self._count)
            attributes.insert(0, ("id", key))
        if value.fmt is not None:
            attributes.insert(1, ("fmt", value.fmt))
        written = self._whole(value, attributes)
        if key:
            self._define(key, value)
        return written

    def _whole(self, value: Value, attributes: list[tuple[str, str]]) -> str:
        content = "".join(self.blank() + self.element(child) for child in value.children)
        if value.children:
            content += self.blank()
        else:
            content = self._text(value.text or "")
        if value.text is None and not value.children:
            return self._tag(value.tag, attributes, empty=True)
        end = " " if self._chance(self._style.spacing) else ""
        return f"{self._tag(value.tag, attributes)}{content}</{value.tag}{end}>"

    def _define(self, key: str, value: Value) -> None:
        before = self._owners.get(key)
        if before is not None:
            self._keys.pop(before, None)
        older = self._keys.get(value)
        if older is not None:
            self._owners.pop(older, None)
        self._owners[key] = value
        self._keys[value] = key

    def _tag(self, name: str, attributes: list[tuple[str, str]], *, empty: bool = False) -> str:
        if self._chance(self._style.order):
            attributes = [*attributes, ("extra", "1")]
            self._random.shuffle(attributes)
        written = "".join(self._attribute(*one) for one in attributes)
        blank = " " if self._chance(self._style.spacing) else ""
        if empty and self._chance(self._style.spacing):
            return f"<{name}{written}{blank}></{name}>"
        return f"<{name}{written}{blank}{'/' * empty}>"

    def _attribute(self, name: str, text: str) -> str:
        equals = " = " if self._chance(self._style.spacing) else "="
        quote = "'" if self._chance(self._style.quotes) else '"'
        escaped = self._referenced(escape(text, _WITHIN[quote]))
        before = (
            self._random.choice([" ", "\n", "  "]) if self._chance(self._style.spacing) else " "
        )
        return f"{before}{name}{equals}{quote}{escaped}{quote}"

    def _text(self, text: str) -> str:
        if self._chance(self._style.sections) and "]]>" not in text and "\r" not in text:
            return f"<![CDATA[{text}]]>"
        aside = self._random.choice(_ASIDES) if self._chance(self._style.sections) else ""
        return aside + self._referenced(escape(text, {"\r": "&#13;"}))

    def _referenced(self, escaped: str) -> str:
        if not escaped.isalnum() or not self._chance(self._style.references):
            return escaped
        number = ord(escaped[0])
        return self._random.choice([f"&#{number};", f"&#x{number:x};"]) + escaped[1:]

    def _chance(self, probability: float) -> bool:
        return probability > 0 and self._random.random() < probability


_WITHIN = {
    quote: {quote: name, "\r": "&#13;", "\n": "&#10;", "\t": "&#9;"}
    for quote, name in (('"', "&quot;"), ("'", "&apos;"))
}
