"""The frontend: every part, put together."""
