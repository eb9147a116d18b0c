from typing import Any

import pytest

from tracekit.base.recording import Provenance
from tracekit.report.panels.reproduce import reproduce


def test_a_workload_can_be_run_again_with_its_parameters(host_run: Any) -> None:
    context = reproduce.context(host_run.result, {})
    assert context["command"] == (
        "tracekit capture --workload paged --batch 16 --dtype float16 --no-ragged "
        "--recorder host --time-limit 5s"
    )
    assert context["command_lines"] == ["python3 -m tracekit.workload.worker 'a b.json'"]


@pytest.mark.parametrize(
    ("provenance", "command"),
    [
        pytest.param(
            Provenance(
                recorder="xctrace",
                command=("./probe", "--name", "a b"),
                templates=("Metal System Trace",),
                time_limit=1.5,
            ),
            "tracekit capture --recorder xctrace --template 'Metal System Trace' --time-limit 1.5s "
            "-- ./probe --name 'a b'",
            id="any program",
        ),
        pytest.param(Provenance(recorder="import", workload="paged"), "", id="made elsewhere"),
        pytest.param(Provenance(recorder="xctrace"), "", id="attached"),
        pytest.param(Provenance(), "", id="nothing known"),
        pytest.param(
            Provenance(recorder="host", workload="paged", parameters={"ragged": True}),
            "tracekit capture --workload paged --ragged --recorder host",
            id="a switch",
        ),
        pytest.param(
            Provenance(recorder="host", workload="gemm", workloads="my own"),
            "tracekit capture --workload gemm --recorder host --workloads 'my own'",
            id="a workload of one's own",
        ),
        pytest.param(
            Provenance(
                recorder="host", workload="gemm", parameters={"sizes": [1, 2], "seed": None}
            ),
            "tracekit capture --workload gemm --sizes 1 --sizes 2 --recorder host",
            id="a list, and nothing",
        ),
    ],
)
def test_the_same_again_is_said_only_where_it_is_known(
    bare: Any, provenance: Provenance, command: str
) -> None:
    assert reproduce.context(bare.having(provenance=provenance).result, {})["command"] == command


def test_facts_that_are_not_known_are_not_available(bare: Any) -> None:
    facts = dict(reproduce.context(bare.result, {})["facts"])
    assert facts["git commit"] == "not available"
    assert facts["started"] == "not available"
    unknown = ("templates", "instruments", "counters", "time limit")
    assert {facts[name] for name in unknown} == {"not available"}


def test_what_tracekit_was_not_asked_for_is_none(bare: Any) -> None:
    result = bare.having(provenance=Provenance(recorder="xctrace")).result
    facts = dict(reproduce.context(result, {})["facts"])
    assert (facts["templates"], facts["instruments"]) == ("none", "no others")
    assert (facts["counters"], facts["time limit"]) == ("auto", "none")


def test_memory_is_worded(host_run: Any) -> None:
    context = reproduce.context(host_run.result, {})
    assert context["machine"] == [("system", "Linux"), ("memory", "8 GiB")]
    assert context["parameters"] == [("batch", "16"), ("dtype", "float16"), ("ragged", "False")]
