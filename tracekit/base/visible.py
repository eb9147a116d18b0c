"""Text that comes from outside, such as names in a trace, shown so that it has no other effect.

An escape sequence can retitle a terminal, write to its clipboard or hide text; a bidirectional mark
shows text in another order than it has. Standard output, standard error, logs, Markdown and pages
all use this one function.
"""

import re

# Controls but for tab and line feed, line separators, marks of direction and of no width, and
# lone surrogates.
_UNSEEN = re.compile(
    "[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)


def visible(text: str) -> str:
    r"""Return the text with every invisible character as JSON writes it, such as `\u001b`.

    A JSON document stays valid by this, and keeps its values.
    """
    return _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def on_one_line(text: str) -> str:
    r"""Return the text as `visible` does, with tabs and line feeds as `\t` and `\n`."""
    return visible(text).replace("\t", "\\t").replace("\n", "\\n")
