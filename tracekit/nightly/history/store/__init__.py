"""Nights in a database: append-only, SQLite or PostgreSQL."""
