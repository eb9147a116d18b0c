"""What a newcomer forgot: the line that lists a new file, its test, its words."""

import ast
import importlib
import inspect
import re
import typing
from pathlib import Path

import pytest
import typer

import tracekit
from tracekit.analysis.given import GIVEN
from tracekit.analysis.inject import required_tables, thresholds
from tracekit.analysis.metrics import METRICS
from tracekit.analysis.rule import HEADS
from tracekit.analysis.rules import RULES
from tracekit.base.files import shipped
from tracekit.report.panels import PANELS
from tracekit.tables.schemas import SCHEMAS
from tracekit.workload.workload import all_workloads

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "tracekit"


def stems(folder: Path) -> list[str]:
    return sorted(one.stem for one in folder.glob("*.py") if one.stem != "__init__")


@pytest.mark.parametrize("stem", stems(PACKAGE / "analysis" / "rules"))
def test_every_rules_file_is_listed_under_its_own_name(stem: str) -> None:
    name = stem.replace("_", "-")
    assert name in RULES, f"add {stem} to RULES in tracekit/analysis/rules/__init__.py"
    assert RULES[name].judge.__name__ == stem, f"the function in {stem}.py must be called {stem}"


@pytest.mark.parametrize("stem", stems(PACKAGE / "analysis" / "rules"))
def test_every_rule_has_a_test_of_its_own(stem: str) -> None:
    test = ROOT / "tests" / "analysis" / "rules" / f"test_{stem}.py"
    assert test.exists(), f"write {test.relative_to(ROOT)}: literal frames in, findings out"


@pytest.mark.parametrize("name", RULES)
def test_every_rule_explains_itself(name: str) -> None:
    sections = RULES[name].sections
    assert tuple(sections) == HEADS, f"the docstring of {name} needs the heads {HEADS}"
    assert all(len(text) > 20 for text in sections.values()), f"{name} has an empty section"
    assert RULES[name].title.endswith("."), f"{name} needs a first line that is a sentence"


@pytest.mark.parametrize("name", RULES)
def test_every_threshold_of_a_rule_is_explained(name: str) -> None:
    text = inspect.getdoc(RULES[name].judge) or ""
    for threshold in thresholds(RULES[name].judge):
        assert f"`{threshold}`" in text, f"the docstring of {name} does not explain {threshold}"


@pytest.mark.parametrize("name", [*RULES, *METRICS])
def test_every_table_asked_for_is_one_that_we_have(name: str) -> None:
    function = RULES[name].judge if name in RULES else METRICS[name].measure
    asked = set(required_tables(function)) | {
        one for one in inspect.signature(function).parameters if one not in thresholds(function)
    }
    unknown = asked - set(SCHEMAS) - GIVEN
    assert not unknown, f"{name} asks for {unknown}; declare it in tracekit/tables/schemas.toml"


@pytest.mark.parametrize("name", METRICS)
def test_every_metric_says_what_it_is(name: str) -> None:
    assert METRICS[name].meaning, f"{name} needs a docstring"
    assert METRICS[name].name == name


@pytest.mark.parametrize("name", SCHEMAS)
def test_every_table_and_column_says_what_it_is(name: str) -> None:
    schema = SCHEMAS[name]
    assert schema.meaning.endswith(".")
    columns = [one.name for one in schema.columns]
    assert len(columns) == len(set(columns)), f"{name} has two columns of one name"
    assert all(one.meaning for one in schema.columns), f"a column of {name} has no meaning"


@pytest.mark.parametrize("stem", stems(PACKAGE / "report" / "panels"))
def test_every_panel_is_listed_and_has_a_template(stem: str) -> None:
    panels = {one.name.replace("-", "_"): one for one in PANELS}
    assert stem in panels, f"add {stem} to PANELS in tracekit/report/panels/__init__.py"
    template = shipped("templates") / "report" / panels[stem].template
    assert template.is_file(), f"{stem} needs {template.name} in templates/report"


@pytest.mark.parametrize("workload", all_workloads(), ids=lambda one: one.name)
def test_every_workload_has_words_and_parameters_with_help(workload: typing.Any) -> None:
    assert workload.summary, f"{workload.file.name} needs a docstring"
    assert workload.file.stem == workload.prepare.__name__
    for name, parameter in workload.parameters.items():
        marks = getattr(parameter.annotation, "__metadata__", ())
        helps = [one.help for one in marks if isinstance(one, typer.models.OptionInfo)]
        assert helps, f"--{name} of {workload.name} has no help"
        assert helps[0], f"--{name} of {workload.name} has an empty help"
        assert parameter.default is not parameter.empty, f"--{name} has no default"


def test_public_names_are_sorted_and_there() -> None:
    assert tracekit.__all__ == sorted(tracekit.__all__)
    for name in tracekit.__all__:
        assert getattr(tracekit, name) is not None


def test_an_unknown_public_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="'tracekit' has no attribute 'nothing'"):
        _ = tracekit.nothing


ROOMS = [*sorted(one.parent.name for one in PACKAGE.glob("*/__init__.pyi")), "cli"]
# Modules whose functions read best under the module's own name.
DEEP = {
    ("tracekit/cli/bench.py", "tracekit.lab.bench.words"),
    ("tracekit/cli/gate.py", "tracekit.nightly.gate.report.text"),
    ("tracekit/cli/nightly.py", "tracekit.nightly.schedule.schedule"),
}


def _imports(file: Path) -> set[str]:
    """What a file imports of tracekit: modules, and modules out of packages."""
    found = set[str]()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tracekit"):
            for name in node.names:
                inner = f"{node.module}.{name.name}"
                is_module = (ROOT / inner.replace(".", "/")).with_suffix(".py").exists()
                found.add(inner if is_module else str(node.module))
    return found


def test_there_are_fourteen_rooms_and_little_beside_them() -> None:
    assert len(ROOMS) == 14
    beside = {one.name for one in PACKAGE.iterdir()} - set(ROOMS) - {"__pycache__"}
    shipped_inside = {"kernels", "workloads", "templates"}
    assert beside - shipped_inside == {
        "__init__.py",
        "__main__.py",
        "pipeline.py",
        "py.typed",
        "run.py",
    }


def test_a_room_is_entered_by_its_face() -> None:
    inside = [
        (file.relative_to(ROOT).as_posix(), module)
        for file in PACKAGE.rglob("*.py")
        for module in _imports(file)
        if len(module.split(".")) > 2
        and module.split(".")[1] in ROOMS[:-1]  # only __main__ imports from cli
        and module.split(".")[1] != file.relative_to(PACKAGE).parts[0]
        and not (module.count(".") == 2 and _is_on_the_face(module))
    ]
    assert set(inside) == DEEP


def _is_on_the_face(module: str) -> bool:
    _, room, name = module.split(".")
    return name in importlib.import_module(f"tracekit.{room}").__all__


@pytest.mark.parametrize("room", [one for one in ROOMS if one != "cli"])
def test_every_name_of_a_face_is_there(room: str) -> None:
    face = importlib.import_module(f"tracekit.{room}")
    assert face.__all__
    assert [name for name in face.__all__ if not hasattr(face, name)] == []


def test_the_way_through_the_house_exists() -> None:
    page = (ROOT / "docs" / "explanation" / "architecture.md").read_text()
    assert len(page.splitlines()) <= 120
    steps = re.findall(r"`((?:\w+/)*\w+\.py)` `(\w+)`", page)
    assert len(steps) > 15
    for file, name in steps:
        code = ast.parse((PACKAGE / file).read_text())
        named = {one.name for one in code.body if isinstance(one, ast.FunctionDef | ast.ClassDef)}
        assert name in named, f"{file} has no {name}"
