"""Whether the machine was in a state in which a measurement counts."""

from tracekit.machine_state.state import State, StateLimits

__all__ = ["State", "StateLimits"]
