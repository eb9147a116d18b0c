"""How a history's tables came to be; run by Alembic, from `tracekit.history.store.migrating`."""
