"""What a newcomer forgot: the line that lists a new file, its test, its words."""

import ast
import dataclasses
import importlib
import inspect
import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

import tracekit
from tracekit.analysis.given import GIVEN
from tracekit.analysis.inject import thresholds
from tracekit.analysis.metrics import METRICS
from tracekit.analysis.rule import HEADS
from tracekit.analysis.rules import RULES
from tracekit.base.choices import CaptureOption, RecordingChoices
from tracekit.base.files import find_shipped_folder
from tracekit.base.recording import Provenance
from tracekit.cli.options import declare_options
from tracekit.pages.panels import PANELS
from tracekit.tables.schemas import SCHEMAS
from tracekit.workload.plan import Plan
from tracekit.workload.workload import all_workloads

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "tracekit"


def stems(folder: Path) -> list[str]:
    return sorted(file.stem for file in folder.glob("*.py") if file.stem != "__init__")


def test_every_rules_file_is_listed_and_has_a_test() -> None:
    files = stems(PACKAGE / "analysis" / "rules")
    listed = {name.replace("-", "_"): rule.judge.__name__ for name, rule in RULES.items()}
    missing = [stem for stem in files if listed.get(stem) != stem]
    assert not missing, f"list each function in tracekit/analysis/rules/__init__.py: {missing}"
    tests = "".join(file.read_text() for file in (ROOT / "tests/analysis/rules").glob("*.py"))
    untested = [name for name in RULES if f'"{name}"' not in tests]
    assert not untested, f"write tests in tests/analysis/rules, literal frames in: {untested}"


def test_every_rule_and_each_of_its_thresholds_is_explained() -> None:
    heads = [name for name, rule in RULES.items() if tuple(rule.sections) != HEADS]
    assert not heads, f"docstrings that lack one of the heads {HEADS}: {heads}"
    short = [
        (name, head)
        for name, rule in RULES.items()
        for head, text in rule.sections.items()
        if len(text) <= 20
    ]
    assert not short, f"empty sections: {short}"
    assert [name for name, rule in RULES.items() if not rule.title.endswith(".")] == []
    unexplained = [
        (name, threshold)
        for name, rule in RULES.items()
        for threshold in thresholds(rule.judge)
        if f"`{threshold}`" not in (inspect.getdoc(rule.judge) or "")
    ]
    assert not unexplained, f"thresholds that the docstring does not explain: {unexplained}"


def test_every_table_asked_for_is_one_that_we_have() -> None:
    functions = {name: rule.judge for name, rule in RULES.items()}
    functions |= {name: metric.measure for name, metric in METRICS.items()}
    known_tables = set(SCHEMAS) | GIVEN
    unknown = [
        (name, table)
        for name, function in functions.items()
        for table in inspect.signature(function).parameters
        if table not in known_tables and table not in thresholds(function)
    ]
    assert not unknown, f"declare these tables in tracekit/tables/schemas.toml: {unknown}"


def test_every_metric_has_a_description() -> None:
    assert [name for name, metric in METRICS.items() if not metric.meaning] == []
    assert [name for name, metric in METRICS.items() if metric.name != name] == []


def test_every_table_and_column_has_a_description() -> None:
    schemas = SCHEMAS.items()
    assert [name for name, schema in schemas if not schema.meaning.endswith(".")] == []
    columns = [(name, column) for name, schema in schemas for column in schema.columns]
    assert [(name, column.name) for name, column in columns if not column.meaning] == []
    assert len({(name, column.name) for name, column in columns}) == len(columns)


def test_every_panel_is_listed_and_has_a_template() -> None:
    panels = {panel.name: f"{panel.name}.html" for panel in PANELS}
    missing = [stem for stem in stems(PACKAGE / "pages" / "panels") if stem not in panels]
    assert not missing, f"list these in PANELS in tracekit/pages/panels/__init__.py: {missing}"
    templates = find_shipped_folder("templates") / "report"
    assert [name for name in panels.values() if not (templates / name).is_file()] == []


def test_every_workload_has_words_and_parameters_with_help_and_default() -> None:
    for workload in all_workloads():
        assert workload.summary, f"{workload.file.name} needs a docstring"
        assert workload.file.stem == workload.prepare.__name__
        for name, parameter in workload.parameters.items():
            marks = getattr(parameter.annotation, "__metadata__", ())
            helps = [mark.help for mark in marks if isinstance(mark, typer.models.OptionInfo)]
            assert any(helps), f"--{name} of {workload.name} has no help"
            assert parameter.default is not parameter.empty, (workload, f"--{name} has no default")


CHOICES = "tracekit/base/choices.py"
NO_CHOICES = {"command", "workload", "workloads", "attach", "light", "output"}
"""Options of `capture` that choose the target or the folder, or are written by a choice."""


def _advice_on_choices(kind: Any, options: Collection[str]) -> Iterator[str]:
    """Yield a sentence for each choice that lacks a part, and each option that lacks a choice."""
    written: set[str] = set()
    for entry in dataclasses.fields(kind):
        option = entry.metadata.get("option")
        if not isinstance(option, CaptureOption):
            yield f"Give {entry.name} in {CHOICES} its option: `metadata=_chosen_by(…)`."
            continue
        written.add(option.name)
        if option.name and option.name not in options:
            yield f"Declare {option.name} in `declare_options` of tracekit/cli/options.py."
        if not option.name and option.write is None:
            yield f"Name the option of {entry.name} in {CHOICES}, or give it `write`."
        if bool(option.condition) == bool(option.uncompared):
            yield (
                f"Give {entry.name} in {CHOICES} either the name of its `condition` in comparisons "
                "or, in `uncompared`, the reason why they leave it out."
            )
    for name in sorted(set(options) - written - NO_CHOICES):
        yield f"Add a field for the option {name} to RecordingChoices in {CHOICES}."


def test_every_choice_of_a_recording_has_its_option_and_its_place_in_comparisons() -> None:
    options = inspect.signature(declare_options).parameters
    advice = list(_advice_on_choices(RecordingChoices, options))
    assert not advice, "\n".join(advice)
    names = {entry.name for entry in dataclasses.fields(RecordingChoices)}
    own_names = names & {*vars(Provenance)["__annotations__"]}
    assert not own_names, f"Provenance has these from RecordingChoices, so remove them: {own_names}"
    for kind in (Plan, Provenance):
        assert issubclass(kind, RecordingChoices), f"let {kind} have RecordingChoices as its base"


def test_a_choice_without_one_of_its_parts_is_named_with_advice() -> None:
    ring = dataclasses.field(default="", metadata={"option": CaptureOption(name="ring")})
    unnamed = CaptureOption(condition="depth")
    depth = dataclasses.field(default=0, metadata={"option": unnamed})
    fields = [("bare", str, ""), ("ring", str, ring), ("depth", int, depth)]
    kind = dataclasses.make_dataclass("kind", fields)
    assert list(_advice_on_choices(kind, ["workload", "window"])) == [
        "Give bare in tracekit/base/choices.py its option: `metadata=_chosen_by(…)`.",
        "Declare ring in `declare_options` of tracekit/cli/options.py.",
        (
            "Give ring in tracekit/base/choices.py either the name of its `condition` in "
            "comparisons or, in `uncompared`, the reason why they leave it out."
        ),
        "Name the option of depth in tracekit/base/choices.py, or give it `write`.",
        "Add a field for the option window to RecordingChoices in tracekit/base/choices.py.",
    ]


def test_public_names_are_sorted_and_there() -> None:
    assert tracekit.__all__ == sorted(tracekit.__all__)
    for name in tracekit.__all__:
        assert getattr(tracekit, name) is not None


def test_an_unknown_public_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="No tracekit attribute nothing"):
        _ = tracekit.nothing


ROOMS = [*sorted(path.parent.name for path in PACKAGE.glob("*/__init__.pyi")), "cli"]
# Modules whose functions read best under the module's own name.
DEEP = {
    ("tracekit/cli/bench.py", "tracekit.lab.bench.words"),
}


def _imports(file: Path) -> set[str]:
    """What a file imports of tracekit: modules, and modules out of packages."""
    modules = set[str]()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tracekit"):
            for name in node.names:
                inner = f"{node.module}.{name.name}"
                is_module = (ROOT / inner.replace(".", "/")).with_suffix(".py").exists()
                modules.add(inner if is_module else str(node.module))
    return modules


def test_there_are_sixteen_rooms_and_little_else() -> None:
    assert len(ROOMS) == 16
    other_names = {path.name for path in PACKAGE.iterdir()} - set(ROOMS) - {"__pycache__"}
    other_names -= {"kernels", "workloads", "templates"}  # which wheels have inside
    modules = "__init__.py __init__.pyi __main__.py pipeline.py plots.py pytest_plugin.py run.py"
    assert other_names == {"py.typed", *modules.split()}


def test_a_room_is_entered_by_its_face() -> None:
    deep_imports = [
        (file.relative_to(ROOT).as_posix(), module)
        for file in PACKAGE.rglob("*.py")
        for module in _imports(file)
        if len(module.split(".")) > 2
        and module.split(".")[1] in ROOMS[:-1]  # only __main__ imports from cli
        and module.split(".")[1] != file.relative_to(PACKAGE).parts[0]
        and not (module.count(".") == 2 and _is_on_the_face(module))
    ]
    assert set(deep_imports) == DEEP


def _is_on_the_face(module: str) -> bool:
    _, room, name = module.split(".")
    return name in importlib.import_module(f"tracekit.{room}").__all__


def test_every_name_of_a_face_is_there() -> None:
    faces = {room: importlib.import_module(f"tracekit.{room}") for room in ROOMS if room != "cli"}
    assert [room for room, face in faces.items() if not face.__all__] == []
    names = [(face, name) for face in faces.values() for name in face.__all__]
    assert [(face.__name__, name) for face, name in names if not hasattr(face, name)] == []


def test_a_module_that_a_face_offers_is_imported_by_its_package() -> None:
    """Else it is there only if somebody imported it before."""
    missing: list[str] = []
    for room in ROOMS[:-1]:
        stub = ast.parse((PACKAGE / room / "__init__.pyi").read_text())
        for node in ast.walk(stub):
            if not isinstance(node, ast.ImportFrom) or not node.module:
                continue
            folder = PACKAGE / room / node.module.replace(".", "/")
            package = f"tracekit.{room}.{node.module}"
            for name in [entry.name for entry in node.names]:
                is_module = (folder / f"{name}.py").exists() or (folder / name).is_dir()
                if not is_module:
                    continue
                if name not in dir(importlib.import_module(package)):
                    missing.append(f"{package}.{name}")
    assert missing == [], "list these in the submodules of their package"


def test_the_way_through_the_house_exists() -> None:
    page = (ROOT / "docs" / "explanation" / "architecture.md").read_text()
    steps = re.findall(r"`((?:\w+/)*\w+\.py)` `(\w+)`", page)
    assert len(steps) > 15
    for file, name in steps:
        code = ast.parse((PACKAGE / file).read_text())
        defined_names = {
            node.name for node in code.body if isinstance(node, ast.FunctionDef | ast.ClassDef)
        }
        assert name in defined_names, f"{file} has no {name}"


def test_packages_attach_the_modules_that_faces_offer() -> None:
    """Without it, a process that has not imported such a module otherwise does not find it."""
    missing: list[str] = []
    for face in sorted(PACKAGE.rglob("__init__.pyi")):
        offers = re.findall(r"^from \.([\w.]+) import (\w+) as", face.read_text(), re.MULTILINE)
        for package, name in offers:
            folder = face.parent.joinpath(*package.split("."))
            is_module = (folder / f"{name}.py").exists() or (folder / name).is_dir()
            words = re.findall(r"\w+", (folder / "__init__.py").read_text() if is_module else name)
            if name not in words:
                missing.append(f"{folder.relative_to(PACKAGE)}: {name}")
    assert missing == []
