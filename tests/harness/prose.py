"""Measure the written pages of the documentation: words, and the length of sentences.

    python tests/harness/prose.py             # each page, the longest first, and the sums
    python tests/harness/prose.py PAGE        # the sentences of a page, the longest first

Pages that code writes are left out, and so are the tables that a program wrote into a page.
"""

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
_GENERATED = re.compile(
    r"(?:commands|guides|levers|metrics|rules|tables.*|what-is-not-established)\.md"
)
_WRITTEN_BY_PROGRAM = re.compile(r"<!-- written by.*?<!-- end[^>]*-->", re.DOTALL)
_CODE = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_ITEM = re.compile(r"(?:[-*]|\d+\.)\s+")
_END_OF_SENTENCE = re.compile(r"(?<=[.!?])[\"')*_]*\s+(?=[A-Z*_\[(\"])")
_FEWEST_SENTENCES = 8  # of a page whose length of sentences is judged


@dataclass(frozen=True, slots=True)
class WrittenPage:
    """A page that people wrote."""

    file: Path
    words: int
    lengths: tuple[int, ...]  # of its sentences, in words, sorted

    @property
    def long_sentence(self) -> int:
        """The length in words that nine of ten sentences do not exceed."""
        return percentile(self.lengths)


def percentile(lengths: tuple[int, ...]) -> int:
    """Return the 90th percentile of sorted lengths; 0 without any."""
    return lengths[min(len(lengths) - 1, 9 * len(lengths) // 10)] if lengths else 0


def written_pages() -> list[WrittenPage]:
    """Return the pages that people wrote."""
    files = sorted(file for file in DOCS.rglob("*.md") if not _GENERATED.fullmatch(file.name))
    return [_measure(file) for file in files]


def _measure(file: Path) -> WrittenPage:
    text = _WRITTEN_BY_PROGRAM.sub("", file.read_text(encoding="utf-8"))
    lengths = sorted(len(sentence.split()) for sentence in sentences(text))
    return WrittenPage(file, len(text.split()), tuple(lengths))


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of running text and of lists, without code, headings and tables."""
    for paragraph in _paragraphs(_CODE.sub("\n", text)):
        plain = re.sub(r"`[^`]*`", "X", _LINK.sub(r"\1", paragraph))
        for sentence in _END_OF_SENTENCE.split(plain):
            words = [word for word in sentence.split() if re.search(r"\w", word)]
            if words:
                yield " ".join(words)


def _paragraphs(text: str) -> Iterator[str]:
    lines: list[str] = []
    for line in [*text.splitlines(), ""]:
        words = line.strip()
        is_item = _ITEM.match(words)
        if not words or words.startswith(("#", "|", "<!--")) or is_item:
            if lines:
                yield " ".join(lines)
            lines = [_ITEM.sub("", words, count=1)] if is_item else []
        else:
            lines.append(words)


def first_paragraph(file: Path) -> str:
    """Return the paragraph below the title of a page."""
    text = file.read_text(encoding="utf-8")
    return next(_paragraphs(_CODE.sub("\n", text)), "")


def all_lengths(pages: list[WrittenPage]) -> tuple[int, ...]:
    """Return the lengths of all sentences of some pages, sorted."""
    return tuple(sorted(length for page in pages for length in page.lengths))


def judged_pages(pages: list[WrittenPage]) -> list[WrittenPage]:
    """Return the pages with enough sentences to have a 90th percentile."""
    return [page for page in pages if len(page.lengths) >= _FEWEST_SENTENCES]


def main() -> None:
    """Print the pages, or the sentences of one."""
    if len(sys.argv) > 1:
        text = Path(sys.argv[1]).read_text(encoding="utf-8")
        for sentence in sorted(sentences(text), key=lambda words: -len(words.split())):
            print(len(sentence.split()), sentence)
        return
    pages = written_pages()
    for page in sorted(pages, key=lambda page: -page.words):
        print(f"{page.words:6} {page.long_sentence:3} {page.file.relative_to(DOCS)}")
    print(f"{sum(page.words for page in pages):6} {percentile(all_lengths(pages)):3} all")


if __name__ == "__main__":
    main()
