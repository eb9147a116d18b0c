"""How a history's tables came to be; run by Alembic, from `store.migrating`."""
