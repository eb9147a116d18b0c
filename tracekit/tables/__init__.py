"""Exports in, dataframes with declared columns out."""
