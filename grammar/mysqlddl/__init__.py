"""Statements of a MySQL or MariaDB server, as they appear in its binlog.

Owns: their text, and what it says of tables.
Must not know: jobs, synced tables, what is done with a statement.
"""
