"""Columns of canal's entries as values."""
