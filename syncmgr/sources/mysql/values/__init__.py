"""Cells of the binlog as values."""
