"""Templates of pages: an environment that redacts, and a whole page with its style and script."""

import base64
import hashlib
import re
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import jinja2
from markupsafe import Markup, escape

from tracekit.base import files, streams, units
from tracekit.pages import text
from tracekit.pages.chart import Chart, svg
from tracekit.pages.compiled import CompiledTemplates

if TYPE_CHECKING:
    from tracekit.pages.timeline.track import Timeline

Redact = Callable[[str], str]

# In the order in which they build on each other; together they are one module.
SCRIPTS = ("words.js", "unpack.js", "view.js", "draw.js", "pick.js", "controls.js", "page.js")

_COMMAND = re.compile(r"`([^`<>]+)`")


def document(
    environment: jinja2.Environment,
    template: str,
    *,
    styles: tuple[str, ...] = ("page.css",),
    scripts: tuple[str, ...] = SCRIPTS,
    **context: object,
) -> str:
    """Fill the template of a whole page, with its style, its script and the policy for both."""
    folder = files.find_shipped_folder("templates") / "report"
    style_texts = [(folder / name).read_text("utf-8") for name in styles]
    style = "\n".join(style_texts)
    script_texts = [(folder / "script" / name).read_text("utf-8") for name in scripts]
    script = "\n".join(map(_terse, script_texts))
    page_template = environment.get_template(template)
    return page_template.render(
        **context,
        policy=Markup(_policy(style, script)),  # noqa: S704  our own words, and hashes
        style=Markup(style),  # noqa: S704  our own file, which must not be escaped
        script=Markup(script),  # noqa: S704
    )


@lru_cache(maxsize=4)
def environment_of(redact: Redact) -> jinja2.Environment:
    """Return an environment for templates: every string but their own passes through `redact`.

    It keeps the templates that it has compiled: compiling takes as long as filling them.
    """

    def clean_text(words: str) -> str:
        return streams.visible(redact(words))

    def line(words: str) -> str:
        return text.line(redact(words))

    def clean_value(value: object) -> object:
        if isinstance(value, str) and not isinstance(value, Markup):
            return clean_text(value)
        return value

    def prose(words: str) -> Markup:
        """Write a text with its `commands` as such."""
        escaped = str(escape(clean_text(words)))
        return Markup(_COMMAND.sub(r"<code>\1</code>", escaped))  # noqa: S704  it is escaped

    def drawn(chart: Chart) -> Markup:
        return Markup(svg(chart, clean_text))  # noqa: S704  escaped

    def packed(timeline: "Timeline") -> Markup:
        from tracekit.pages.timeline.packing import pack  # noqa: PLC0415  few pages have one

        return Markup(pack(timeline, line))  # noqa: S704  base64

    template_folder = files.find_shipped_folder("templates") / "report"
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(template_folder),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=clean_value,
        bytecode_cache=CompiledTemplates(Path(__file__).read_bytes()),
    )
    named_filters: tuple[Callable[..., str], ...] = (
        *(units.duration, units.moment, units.size, units.percent, units.count, units.quantity),
        *(units.unavailable, units.stamp, line, prose, drawn, packed),
    )
    filters: dict[str, Callable[..., str]] = {
        "heading": lambda name: text.heading(redact(name)),
        "sentence": lambda words: text.sentence(redact(words)),
    }
    for named_filter in named_filters:
        filters[named_filter.__name__] = named_filter
    environment.filters.update(filters)
    return environment


def _terse(script: str) -> str:
    """Return a script without its comments and indentation; no string of ours has such lines."""
    lines = [line.strip() for line in script.splitlines()]
    return "\n".join(line for line in lines if line and not line.startswith("//"))


def _policy(style: str, script: str) -> str:
    return (
        f"default-src 'none'; style-src {_hash_source(style)}; script-src {_hash_source(script)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _hash_source(content: str) -> str:
    """Return the source expression of a policy that allows just this content."""
    digest = hashlib.sha256(content.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
