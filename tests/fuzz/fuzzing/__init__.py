"""Exports made at random, their damage, and what every reader must agree on."""
