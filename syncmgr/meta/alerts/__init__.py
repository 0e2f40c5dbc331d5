"""Alerts that were raised, and what was sent of them."""
