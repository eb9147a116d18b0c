"""A result and its tables in, one page out."""

from collections.abc import Iterator
from dataclasses import dataclass

import jinja2
from markupsafe import Markup

from tracekit.analysis import Given, Result
from tracekit.base import units
from tracekit.pages.panel import Panel, Tables, is_without_gpu_work, rows
from tracekit.pages.panels import PANELS
from tracekit.pages.template import Redact, document, environment_of

_ORIGINS = {
    "host": "recorded on the host: CPU work on its clock, no GPU was measured",
    "xctrace": "recorded by xctrace",
}


def render(result: Result, tables: Tables, *, redact: Redact) -> str:
    """Return the page: one HTML document that loads nothing and reads without script.

    `tables` are the normalized tables by name; a missing one raises KeyError. `redact` removes
    secrets from a string; every string but the template's own passes through it. The same input
    gives the same characters.
    """
    provenance = result.provenance
    given_tables = Given(tables, provenance)
    origin = _ORIGINS.get(provenance.recorder, "recorder not stated")
    if provenance.recorder == "import":
        origin = f"imported; recorded {units.stamp(provenance.started) or 'at a time not stated'}"
    process_names = [process.name for process in provenance.targets if process.name]
    targets = ", ".join(process_names)
    environment = environment_of(redact)
    name = provenance.workload or targets or "Run of an unknown target"
    shown_sections: list[Section] = []
    missing_sections: list[Section] = []
    for section in _sections(environment, result, given_tables):
        (missing_sections if section.missing else shown_sections).append(section)
    return document(
        environment,
        "page.html",
        result=result,
        name=name,
        origin=origin,
        sections=shown_sections,
        missing=missing_sections,
    )


_UNFOLDED = frozenset({"verdict", "timeline", "findings"})
"""The panels of which nothing is folded away."""
_OF_OTHER_WORK = frozenset({"cpu_time", "dispatches", "replay"})
"""The panels that a recording without GPU work is about, so that they are open."""


@dataclass(frozen=True)
class Section:
    """A panel as a section of the page; a fold is open or closed at first.

    `missing` is the reason why there is no content, and then `body` is empty.
    """

    panel: Panel
    body: Markup
    gist: str = ""
    missing: str = ""
    is_fold: bool = False
    is_open: bool = False


def _sections(environment: jinja2.Environment, result: Result, tables: Tables) -> Iterator[Section]:
    """Yield the panels that apply; without GPU work, only those with rows to read."""
    lacks_gpu_work = is_without_gpu_work(tables)
    for panel in PANELS:
        if lacks_gpu_work and panel.reads and not _has_rows(panel, tables):
            continue
        context = panel.context(result, tables)
        if context is None:
            continue
        missing = context.get("absent", "")
        if missing:
            yield Section(panel, Markup(), missing=missing)
            continue
        panel_template = environment.get_template(f"{panel.name}.html")
        body = panel_template.render(context)
        is_subject = lacks_gpu_work and panel.name in _OF_OTHER_WORK
        is_open = is_subject or panel.shows_evidence(result.findings)
        yield Section(
            panel,
            Markup(body),  # noqa: S704  escaped by Jinja
            gist=context.get("gist", ""),
            is_fold=panel.name not in _UNFOLDED,
            is_open=is_open,
        )


def _has_rows(panel: Panel, tables: Tables) -> bool:
    return any(not rows(tables, name).absence for name in panel.reads)
