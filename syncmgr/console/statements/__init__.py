"""Statements of a session, and what each of them answers."""
