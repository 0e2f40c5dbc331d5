"""Migrations of the metadata database, run by alembic at start."""
