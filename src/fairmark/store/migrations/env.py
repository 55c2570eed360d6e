"""Alembic's entry: runs the migrations on the connection that `base/database.py` hands in, in its transaction."""

from alembic import context

from fairmark.store.base.tables import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata, transactional_ddl=True)
context.run_migrations()
