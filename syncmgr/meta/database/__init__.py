"""The database of the metadata: its engine, its version, and which frontend owns it."""
