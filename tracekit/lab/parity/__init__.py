"""Parity: paged attention against dense attention, and both against float64, over a grid."""
