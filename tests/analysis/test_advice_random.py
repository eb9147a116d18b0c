"""Programs made at random: advice never contradicts the recording, rows come in any order."""

from dataclasses import dataclass

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from analysed import TARGETS
from stock import WIRE, Stock
from tracekit.analysis import Finding, Given, Result, analyze
from tracekit.analysis.levers import Mechanism
from tracekit.base import Provenance

KNOWN = Provenance(recorder="xctrace", targets=TARGETS)


@dataclass(frozen=True)
class Program:
    """A loop: what each iteration encodes, how it waits, and what else happens in it; µs."""

    iterations: int
    buffers: int
    works: tuple[float, ...]
    switch: float
    launch: float
    host: float
    encode: float
    driver: float
    waits: str
    allocates: bool
    wires: bool

    def run(self) -> Stock:
        stock = Stock(switch=self.switch, launch=self.launch)
        for number in range(self.iterations):
            if self.allocates:
                cells = {"event": "Allocation", "type": "Buffer", "size": 9 << 30}
                for offset in (0, 1):
                    stock.add("resource_allocations", stock.host_time + offset, None, **cells)
            if self.wires:
                label = WIRE.format(size="9216.00")
                stock.add("driver_events", stock.host_time, 5_000, event="Wire Memory", label=label)
                stock.spend(5_000)
            for _ in range(self.buffers):
                stock.buffer(self.works, self.encode, driver=self.driver)
                if self.waits == "each buffer":
                    stock.wait()
                    stock.spend(self.host / self.buffers)
            if self.waits == "each iteration" or (self.waits == "rarely" and number % 10 == 9):
                stock.wait()
                stock.spend(self.host)
            elif self.waits == "ahead":
                stock.run_ahead()
        return stock


programs = st.builds(
    Program,
    iterations=st.integers(12, 24),
    buffers=st.integers(1, 6),
    works=st.lists(st.sampled_from([20.0, 300.0, 2_000.0]), min_size=1, max_size=4).map(tuple),
    switch=st.integers(0, 300).map(float),
    launch=st.integers(0, 60).map(lambda tenths: tenths / 10),
    host=st.sampled_from([0.0, 200.0, 4_000.0]),
    encode=st.sampled_from([1.0, 5.0, 400.0]),
    driver=st.sampled_from([8.0, 500.0]),
    waits=st.sampled_from(["never", "ahead", "each iteration", "each buffer", "rarely"]),
    allocates=st.booleans(),
    wires=st.booleans(),
)


def outcome(result: Result) -> list[tuple[str, str, str, int | None]]:
    assert not [check for check in result.checks if check.status == "failed"]
    return [
        (finding.rule, finding.message, finding.advice, finding.saving)
        for finding in result.findings
    ]


def levers_of(findings: list[Finding]) -> set[str]:
    """Return the levers that the findings name."""
    return {str(finding.lever) for finding in findings}


WAITS = frozenset(
    {
        Mechanism.ROUND_TRIPS,
        Mechanism.WAIT_EACH_ITERATION,
        Mechanism.HOST_AFTER_WAIT,
        Mechanism.SEVERAL_WAITS,
        Mechanism.PERIODIC_WAIT,
    }
)


@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(program=programs, seed=st.integers(0, 9))
def test_rows_in_another_order_are_judged_alike(program: Program, seed: int) -> None:
    tables = program.run().tables()
    shuffled = {
        name: rows.sample(frac=1, random_state=seed, ignore_index=True)
        for name, rows in tables.items()
    }
    assert outcome(analyze(shuffled, KNOWN)) == outcome(analyze(tables, KNOWN))


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(program=programs)
def test_advice_is_given_only_with_its_evidence(program: Program) -> None:
    tables = program.run().tables()
    findings = list(analyze(tables, KNOWN).findings)
    levers, given_tables = levers_of(findings), Given(tables, KNOWN)
    waited = given_tables["gaps"]["waited"].astype(str)
    assert waited.isin(["yes", "unknown"]).any() or not levers & WAITS
    if program.waits in {"never", "ahead"}:
        assert "The host waits" not in " ".join(finding.message for finding in findings)
    # A host that is one iteration ahead waits for the last but one, if the driver takes long.
    if program.waits == "never":
        assert not (waited == "yes").any()
    if Mechanism.WAIT_EACH_ITERATION in levers:
        life = given_tables["timeline"]
        done = np.maximum.accumulate(life["completed"].to_numpy(np.int64))
        assert (life["committed"].to_numpy(np.int64)[1:] > done[:-1]).any(), "it never ran empty"
    assert program.allocates or program.wires or Mechanism.WIRING_ALLOCATIONS not in levers
    assert program.wires or Mechanism.WIRING_LOST not in levers
    assert not (program.wires and program.allocates and Mechanism.WIRING_LOST in levers)
    assert len(program.works) > 1 or Mechanism.BOUNDARIES_BETWEEN_ENCODERS not in levers
    causes = set(given_tables["gaps"]["cause"].astype(str))
    assert "between-buffers" in causes or Mechanism.BOUNDARIES_BETWEEN_BUFFERS not in levers
    assert "late-start" in causes or Mechanism.LATE_START not in levers
