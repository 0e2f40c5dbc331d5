"""Checks: whether targets equal their sources, while both move."""
