"""Copies of tables that migration tools fill, and that may take the place of their tables."""
