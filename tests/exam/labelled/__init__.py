"""Traces with known faults of known size, made by a model of host, driver, queue and GPU."""
