"""What Alembic asks for to run migrations: on the connection that is given, in its transaction."""

from alembic import context

from tracekit.nightly.history.store.schema import VERSION_TABLE

context.configure(
    connection=context.config.attributes["connection"],
    version_table=VERSION_TABLE,
    transactional_ddl=True,
)
with context.begin_transaction():
    context.run_migrations()
