"""Whether the machine was in a state in which a measurement counts."""
