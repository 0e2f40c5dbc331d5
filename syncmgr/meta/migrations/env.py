"""Runs the migrations on the connection that the store passes in.

Owns: how alembic is set up.
Must not know: the migrations, where the database is.
"""

from alembic import context

from syncmgr.meta.tables import METADATA

connection = context.config.attributes["connection"]
between = context.config.attributes["between"]
context.configure(
    connection=connection,
    target_metadata=METADATA,
    render_as_batch=True,  # SQLite alters a table by copying it
    on_version_apply=lambda **_: between(connection),
)
with context.begin_transaction():
    context.run_migrations()
