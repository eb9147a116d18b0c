"""Version 3: of what was accepted it is known who did."""

from alembic import op
from sqlalchemy import inspect

from tracekit.nightly.history.store.schema import ACCEPTANCES

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add the column, unless the version before made the table with it."""
    table, column = ACCEPTANCES.name, ACCEPTANCES.c.who
    if column.name not in {one["name"] for one in inspect(op.get_bind()).get_columns(table)}:
        op.execute(f"ALTER TABLE {table} ADD COLUMN {column.name} TEXT NOT NULL DEFAULT ''")
